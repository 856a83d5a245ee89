"""Rows derived by queries: made from a result, drawn, clicked, kept, undone; those of others are not run unasked."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import CONTROL, OpenPage, panel_of, pixels, settle
from tests.gui.sample import MS

from warpline.storage import open_capture
from warpline.storage.notes_file import notes_path, read_notes
from warpline_app.panels.query.panel import QueryPanel
from warpline_app.panels.query.row_dialog import RowDialog
from warpline_app.remembered.settings import Settings
from warpline_app.timeline.model.derived_rows import KEY
from warpline_app.timeline.model.row import Content
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow

pytestmark = pytest.mark.skipif(importlib.util.find_spec("duckdb") is None, reason="DuckDB is not installed")
EVENTS = "SELECT id, ts FROM kernel WHERE dur > 1200000"
TIMES = "SELECT 20000000 + 10000000 * i AS ts, 5000000 AS dur, 'phase ' || i AS name FROM range(3) r(i)"
VALUES = "SELECT bucket(ts, 10000000) AS ts, count(*) AS value FROM kernel GROUP BY 1"


@pytest.fixture
def run(tmp_path: Path, sample: Path, settings: Settings) -> Path:
    """A capture of its own, whose notes are kept beside it."""
    settings.notes_beside_capture = True
    path = tmp_path / "run.h5"
    shutil.copy(sample, path)
    return path


@pytest.fixture
def page(open_page: OpenPage, run: Path) -> CapturePage:
    return open_page(run)


def derive(qtbot: QtBot, window: MainWindow, sql: str, title: str) -> None:
    """Run a query and show its result as a row, with the keyboard."""
    panel = panel_of(qtbot, window, "query", QueryPanel)
    panel.editor.setFocus()
    panel.editor.set_sql(sql)
    qtbot.keyClick(panel.editor, Qt.Key.Key_Return, CONTROL)
    qtbot.waitUntil(lambda: not panel.is_busy, timeout=60_000)
    qtbot.keyClick(panel.row_button, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: bool(panel.findChildren(RowDialog)), timeout=20_000)
    (dialog,) = panel.findChildren(RowDialog)
    dialog.title.selectAll()
    qtbot.keyClicks(dialog.title, title)
    qtbot.keyClick(dialog.title, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not panel.findChildren(RowDialog), timeout=20_000)
    settle(qtbot, window)


def test_results_become_rows_that_are_drawn_clicked_kept_and_undone(
    window: MainWindow, page: CapturePage, run: Path, qtbot: QtBot
) -> None:
    view, state = page.view, page.document.state
    scene = view.scene
    derive(qtbot, window, EVENTS, "long kernels")
    (row,) = state.derived_rows
    assert (row.title, row.sql, row.color) == ("long kernels", EVENTS, "")
    placed = scene.layout.by_key[KEY + row.id]
    assert placed.row.content is Content.SUBSET
    with open_capture(run) as capture:
        durations = capture.kinds["kernel"].index_rows
        count = int((capture.events.duration[durations] > 1_200_000).sum())
    assert placed.row.count == count > 0
    # A click on an event of the row selects it.
    assert placed.row.group is not None
    event = int(placed.row.group.rows[0])
    start, stop = page.document.capture.event_span(event)
    spot = QPoint(round(scene.scale.to_px((start + stop) // 2)), scene.top_of(placed) + placed.height // 2)
    qtbot.mouseClick(view.canvas, Qt.MouseButton.LeftButton, pos=spot)
    assert state.selection == event
    # New events have a tooltip, and a click selects their time.
    derive(qtbot, window, TIMES, "phases")
    placed = scene.layout.by_key[KEY + state.derived_rows[1].id]
    top = scene.top_of(placed)
    spot = QPoint(round(scene.scale.to_px(32 * MS)), top + placed.height // 2)
    found = scene.derived_event_at(spot.x(), spot.y())
    assert found is not None
    assert found[0].text(found[1], 0).title == "phase 1"
    qtbot.mouseClick(view.canvas, Qt.MouseButton.LeftButton, pos=spot)
    assert state.range_selection == (30 * MS, 35 * MS)
    image = view.canvas.grab().toImage()
    at = image.devicePixelRatio()
    inside = image.pixelColor(round(spot.x() * at), round(spot.y() * at))
    outside = image.pixelColor(round(scene.scale.to_px(27 * MS) * at), round(spot.y() * at))
    assert inside != outside
    # Values are a counter.
    derive(qtbot, window, VALUES, "kernels in 10 ms")
    placed = scene.layout.by_key[KEY + state.derived_rows[2].id]
    assert placed.row.content is Content.COUNTER
    assert placed.row.series is not None
    assert float(placed.row.series.values.sum()) == len(page.document.capture.kinds["kernel"])
    assert pixels(view.canvas, 0) >= 0
    assert page.document.notes is not None
    page.document.notes.write_now()
    assert [kept.sql for kept in read_notes(notes_path(run)).rows] == [EVENTS, TIMES, VALUES]
    # Remove with the command, undo with the key.
    view.setFocus()
    scene.focus_key = KEY + state.derived_rows[0].id
    window.commands.run("derived.remove")
    assert [kept.title for kept in state.derived_rows] == ["phases", "kernels in 10 ms"]
    assert KEY + row.id not in scene.layout.by_key
    qtbot.keyClick(view, Qt.Key.Key_Z, CONTROL)
    assert {kept.title for kept in state.derived_rows} == {"long kernels", "phases", "kernels in 10 ms"}
    assert KEY + row.id in scene.layout.by_key


def test_a_query_of_somebody_else_runs_after_a_click_only(
    window: MainWindow, open_page: OpenPage, run: Path, qtbot: QtBot
) -> None:
    with open_capture(run) as capture:
        uuid = capture.uuid
    value = {"format": "warpline notes", "version": 1, "capture": uuid, "notes": [], "deleted": []}
    rows = [{"id": "a1", "title": "theirs", "sql": TIMES, "changed_ns": 1}]
    notes_path(run).write_text(json.dumps({**value, "rows": rows}), "utf-8")
    page = open_page(run)
    derived, scene = page.document.derived, page.view.scene
    placed = scene.layout.by_key[f"{KEY}a1"]
    assert placed.row.content is Content.MORE
    assert "not run" in placed.row.title
    assert not derived.is_busy
    (message,) = [message for message in window.workspace.messages.all if message.actions]
    assert TIMES in message.details
    scene.focus_key = f"{KEY}a1"
    page.view.setFocus()
    window.commands.run("derived.run")
    qtbot.waitUntil(lambda: not derived.is_busy, timeout=60_000)
    assert scene.layout.by_key[f"{KEY}a1"].row.count == 3
    QApplication.processEvents()
