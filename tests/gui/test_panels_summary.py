"""Summary, flame graph, steps, histogram, memory and counters: linked with the timeline both ways."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QMenu, QWidget
from pytestqt.qtbot import QtBot
from tests.gui.sample import GEMM, MS

from warpline.analysis.registry import compute_report
from warpline.analysis.selection import Selection
from warpline.model import Flag
from warpline.storage import CaptureBuilder
from warpline_app.appearance import appearance
from warpline_app.page import CapturePage
from warpline_app.panels.chart import Chart
from warpline_app.panels.counters import CountersPanel
from warpline_app.panels.flame import FlamePanel
from warpline_app.panels.histogram import HistogramPanel
from warpline_app.panels.memory import MemoryPanel
from warpline_app.panels.steps import StepsPanel
from warpline_app.panels.summary import SummaryPanel
from warpline_app.timeline.kernel_names import short_kernel_name
from warpline_app.window import MainWindow

OpenPage = Callable[[Path], CapturePage]


@pytest.fixture
def page(window: MainWindow, open_page: OpenPage, sample: Path) -> CapturePage:
    return open_page(sample)


def panel_of(qtbot: QtBot, window: MainWindow, panel_id: str) -> QWidget:
    window.panels.show_panel(panel_id)
    settle(qtbot, window)
    panel = window.panels.panel(panel_id)
    assert panel is not None
    return panel


def settle(qtbot: QtBot, window: MainWindow) -> None:
    def settled() -> bool:
        page = window.current_page
        assert page is not None
        return window.panels.is_settled and page.view.is_idle

    qtbot.waitUntil(settled, timeout=15_000)


def cells(panel: SummaryPanel | StepsPanel | MemoryPanel) -> list[list[str]]:
    model = panel.table.model_
    return [
        [str(model.data(model.index(row, column))) for column in range(model.columnCount())]
        for row in range(model.rowCount())
    ]


def headers(panel: SummaryPanel | StepsPanel | MemoryPanel) -> list[str]:
    model = panel.table.model_
    return [str(model.headerData(i, Qt.Orientation.Horizontal)) for i in range(model.columnCount())]


def accent_pixels(widget: QWidget) -> int:
    """Pixels of a grabbed widget in the colours of kernels that are not dimmed."""
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    data = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), image.bytesPerLine() // 4)
    kernel = appearance().theme.rgb("kernel") & 0xFFFFFF
    return int(np.count_nonzero((data & 0xFFFFFF) == kernel))


def test_the_table_says_what_the_command_line_says(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = panel_of(qtbot, window, "summary")
    assert isinstance(panel, SummaryPanel)
    assert panel.report.currentData() == "kernel"
    (row,) = cells(panel)
    assert row[0] == short_kernel_name(GEMM) != GEMM
    assert panel.table.model_.data(panel.table.model_.index(0, 0), Qt.ItemDataRole.ToolTipRole) == GEMM
    shown = dict(zip(headers(panel), row, strict=True))
    report = compute_report(page.document.capture, "kernel").table
    assert report is not None
    assert shown["Calls"] == "30"
    assert shown["Total Time (ms)"] == f"{report.value(0, 'total_ns') / MS:.2f}"
    assert shown["Time"] == "100%"
    assert panel.scope.startswith("Kernels in the whole capture · 100.0 ms · GPU busy")


def test_dragging_a_range_on_the_timeline_changes_the_cells(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = panel_of(qtbot, window, "summary")
    assert isinstance(panel, SummaryPanel)
    canvas = page.view.canvas
    y = canvas.height() // 2
    left, right = canvas.width() // 4, canvas.width() // 2
    qtbot.mousePress(canvas, Qt.MouseButton.LeftButton, pos=QPoint(left, y))
    for x in range(left, right + 1, 20):
        qtbot.mouseMove(canvas, QPoint(x, y))
    qtbot.mouseMove(canvas, QPoint(right, y))
    qtbot.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=QPoint(right, y))
    settle(qtbot, window)
    selected = page.document.state.range_selection
    assert selected is not None
    report = compute_report(page.document.capture, "kernel", Selection(*selected)).table
    assert report is not None
    shown = dict(zip(headers(panel), cells(panel)[0], strict=True))
    assert shown["Calls"] == str(report.value(0, "count"))
    assert shown["Total Time (ms)"] == f"{report.value(0, 'total_ns') / MS:.2f}"
    assert "in the selected range" in panel.scope


def test_a_row_lights_up_its_instances_and_double_click_goes_to_the_longest(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = panel_of(qtbot, window, "summary")
    assert isinstance(panel, SummaryPanel)
    capture, state = page.document.capture, page.document.state
    panel.choose("cuda_api_gpu_sum")
    settle(qtbot, window)
    names = [row[0] for row in cells(panel)]
    row = names.index("cudaLaunchKernel")
    bright = accent_pixels(page.view.canvas)
    where = panel.table.visualRect(panel.table.model_.index(row, 0)).center()
    qtbot.mouseClick(panel.table.viewport(), Qt.MouseButton.LeftButton, pos=where)
    settle(qtbot, window)
    assert state.highlight == frozenset({capture.strings.id("cudaLaunchKernel")})
    # Kernels have another name: they are dimmed now.
    assert accent_pixels(page.view.canvas) < bright / 4
    row = names.index(short_kernel_name(GEMM))
    where = panel.table.visualRect(panel.table.model_.index(row, 0)).center()
    qtbot.mouseClick(panel.table.viewport(), Qt.MouseButton.LeftButton, pos=where)
    qtbot.mouseDClick(panel.table.viewport(), Qt.MouseButton.LeftButton, pos=where)
    settle(qtbot, window)
    assert state.selection is not None
    kernels = capture.kinds["kernel"].rows
    assert capture.events.duration[state.selection] == capture.events.duration[kernels].max()
    # Full stop and comma walk through the events of the name, and round the end.
    page.view.setFocus()
    order = kernels[np.argsort(capture.events.start[kernels])].tolist()
    assert state.selection == order[-1]
    qtbot.keyClick(page.view, Qt.Key.Key_Comma)
    assert state.selection == order[-2]
    qtbot.keyClick(page.view, Qt.Key.Key_Period)
    qtbot.keyClick(page.view, Qt.Key.Key_Period)
    assert state.selection == order[0]


def test_an_event_chosen_on_the_timeline_is_found_in_the_table(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = panel_of(qtbot, window, "summary")
    assert isinstance(panel, SummaryPanel)
    panel.choose("nvtx_sum")
    settle(qtbot, window)
    capture = page.document.capture
    wanted = capture.strings.id("layer 2")
    row = int(np.flatnonzero(capture.events.name == wanted)[0])
    page.document.state.select(row)
    item = panel.table.current_item()
    assert item is not None
    assert panel.table.target(item).name == wanted


def test_letting_go_of_an_event_lets_go_of_its_row(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = panel_of(qtbot, window, "summary")
    assert isinstance(panel, SummaryPanel)
    panel.choose("nvtx_sum")
    settle(qtbot, window)
    state, table = page.document.state, panel.table
    table.selectRow(1)
    assert state.highlight
    for _press in range(3):
        state.clear()
    assert not state.highlight
    assert not table.selectionModel().hasSelection()
    table.selectRow(1)
    assert state.highlight, "the same row answers again"


def test_a_note_that_does_not_fit_ends_in_an_ellipsis(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = panel_of(qtbot, window, "summary")
    assert isinstance(panel, SummaryPanel)
    panel.choose("kernel")
    settle(qtbot, window)
    assert panel.note.text()
    panel.note.resize(120, panel.note.height())
    assert panel.note.is_elided
    assert panel.note.text() in panel.note.toolTip().replace("\n", "  ")


def test_filter_from_a_row_can_be_undone_and_taken_off_with_its_chip(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = panel_of(qtbot, window, "summary")
    assert isinstance(panel, SummaryPanel)
    panel.choose("nvtx_sum")
    settle(qtbot, window)
    count = len(cells(panel))
    item = panel.table.model_.item(0)
    name = cells(panel)[0][0]
    actions = panel.table.fill_menu(QMenu(panel), item)
    actions["filter"].trigger()
    settle(qtbot, window)
    assert [row[0] for row in cells(panel)] == [name]
    page.document.state.undo()
    settle(qtbot, window)
    assert len(cells(panel)) == count
    actions["hide"].trigger()
    settle(qtbot, window)
    assert name not in [row[0] for row in cells(panel)]
    (chip,) = window.tool_row.chips
    chip.close_button.click()
    settle(qtbot, window)
    assert len(cells(panel)) == count


def test_copy_and_export_of_a_table(
    qtbot: QtBot, window: MainWindow, page: CapturePage, tmp_path: Path
) -> None:
    panel = panel_of(qtbot, window, "summary")
    assert isinstance(panel, SummaryPanel)
    panel.choose("nvtx_sum")
    settle(qtbot, window)
    panel.table.selectRow(0)
    panel.table.copy()
    lines = QGuiApplication.clipboard().text().split("\n")
    assert len(lines) == 2
    assert lines[1].split("\t")[0] == cells(panel)[0][0]
    actions = panel.table.fill_menu(QMenu(panel), panel.table.model_.item(1))
    actions["copy_name"].trigger()
    assert QGuiApplication.clipboard().text() == cells(panel)[1][0]
    actions["copy_row"].trigger()
    (head, line) = QGuiApplication.clipboard().text().split("\n")
    assert head.split("\t") == headers(panel)
    assert line.split("\t")[0] == cells(panel)[1][0]
    job = panel.table.export(tmp_path / "table.csv")
    with qtbot.waitSignal(job.succeeded, timeout=10_000):
        pass
    with (tmp_path / "table.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) == len(cells(panel)) + 1


def test_what_is_not_recorded_is_said_with_what_to_record(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = panel_of(qtbot, window, "summary")
    assert isinstance(panel, SummaryPanel)
    panel.choose("osrt_sum")
    settle(qtbot, window)
    assert panel.missing.isVisible()
    assert not panel.table.isVisible()
    assert panel.missing.text() == "OS runtime calls were not recorded. Record with --trace osrt."


def test_a_tree_opens_closes_sorts_and_searches(qtbot: QtBot, window: MainWindow, page: CapturePage) -> None:
    panel = panel_of(qtbot, window, "summary")
    assert isinstance(panel, SummaryPanel)
    panel.choose("events")
    settle(qtbot, window)
    opened = len(cells(panel))
    assert opened == 4 + 16
    assert cells(panel)[0][0].startswith("▾ step")
    table = panel.table
    first = table.visualRect(table.model_.index(0, 0))
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(12, first.center().y()))
    assert len(cells(panel)) == opened - 4
    assert cells(panel)[0][0].startswith("▸ step")
    table.selectRow(0)
    qtbot.keyClick(table, Qt.Key.Key_Right)
    assert len(cells(panel)) == opened
    table.sort_by(0, descending=True)
    assert [row[0].split()[-1] for row in cells(panel) if "step" in row[0]] == ["3", "2", "1", "0"]
    panel.search.setText("layer 3")
    qtbot.waitUntil(lambda: len(cells(panel)) == 8)


def test_any_range_can_be_the_step_and_a_bar_selects_it(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = panel_of(qtbot, window, "steps")
    assert isinstance(panel, StepsPanel)
    assert "not recorded" in panel.missing.text()
    panel.step.setText(r"/^step \d/")
    qtbot.waitUntil(lambda: panel.chart.isVisible() and window.panels.is_settled, timeout=10_000)
    assert [row[0] for row in cells(panel)] == ["0", "1", "2", "3"]
    assert panel.scope == "4 steps"
    box = panel.chart.getPlotItem().getViewBox()
    point = panel.chart.mapFromScene(box.mapViewToScene(QPointF(2.0, 1.0 * MS)))
    qtbot.mouseClick(panel.chart.viewport(), Qt.MouseButton.LeftButton, pos=point)
    qtbot.waitUntil(lambda: page.document.state.range_selection == (50 * MS, 70 * MS))
    panel.table.item_selected.emit(1)
    assert page.document.state.range_selection == (30 * MS, 50 * MS)


def test_the_histogram_marks_the_selected_event(qtbot: QtBot, window: MainWindow, page: CapturePage) -> None:
    panel = panel_of(qtbot, window, "histogram")
    assert isinstance(panel, HistogramPanel)
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
    panel = panel_of(qtbot, window, "flame")
    assert isinstance(panel, FlamePanel)
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


def test_counters_show_utilization_and_values(qtbot: QtBot, window: MainWindow, page: CapturePage) -> None:
    panel = panel_of(qtbot, window, "counters")
    assert isinstance(panel, CountersPanel)
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
    assert panel.scope.startswith("the selected range")


def test_memory_says_what_to_record(qtbot: QtBot, window: MainWindow, page: CapturePage) -> None:
    panel = panel_of(qtbot, window, "memory")
    assert isinstance(panel, MemoryPanel)
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
    panel = panel_of(qtbot, window, "memory")
    assert isinstance(panel, MemoryPanel)
    low, high = panel.chart.viewRange()[0]
    assert low == pytest.approx(20 * MS, abs=1 * MS)
    assert high == pytest.approx(80 * MS, abs=1 * MS)
    for device, taken in (("GPU 0", "128 B"), ("CPU", "32 B")):
        panel.device.setCurrentText(device)
        (row,) = cells(panel)
        assert dict(zip(headers(panel), row, strict=True))["Allocated"] == taken


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_charts_are_saved(
    qtbot: QtBot, window: MainWindow, page: CapturePage, tmp_path: Path, suffix: str
) -> None:
    panel = panel_of(qtbot, window, "counters")
    assert isinstance(panel, CountersPanel)
    assert isinstance(panel.chart, Chart)
    panel.chart.export(tmp_path / f"chart.{suffix}")
    flame = panel_of(qtbot, window, "flame")
    assert isinstance(flame, FlamePanel)
    flame.view.export(tmp_path / f"flame.{suffix}")
    for name in ("chart", "flame"):
        path = tmp_path / f"{name}.{suffix}"
        assert path.stat().st_size > 500
        if suffix == "png":
            assert not QImage(str(path)).isNull()
        else:
            assert "<svg" in path.read_text(encoding="utf-8")[:400]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_panel_is_drawn_in_every_theme(
    qtbot: QtBot, window: MainWindow, page: CapturePage, theme: str
) -> None:
    for panel_id in ("summary", "flame", "counters"):
        panel = panel_of(qtbot, window, panel_id)
        appearance().choose(theme)
        settle(qtbot, window)
        image = panel.grab().toImage()
        ground = appearance().theme.rgb("panel") & 0xFFFFFF
        corner = image.pixel(image.width() - 3, image.height() - 3) & 0xFFFFFF
        assert corner == ground, panel_id
        assert not QRect(0, 0, image.width(), image.height()).isEmpty()


def test_events_name_their_partner_operator_and_depth(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    from warpline_app.panels.events import EventsPanel

    panel = panel_of(qtbot, window, "events")
    assert isinstance(panel, EventsPanel)

    def column(kind: str, title: str) -> list[str]:
        panel.kind.setCurrentIndex(panel.kind.findData(kind))
        settle(qtbot, window)
        model = panel.table.model_
        titles = [column.title for column in model.columns]
        place = titles.index(title)
        return [str(model.data(model.index(row, place))) for row in range(model.rowCount())]

    assert set(column("kernel", "Launched by")) == {"cudaLaunchKernel"}
    assert set(column("memcpy", "Launched by")) == {"cudaMemcpyAsync"}
    assert column("cuda_api", "Launches")[0] == f"{GEMM}   1.00 ms"
    assert sorted(set(column("range", "Depth"))) == ["0", "1"]
