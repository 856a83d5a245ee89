"""The Summary: its table says what the reports say, and is linked with the timeline both ways."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import OpenPage, cells, headers, panel_of, pixels, settle, summary_of
from tests.gui.sample import GEMM, MS

from warpline.analysis.framework.kernel_names import short_kernel_name
from warpline.analysis.framework.registry import compute_report
from warpline.analysis.framework.selection import Selection
from warpline_app.look.appearance import appearance
from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.room import SideBySide
from warpline_app.panels.summary.panel import SummaryPanel
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow


@pytest.fixture
def page(window: MainWindow, open_page: OpenPage, sample: Path) -> CapturePage:
    return open_page(sample)


def test_the_table_says_what_the_command_line_says(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = panel_of(qtbot, window, "summary", SummaryPanel)
    assert panel.report.current == "kernel"
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
    panel = panel_of(qtbot, window, "summary", SummaryPanel)
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
    panel = summary_of(qtbot, window, "cuda_api_gpu_sum")
    capture, state = page.document.capture, page.document.state
    names = [row[0] for row in cells(panel)]
    row = names.index("cudaLaunchKernel")
    bright = pixels(page.view.canvas, appearance().theme.rgb("kernel"))
    where = panel.table.visualRect(panel.table.model_.index(row, 0)).center()
    qtbot.mouseClick(panel.table.viewport(), Qt.MouseButton.LeftButton, pos=where)
    settle(qtbot, window)
    assert state.highlight == frozenset({capture.strings.id("cudaLaunchKernel")})
    # Kernels have another name: they are dimmed now.
    assert pixels(page.view.canvas, appearance().theme.rgb("kernel")) < bright / 4
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
    panel = summary_of(qtbot, window, "nvtx_sum")
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
    panel = summary_of(qtbot, window, "nvtx_sum")
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
    panel = summary_of(qtbot, window, "kernel")
    assert panel.note.text()
    panel.note.resize(120, panel.note.height())
    assert panel.note.is_elided
    assert panel.note.text() in panel.note.toolTip().replace("\n", "  ")


def test_the_place_of_a_chart_that_goes_is_the_tables_at_once(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = summary_of(qtbot, window, "kernel")
    split = panel.shares.parentWidget()
    assert isinstance(split, SideBySide)
    assert panel.table.width() < split.width()
    panel.has_chart.setChecked(False)
    assert panel.table.width() == split.width()


def test_filter_from_a_row_can_be_undone_and_taken_off_with_its_chip(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = summary_of(qtbot, window, "nvtx_sum")
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
    panel = summary_of(qtbot, window, "nvtx_sum")
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
    with qtbot.waitSignal(job.succeeded, timeout=60_000):
        pass
    with (tmp_path / "table.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) == len(cells(panel)) + 1


def test_what_is_not_recorded_is_said_with_what_to_record(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = summary_of(qtbot, window, "osrt_sum")
    assert panel.missing.isVisible()
    assert not panel.table.isVisible()
    assert panel.missing.text() == (
        "OS runtime calls were not recorded. Record with --trace osrt, or import an export of Nsight Systems with "
        "OS runtime calls."
    )


def test_a_tree_opens_closes_sorts_and_searches(qtbot: QtBot, window: MainWindow, page: CapturePage) -> None:
    panel = summary_of(qtbot, window, "events")
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
    qtbot.waitUntil(lambda: len(cells(panel)) == 8, timeout=60_000)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_panel_is_drawn_in_every_theme(
    qtbot: QtBot, window: MainWindow, page: CapturePage, theme: str
) -> None:
    for panel_id in ("summary", "flame", "counters"):
        panel = panel_of(qtbot, window, panel_id, Panel)
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
    from warpline_app.panels.events.panel import EventsPanel

    panel = panel_of(qtbot, window, "events", EventsPanel)

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
