"""From rows of Events to the timeline and back: framing, sorting, walking through the events of a name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import OpenPage, panel_of, settle
from tests.gui.sample import GEMM, MS

from warpline_app.panels.events.panel import EventsPanel
from warpline_app.window.main_window import MainWindow

LEFT = Qt.MouseButton.LeftButton


def test_a_double_click_frames_the_event_with_room_around_it(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    state, capture = page.document.state, page.document.capture
    panel = panel_of(qtbot, window, "events", EventsPanel)
    panel.kind.setCurrentIndex(panel.kind.findData("kernel"))
    settle(qtbot, window)
    row = panel.table.model_.item(3)
    place = panel.table.visualRect(panel.table.model_.index(3, 0)).center()
    qtbot.mouseClick(panel.table.viewport(), LEFT, pos=place)
    assert state.view == (0, 100 * MS), "a click selects and moves nothing that is in view"
    qtbot.mouseDClick(panel.table.viewport(), LEFT, pos=place)
    start, stop = capture.event_span(row)
    assert state.selection == row
    left, right = state.view
    assert left < start < stop < right
    assert 1.2 < (right - left) / (stop - start) < 5


def test_sorting_with_a_selection_shows_the_first_rows(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    panel = panel_of(qtbot, window, "events", EventsPanel)
    capture = page.document.capture
    shortest = int(np.argmin(capture.events.duration))
    page.document.state.select(shortest)
    settle(qtbot, window)
    table = panel.table
    titles = [column.title for column in table.model_.columns]
    with qtbot.waitSignal(table.sorted_changed, timeout=60_000):
        table.sort_by(titles.index("Duration"), True)
    assert table.verticalScrollBar().value() == 0
    assert page.document.state.selection == shortest, "it stays selected, further down"
    assert table.rowAt(0) == 0


def test_walking_through_a_name_says_which_of_how_many(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    state, capture = page.document.state, page.document.capture
    name = capture.strings.id(GEMM)
    assert name is not None
    rows = np.flatnonzero(np.asarray(capture.events.name) == name)
    state.set_highlight((name,))
    state.select(int(rows[0]))
    told: list[str] = []
    window.workspace.told.connect(told.append)
    qtbot.keyClick(page.view.canvas, Qt.Key.Key_Period)
    assert told[-1] == f"2 of {len(rows)}"
    qtbot.keyClick(page.view.canvas, Qt.Key.Key_Comma)
    qtbot.keyClick(page.view.canvas, Qt.Key.Key_Comma)
    assert told[-1] == f"{len(rows)} of {len(rows)}"
