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

from warpline.model.derived_rows import DerivedRow
from warpline.model.errors import WarplineError
from warpline.storage import open_capture
from warpline.storage.notes_file import MAX_ROWS, notes_path, read_notes
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
    qtbot.waitUntil(lambda: bool(panel.findChildren(RowDialog)), timeout=60_000)
    (dialog,) = panel.findChildren(RowDialog)
    dialog.title.selectAll()
    qtbot.keyClicks(dialog.title, title)
    qtbot.keyClick(dialog.title, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not panel.findChildren(RowDialog), timeout=60_000)
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


def test_new_events_bear_their_names(window: MainWindow, page: CapturePage, qtbot: QtBot) -> None:
    derive(qtbot, window, TIMES, "phases")
    view, state = page.view, page.document.state
    state.set_view(15 * MS, 50 * MS)
    settle(qtbot, window)
    scene = view.scene
    placed = scene.layout.by_key[KEY + state.derived_rows[0].id]

    def names() -> int:
        top = scene.top_of(placed)
        spans = view.canvas.renderer.text_spans(top, top + placed.height)
        starts = [scene.scale.to_px(at * MS) for at in (20, 30, 40)]
        return sum(any(start <= left < start + 20 for left, _right in spans) for start in starts)

    qtbot.waitUntil(lambda: names() == 3, timeout=60_000)


def test_a_row_whose_query_failed_can_be_run_again(
    window: MainWindow, page: CapturePage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    derived, state, scene = page.document.derived, page.document.state, page.view.scene
    with monkeypatch.context() as broken:
        broken.setattr("warpline.query.session.QuerySession.schema", _no_memory)
        derived.show(DerivedRow(id="b", title="phases", sql=TIMES))
        qtbot.waitUntil(lambda: not derived.is_busy, timeout=60_000)
    assert derived.problem(state.derived_rows[0]) == "no memory"
    scene.focus_key = f"{KEY}b"
    page.view.setFocus()
    window.commands.run("derived.run")
    qtbot.waitUntil(lambda: not derived.is_busy, timeout=60_000)
    assert scene.layout.by_key[f"{KEY}b"].row.count == 3
    assert derived.problem(state.derived_rows[0]) == ""


def _no_memory(_session: object) -> None:
    raise WarplineError("no memory")


def test_tracks_are_rows_of_their_own_that_are_one_derived_row(
    window: MainWindow, page: CapturePage, qtbot: QtBot
) -> None:
    sql = f"SELECT *, CASE WHEN ts > 25000000 THEN 'late' ELSE 'early' END AS track, 'sync' AS color FROM ({TIMES})"
    derive(qtbot, window, sql, "phases")
    state, scene = page.document.state, page.view.scene
    (row,) = state.derived_rows
    early, late = (scene.layout.by_key[f"{KEY}{row.id}#track={number}"].row for number in range(2))
    assert [(track.title, track.count, track.family) for track in (early, late)] == [
        ("early", 1, "sync"),
        ("late", 2, "sync"),
    ]
    scene.focus_key = late.key
    page.view.setFocus()
    window.commands.run("derived.remove")
    assert state.derived_rows == ()


def test_no_row_is_added_beyond_those_that_are_kept(
    window: MainWindow, page: CapturePage, qtbot: QtBot
) -> None:
    page.document.state.set_derived_rows(DerivedRow(sql=f"SELECT {number}") for number in range(MAX_ROWS))
    panel = panel_of(qtbot, window, "query", QueryPanel)
    panel.editor.set_sql(TIMES)
    panel.run()
    qtbot.waitUntil(lambda: not panel.is_busy, timeout=60_000)
    assert panel.ask_row() is None
    assert "at most 100 derived rows" in panel.problem.text()
