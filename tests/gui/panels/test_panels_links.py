"""What is selected in one place is selected everywhere: rows of timeline and tables, boxes, areas, filters, events."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage, QPainterPath, QPolygonF
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import (
    OpenPage,
    cells,
    column,
    events_of,
    panel_of,
    pixels,
    settle,
    summary_of,
)
from tests.gui.sample import COPY, GEMM, KERNELS, MS

from warpline_app.look.appearance import appearance
from warpline_app.panels.charts.ring import ring_and_legend, sectors
from warpline_app.panels.events.panel import EventsPanel
from warpline_app.panels.flame.panel import FlamePanel
from warpline_app.panels.histogram.panel import HistogramPanel
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow

LEFT = Qt.MouseButton.LeftButton
COPY_ROW = "[CUDA memcpy Host-to-Device]"
"""How a table of operations calls the copies of the sample."""
STREAM = "gpu/0/process/71.1/context/1/stream/7"


@pytest.fixture
def page(window: MainWindow, open_page: OpenPage, sample: Path) -> CapturePage:
    return open_page(sample)


# -- a name ---------------------------------------------------------------------------------------------------


def test_a_row_lights_up_its_instances_in_the_overview_too(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = summary_of(qtbot, window, "cuda_api_gpu_sum")
    overview = page.view.overview
    assert not len(overview.tick_columns)
    before = pixels(overview, appearance().theme.rgb("text"))
    names = column(panel, "operation")
    panel.table.selectRow(names.index("cudaMemcpyAsync"))
    settle(qtbot, window)
    assert len(overview.tick_columns) == KERNELS // 4
    assert pixels(overview, appearance().theme.rgb("text")) >= before + KERNELS // 4
    panel.table.selectRow(names.index(GEMM))
    assert len(overview.tick_columns) == KERNELS - KERNELS // 4
    page.document.state.set_highlight(())
    assert not len(overview.tick_columns)


def test_hiding_adds_up_and_each_chip_takes_its_own_off(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = summary_of(qtbot, window, "nvtx_sum")
    everything = set(column(panel, "name"))
    hidden = column(panel, "name")[:2]
    for name in hidden:
        item = panel.table.model_.item(column(panel, "name").index(name))
        panel.table.fill_menu(QMenu(panel), item)["hide"].trigger()
        settle(qtbot, window)
    assert set(column(panel, "name")) == everything - set(hidden)
    chips = window.tool_row.chips
    assert [chip.text for chip in chips] == [f"not {name}" for name in hidden]
    chips[0].close_button.click()
    settle(qtbot, window)
    assert set(column(panel, "name")) == everything - {hidden[1]}
    page.document.state.undo()
    settle(qtbot, window)
    assert set(column(panel, "name")) == everything - set(hidden)


def test_a_row_is_shown_in_events_without_a_filter_of_the_timeline(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    for wanted, listed_as in (("cudaMemcpyAsync", "cudaMemcpyAsync"), (COPY_ROW, COPY)):
        panel = summary_of(qtbot, window, "cuda_api_gpu_sum")
        item = panel.table.model_.item(column(panel, "operation").index(wanted))
        actions = panel.table.fill_menu(QMenu(panel), item)
        actions["events"].trigger()
        settle(qtbot, window)
        listed = window.panels.panel("events")
        assert isinstance(listed, EventsPanel)
        assert column(listed, "name") == [listed_as] * (KERNELS // 4)
        assert page.document.state.filter.is_empty
        actions["show"].trigger()
        selection = page.document.state.selection
        assert selection is not None
        assert page.document.capture.strings[int(page.document.capture.events.name[selection])] == listed_as


def test_an_area_of_the_chart_is_a_row_of_the_table(
    qtbot: QtBot, window: MainWindow, page: CapturePage, tmp_path: Path
) -> None:
    panel = summary_of(qtbot, window, "cuda_gpu_sum")
    parts = panel.shares.parts
    assert sum(part.share for part in parts) == pytest.approx(1.0)
    assert [part.full_name for part in parts] == [GEMM, COPY_ROW]
    area = panel.shares.place_of(parts[1].item)
    first = panel.shares.place_of(parts[0].item)
    assert area.width() * area.height() < first.width() * first.height()
    qtbot.mouseClick(panel.shares, LEFT, pos=first.center())
    capture = page.document.capture
    assert page.document.state.highlight == frozenset({capture.strings.id(GEMM)})
    item = panel.table.current_item()
    assert item is not None
    assert panel.table.full_name(item) == GEMM
    panel.has_chart.setChecked(False)
    assert not panel.shares.isVisible()
    for name in ("share.png", "share.svg"):
        panel.shares.export(tmp_path / name)
    assert not QImage(str(tmp_path / "share.png")).isNull()
    assert "<svg" in (tmp_path / "share.svg").read_text(encoding="utf-8")[:400]


def test_a_ring_of_the_chart_is_as_large_as_the_shares_and_clicks_as_areas_do(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = summary_of(qtbot, window, "cuda_gpu_sum")
    shares = panel.shares
    shares.set_ring(True)
    assert shares.is_ring
    ring, legend = ring_and_legend(QRectF(shares.rect().adjusted(8, 24, -8, -8)), len(shares.parts))
    paths = sectors([part.share for part in shares.parts], ring)
    sizes = np.array([sum(_area(polygon) for polygon in path.toFillPolygons()) for path in paths])
    assert sizes / sizes.sum() == pytest.approx([part.share for part in shares.parts], abs=0.01)
    assert len(legend) == len(shares.parts)
    for index, point in ((0, legend[0].center()), (1, _middle(paths[1]))):
        qtbot.mouseClick(shares, LEFT, pos=point.toPoint())
        item = panel.table.current_item()
        assert item == shares.parts[index].item
    image = shares.grab().toImage()
    middle = _middle(paths[0]).toPoint()
    assert image.pixelColor(middle) == QColor(shares.parts[0].color)
    assert image.pixelColor(ring.center().toPoint()) != QColor(shares.parts[0].color), "the hole"


def _area(polygon: QPolygonF) -> float:
    points = np.array([(point.x(), point.y()) for point in polygon.toList()])
    following = np.roll(points, -1, axis=0)
    return float(abs((points[:, 0] * following[:, 1] - following[:, 0] * points[:, 1]).sum()) / 2)


def _middle(path: QPainterPath) -> QPointF:
    """A point well inside a sector."""
    box = path.boundingRect()
    grid = [
        QPointF(box.left() + box.width() * x / 40, box.top() + box.height() * y / 40)
        for x in range(41)
        for y in range(41)
    ]
    inside = [point for point in grid if path.contains(point)]
    return inside[len(inside) // 2]


# -- a row of the timeline ------------------------------------------------------------------------------------


def counted_row(page: CapturePage) -> str | None:
    """The row that panels count; asked anew, since a click changes it."""
    return page.document.state.track_selection


def test_a_click_on_a_title_has_all_panels_count_that_row(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    state, header, scene = page.document.state, page.view.header, page.view.scene
    listed = events_of(qtbot, window)
    whole = listed.table.model_.rowCount()
    placed = scene.layout.by_key[STREAM]
    middle = QPoint(header.width() // 2, scene.top_of(placed) + 6)
    header_before = pixels(header, appearance().theme.rgb("header"))
    qtbot.mouseClick(header, LEFT, pos=middle)
    assert counted_row(page) == STREAM
    settle(qtbot, window)
    assert listed.table.model_.rowCount() == KERNELS < whole
    assert "Stream 7" in listed.scope
    assert pixels(header, appearance().theme.rgb("header")) < header_before
    flame = panel_of(qtbot, window, "flame", FlamePanel)
    assert flame.view.flame is None or not len(flame.view.flame), "no ranges stand on a stream"
    qtbot.mouseClick(header, LEFT, pos=middle)
    assert counted_row(page) is None
    settle(qtbot, window)
    assert flame.view.flame is not None
    assert len(flame.view.flame)
    # A row of one kernel is about that kernel alone.
    gemm = page.document.capture.strings.id(GEMM)
    key = next(key for key in scene.layout.by_key if key.startswith(f"{STREAM}#kernel="))
    assert key == f"{STREAM}#kernel={gemm}"
    state.select_track(key)
    listed = events_of(qtbot, window)
    assert column(listed, "name") == [GEMM] * (KERNELS - KERNELS // 4)
    assert "gemm" in listed.scope
    panel = summary_of(qtbot, window, "cuda_gpu_sum")
    assert column(panel, "operation") == [GEMM]
    state.clear()
    assert counted_row(page) is None


def test_rows_that_stand_for_tracks_choose_show_and_hide_them(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = summary_of(qtbot, window, "thread_state")
    state = page.document.state
    count = panel.table.model_.rowCount()
    assert count == 2
    panel.table.selectRow(1)
    item = panel.table.current_item()
    assert item is not None
    tracks = page.document.capture.tracks
    # The state of a thread is drawn on the thread's own row.
    track = tracks[tracks[panel.table.target(item).track or 0].parent]
    assert state.track_selection == track.uri
    settle(qtbot, window)
    assert panel.table.model_.rowCount() == count, "a table of tracks goes on showing the others"
    listed = events_of(qtbot, window, "thread_state")
    assert listed.table.model_.rowCount() == 20
    panel = summary_of(qtbot, window, "thread_state")
    panel.table.fill_menu(QMenu(panel), item)["hide"].trigger()
    assert track.uri in state.hidden
    with qtbot.waitSignal(state.row_wanted, timeout=60_000) as wanted:
        panel.table.fill_menu(QMenu(panel), item)["show"].trigger()
    assert wanted.args == [track.uri]
    assert track.uri not in state.hidden


def test_a_click_on_a_title_leaves_one_thread_in_the_table_of_states(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = summary_of(qtbot, window, "thread_state")
    assert len(cells(panel)) == 2
    header, scene = page.view.header, page.view.scene
    worker = next(row for row in scene.layout.rows if row.row.key == "process/71.1/thread/74.1")
    place = QPoint(120, scene.top_of(worker) + worker.height // 2)
    qtbot.mouseClick(header, LEFT, pos=place)
    settle(qtbot, window)
    assert ["pin_memory" in row[0] for row in cells(panel)] == [True]
    assert "pin_memory" in panel.scope
    # Chosen from here it is marked, and the other one is there as well.
    qtbot.mouseClick(header, LEFT, pos=place)
    settle(qtbot, window)
    assert len(cells(panel)) == 2
    panel.table.selectRow(1)
    settle(qtbot, window)
    assert page.document.state.track_selection is not None
    assert len(cells(panel)) == 2


# -- events ---------------------------------------------------------------------------------------------------


def test_events_are_filtered_by_the_value_of_a_column(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = events_of(qtbot, window, "kernel")
    durations = [int(text) for text in column(panel, "duration")]
    panel.filter_column("duration", "> 1.2ms")
    settle(qtbot, window)
    kept = [int(text) for text in column(panel, "duration")]
    assert kept == [ns for ns in durations if ns > 1_200_000]
    assert 0 < len(kept) < len(durations)
    panel.filter_column("start", "50ms..70ms")
    settle(qtbot, window)
    assert len(panel.chips) == 2
    starts = [int(text) for text in column(panel, "start")]
    assert starts
    assert all(50 * MS <= ns <= 70 * MS for ns in starts)
    panel.filter_column("start", "soon")
    settle(qtbot, window)
    assert "is not a number" in panel.note.text()
    for chip in panel.chips:
        chip.close_button.click()
    settle(qtbot, window)
    assert [int(text) for text in column(panel, "duration")] == durations
    panel = events_of(qtbot, window, "memcpy")
    assert set(column(panel, "memcpy.Launched by")) == {"cudaMemcpyAsync"}
    panel.filter_column("memcpy.Launched by", "=cudaLaunchKernel")
    settle(qtbot, window)
    assert not panel.table.model_.rowCount()
    assert "no matching events" in panel.note.text()
    panel = events_of(qtbot, window)
    assert not panel.chips, "a filter on a column of another kind is gone with the column"
    section = [column.identity for column in panel.table.model_.columns].index("track")
    assert panel.fill_header_menu(QMenu(panel), section)["filter"].isEnabled()
    panel.filter_column("track", "stream 7")
    settle(qtbot, window)
    assert panel.table.model_.rowCount() == KERNELS


def test_events_follow_the_zoom_only_when_asked_to(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = events_of(qtbot, window, "range")
    state = page.document.state
    state.set_view(30 * MS, 34 * MS)
    settle(qtbot, window)
    assert panel.table.model_.rowCount() == 20
    panel.follows.setChecked(True)
    settle(qtbot, window)
    assert sorted(column(panel, "name")) == ["layer 0", "step 1"]
    assert "in the visible range" in panel.scope
    state.set_view(50 * MS, 54 * MS)
    qtbot.waitUntil(lambda: sorted(column(panel, "name")) == ["layer 0", "step 2"], timeout=60_000)


def test_a_row_of_events_has_the_verbs_of_all_rows(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = events_of(qtbot, window)
    state = page.document.state
    item = panel.table.model_.item(column(panel, "name").index("layer 3"))
    actions = panel.table.fill_menu(QMenu(panel), item)
    state.set_view(0, 10 * MS)
    actions["show"].trigger()
    assert state.selection == item
    assert state.view[0] <= page.document.capture.event_span(item)[0] < state.view[1]
    actions["copy_name"].trigger()
    assert QGuiApplication.clipboard().text() == "layer 3"
    actions["filter"].trigger()
    settle(qtbot, window)
    assert set(column(panel, "name")) == {"layer 3"}
    state.undo()
    actions["hide"].trigger()
    settle(qtbot, window)
    assert "layer 3" not in column(panel, "name")
    assert "layer 2" in column(panel, "name")


def test_a_box_of_the_flame_graph_is_chosen_like_a_row(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    flame = panel_of(qtbot, window, "flame", FlamePanel)
    assert flame.view.flame is not None
    box = flame.view.rect_of(0)
    qtbot.mouseClick(flame.view, LEFT, pos=box.center())
    name = int(flame.view.flame.name[0])
    assert page.document.state.highlight == frozenset({name})
    histogram = panel_of(qtbot, window, "histogram", HistogramPanel)
    assert histogram.title.text() == page.document.capture.strings[name]
    page.document.state.set_highlight(())
    settle(qtbot, window)
    assert histogram.missing.isVisible()
    assert "Select an event" in histogram.missing.text()
