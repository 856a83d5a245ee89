"""Steps, histogram, flame graph, counters and memory: drawn of the selection, clicked, saved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot
from tests.gui.core_sample import write_cores
from tests.gui.panels.panel_tools import OpenPage, cells, headers, panel_of, settle
from tests.gui.sample import MS

from warpline.model import Flag
from warpline.storage import CaptureBuilder
from warpline_app.panels.charts.chart import Chart
from warpline_app.panels.counters.panel import CountersPanel
from warpline_app.panels.flame.panel import FlamePanel
from warpline_app.panels.histogram.panel import HistogramPanel
from warpline_app.panels.memory.panel import MemoryPanel
from warpline_app.panels.steps.panel import StepsPanel
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow


@pytest.fixture
def page(window: MainWindow, open_page: OpenPage, sample: Path) -> CapturePage:
    return open_page(sample)


def test_any_range_can_be_the_step_and_a_bar_selects_it(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = panel_of(qtbot, window, "steps", StepsPanel)
    assert "not recorded" in panel.missing.text()
    panel.step.setText(r"/^step \d/")
    qtbot.waitUntil(lambda: panel.chart.isVisible() and window.panels.is_settled, timeout=60_000)
    assert [row[0] for row in cells(panel)] == ["0", "1", "2", "3"]
    assert panel.scope == "4 steps · GPU work included"
    # Bars and table are of one definition, which is said; what a bar says adds up to it.
    for choice, total in ((0, "total_ns"), (1, "duration_ns"), (0, "total_ns")):
        panel.stack.setCurrentIndex(choice)
        report = panel.table.report
        assert report is not None
        assert panel._heights[1].tolist() == np.asarray(report.data[total]).tolist()
    assert panel.about_bar(2).startswith("step 2 · ")
    panel.stack.setCurrentIndex(1)
    assert panel.scope == "4 steps · GPU work not included"
    box = panel.chart.getPlotItem().getViewBox()
    point = panel.chart.mapFromScene(box.mapViewToScene(QPointF(2.0, 1.0 * MS)))
    qtbot.mouseClick(panel.chart.viewport(), Qt.MouseButton.LeftButton, pos=point)
    qtbot.waitUntil(lambda: page.document.state.range_selection == (50 * MS, 70 * MS), timeout=60_000)
    panel.table.item_selected.emit(1)
    assert page.document.state.range_selection == (30 * MS, 50 * MS)


def test_phases_that_overlap_are_said_to_and_no_part_is_negative(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    path = tmp_path / "overlap.h5"
    with CaptureBuilder(path) as builder:
        process = builder.add_process(7, name="python")
        for tid, parts in (
            (7, ((0, 100, "ProfilerStep#0"), (10, 70, "forward"))),
            (8, ((0, 95, "backward"),)),
        ):
            thread = builder.add_thread(process, tid, name="main")
            uri = f"process/7.1/thread/{tid}.1/phases"
            track = builder.track(uri, role="phases", process=process, thread=thread)
            for start, length, name in parts:
                builder.add_events(track, "phase", [start * MS], [length * MS], builder.string(name))
        builder.finish()
    open_page(path)
    panel = panel_of(qtbot, window, "steps", StepsPanel)
    panel.stack.setCurrentIndex(1)
    drawn = panel._parts()
    assert len(drawn) == 3
    assert all(values.min() >= 0 for _, _, values in drawn)
    told = panel.about_bar(0)
    assert told.startswith("step 0 · 100.0 ms")
    assert "70.0%" in told
    assert "95.0%" in told
    assert "phases overlap by 70.00 ms" in told


def test_outliers_are_marked_on_the_bars(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    path = tmp_path / "steps.h5"
    lengths = np.array([10, 11, 10, 40, 10, 11, 10]) * MS
    with CaptureBuilder(path) as builder:
        process = builder.add_process(7, name="python")
        thread = builder.add_thread(process, 7, name="main")
        track = builder.track("process/7.1/thread/7.1/phases", role="phases", process=process, thread=thread)
        names = builder.strings(f"ProfilerStep#{number}" for number in range(len(lengths)))
        builder.add_events(track, "phase", np.cumsum(lengths) - lengths, lengths, names)
        builder.finish()
    open_page(path)
    panel = panel_of(qtbot, window, "steps", StepsPanel)
    assert panel.scope.startswith("7 steps · 1 outlier")
    assert "□</span>&nbsp;outlier" in panel.legend.text()
    (outline,) = [
        item for key, item in panel.chart._drawn if key == ("bars", panel.theme.hex("warning"), True)
    ]
    assert outline.opts["x"].tolist() == [3.0]
    assert panel.about_bar(3).splitlines()[0] == "step 3 · 40.00 ms"
    assert panel.about_bar(3).splitlines()[-1].startswith("outlier: 3")
    assert "outlier" not in panel.about_bar(2)


def test_the_histogram_marks_the_selected_event(qtbot: QtBot, window: MainWindow, page: CapturePage) -> None:
    panel = panel_of(qtbot, window, "histogram", HistogramPanel)
    capture = page.document.capture
    kernels = capture.kinds["kernel"].rows
    page.document.state.select(int(kernels[3]))
    settle(qtbot, window)
    assert panel.spread is not None
    assert panel.spread.count == 30 == int(panel.spread.counts.sum())
    assert panel.scope == "30 events in the whole capture"
    markers = [item for item in panel.chart.getPlotItem().items if type(item).__name__ == "InfiniteLine"]
    assert [round(marker.value()) for marker in markers] == [int(capture.events.duration[kernels[3]])]
    page.document.state.select_range(10 * MS, 30 * MS)
    settle(qtbot, window)
    inside = capture.events.start[kernels] < 30 * MS
    assert panel.spread.count == int(inside.sum())


def test_the_flame_graph_follows_the_range_and_lights_up_names(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = panel_of(qtbot, window, "flame", FlamePanel)
    assert panel.source.currentData() == "ranges"
    flame = panel.view.flame
    assert flame is not None
    assert flame.total == 80 * MS
    assert int(flame.own.sum()) == flame.total
    capture = page.document.capture
    box = panel.view.rect_of(0)
    assert box.width() > panel.view.width() // 5
    qtbot.mouseClick(panel.view, Qt.MouseButton.LeftButton, pos=box.center())
    name = capture.strings[int(flame.name[0])]
    assert page.document.state.highlight == frozenset({capture.strings.id(name)})
    qtbot.mouseDClick(panel.view, Qt.MouseButton.LeftButton, pos=box.center())
    assert panel.view.rect_of(0).width() >= panel.view.width() - 1
    page.document.state.select_range(10 * MS, 30 * MS)
    settle(qtbot, window)
    assert panel.view.flame is not None
    assert panel.view.flame.total == 20 * MS
    panel.order.setCurrentIndex(panel.order.findData("time"))
    settle(qtbot, window)
    assert set(panel.view.flame.row.tolist()) > {-1} or (panel.view.flame.row >= 0).all()
    panel.order.setCurrentIndex(panel.order.findData("bottom"))
    settle(qtbot, window)
    roots = [
        capture.strings[int(panel.view.flame.name[i])] for i in np.flatnonzero(panel.view.flame.depth == 0)
    ]
    assert "layer 0" in roots
    page.document.state.set_highlight(())


def test_the_flame_graph_is_walked_with_the_arrow_keys(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = panel_of(qtbot, window, "flame", FlamePanel)
    view, state = panel.view, page.document.state
    flame = view.flame
    assert flame is not None
    view.setFocus()
    qtbot.keyClick(view, Qt.Key.Key_Down)
    assert view.current == 0
    qtbot.keyClick(view, Qt.Key.Key_Down)
    inner = view.current
    assert flame.parent[inner] == 0
    assert state.highlight == frozenset({int(flame.name[inner])})
    qtbot.keyClick(view, Qt.Key.Key_Right)
    assert flame.depth[view.current] == flame.depth[inner]
    assert flame.left[view.current] > flame.left[inner]
    qtbot.keyClick(view, Qt.Key.Key_Return)
    assert view.rect_of(view.current).width() >= view.width() - 1
    qtbot.keyClick(view, Qt.Key.Key_Backspace)
    assert view.zoomed == -1
    qtbot.keyClick(view, Qt.Key.Key_Up)
    assert view.current == 0


def test_counters_show_utilization_and_values(qtbot: QtBot, window: MainWindow, page: CapturePage) -> None:
    panel = panel_of(qtbot, window, "counters", CountersPanel)
    texts = [panel.series.item(i).text() for i in range(panel.series.count())]
    assert texts[0].startswith("GPU 0")
    assert texts[1].strip() == "Utilization"
    (resident,) = [place for place, text in enumerate(texts) if "Resident memory" in text]
    assert "mean" in panel.facts.text()
    panel.series.setCurrentRow(resident)
    settle(qtbot, window)
    assert "highest 56.27 MiB" in panel.facts.text()
    page.document.state.select_range(0, 15 * MS)
    settle(qtbot, window)
    assert panel.scope.startswith("selected range")
    page.document.state.set_origin(5 * MS)
    settle(qtbot, window)
    assert panel.chart.x_axis.text(8 * MS).startswith("3.0")


def test_memory_says_what_to_record(qtbot: QtBot, window: MainWindow, page: CapturePage) -> None:
    panel = panel_of(qtbot, window, "memory", MemoryPanel)
    assert panel.missing.isVisible()
    assert "memory allocations were not recorded" in panel.missing.text().casefold()


def test_memory_shows_the_whole_range_and_one_device(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    path = tmp_path / "memory.h5"
    with CaptureBuilder(path) as builder:
        track = builder.track("process/7.1/memory", title="Memory", role="memory")
        devices = builder.strings(["GPU 0", "GPU 0", "CPU"])
        builder.add_events(
            track,
            "memory",
            np.array([1_040, 1_050, 1_060]) * MS,
            0,
            builder.string("alloc"),
            flags=int(Flag.INSTANT),
            attributes={"bytes": np.array([64, 64, 32]), "device": devices},
        )
        ranges = builder.track("process/7.1/range", title="Ranges", role="ranges")
        builder.add_events(ranges, "range", [1_000 * MS], [100 * MS], builder.string("all"))
        builder.finish()
    page = open_page(path)
    page.document.state.select_range(1_020 * MS, 1_080 * MS)
    panel = panel_of(qtbot, window, "memory", MemoryPanel)
    low, high = panel.chart.viewRange()[0]
    assert low == pytest.approx(20 * MS, abs=1 * MS)
    assert high == pytest.approx(80 * MS, abs=1 * MS)
    assert "at 50" in panel.facts.text()
    page.document.state.set_origin(1_030 * MS)
    settle(qtbot, window)
    # Axis and facts count from the origin, as everything else does.
    assert "at 20" in panel.facts.text()
    assert panel.chart.x_axis.text(50 * MS) == "20.0 ms"
    assert 30 * MS in panel.chart.x_axis.ticks(low, high, 8)
    for device, taken in (("GPU 0", "128 B"), ("CPU", "32 B")):
        panel.device.setCurrentText(device)
        (row,) = cells(panel)
        assert dict(zip(headers(panel), row, strict=True))["Allocated"] == taken


def test_memory_lists_lifetimes_of_the_shown_device(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    path = tmp_path / "lifetimes.h5"
    with CaptureBuilder(path) as builder:
        track = builder.track("process/7.1/memory", title="Memory", role="memory")
        builder.add_events(
            track,
            "memory",
            np.array([0, 10, 20, 30]) * MS,
            0,
            builder.string("alloc"),
            flags=int(Flag.INSTANT),
            attributes={
                "operation": [0, 0, 1, 0],
                "address": [0x10, 0x20, 0x10, 0x10],
                "bytes": [64, 32, 64, 16],
                "device": builder.strings(["GPU 0", "GPU 0", "GPU 0", "CPU"]),
            },
        )
        builder.finish()
    page = open_page(path)
    panel = panel_of(qtbot, window, "memory", MemoryPanel)
    panel.listed.setCurrentIndex(1)
    settle(qtbot, window)
    rows = [dict(zip(headers(panel), row, strict=True)) for row in cells(panel)]
    assert [(row["Size"], row["Age (ms)"], row["In the peak"]) for row in rows] == [
        ("64 B", "20.00", "yes"),
        ("32 B", "20.00", "yes"),
    ]
    panel.table.item_selected.emit(1)
    assert page.document.state.selection == 1, "the row stands for its allocation"
    panel.device.setCurrentText("CPU")
    assert [row[headers(panel).index("Size")] for row in cells(panel)] == ["16 B"]


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_charts_are_saved(
    qtbot: QtBot, window: MainWindow, page: CapturePage, tmp_path: Path, suffix: str
) -> None:
    panel = panel_of(qtbot, window, "counters", CountersPanel)
    assert isinstance(panel.chart, Chart)
    panel.chart.export(tmp_path / f"chart.{suffix}")
    flame = panel_of(qtbot, window, "flame", FlamePanel)
    flame.view.export(tmp_path / f"flame.{suffix}")
    for name in ("chart", "flame"):
        path = tmp_path / f"{name}.{suffix}"
        assert path.stat().st_size > 500
        if suffix == "png":
            assert not QImage(str(path)).isNull()
        else:
            assert "<svg" in path.read_text(encoding="utf-8")[:400]


def test_cores_are_listed_by_their_numbers_and_whose_share_it_is(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(write_cores(tmp_path / "cores.h5"))
    # A capture opens where something runs; the figures are those of the whole.
    page.document.state.set_view(*page.document.capture.span)
    panel = panel_of(qtbot, window, "counters", CountersPanel)
    texts = [panel.series.item(i).text().strip() for i in range(panel.series.count())]
    assert texts == [
        "CPU cores",
        "Core 0: recorded program",
        "Core 0: whole system",
        "Core 1: recorded program",
        "Core 1: whole system",
    ]
    figures = {}
    for row in range(1, len(texts)):
        panel.series.setCurrentRow(row)
        settle(qtbot, window)
        figures[texts[row]] = panel.facts.text().partition(" ·")[0]
    assert list(figures.values()) == ["mean 30%", "mean 90%", "mean 0%", "mean 50%"]


def test_a_chart_that_was_saved_is_told_with_the_way_to_it(
    qtbot: QtBot, window: MainWindow, page: CapturePage, tmp_path: Path
) -> None:
    chart = panel_of(qtbot, window, "counters", CountersPanel).chart
    messages = window.workspace.messages
    for path, words in ((tmp_path / "a.png", "Wrote"), (tmp_path / "none" / "a.svg", "No such file")):
        chart.choose_export()
        dialog = chart.findChild(QFileDialog)
        assert dialog is not None
        dialog.fileSelected.emit(str(path))
        dialog.close()
        assert words in messages.all[0].text
        assert str(path) in messages.all[0].text
        qtbot.waitUntil(lambda: chart.findChild(QFileDialog) is None, timeout=60_000)
    assert [title for title, _act in messages.all[1].actions] == ["Open", "Show in folder"]
    assert QImage(str(tmp_path / "a.png")).width() == 2 * chart.width()
