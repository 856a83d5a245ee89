"""Questions in SQL: typed, completed, run, cancelled; their rows lead to the timeline, into files and a chart."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import CONTROL, OpenPage, panel_of, pixels, settle
from tests.gui.sample import KERNELS, MS

from warpline.extras import install_command
from warpline_app.look.appearance import appearance
from warpline_app.panels.query.panel import QueryPanel
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow

HAS_DUCKDB = importlib.util.find_spec("duckdb") is not None
needs_duckdb = pytest.mark.skipif(not HAS_DUCKDB, reason="DuckDB is not installed")
SLOW = "SELECT count(*) FROM range(100000000) a, range(100000) b"


@pytest.fixture
def page(open_page: OpenPage, sample: Path) -> CapturePage:
    return open_page(sample)


@pytest.fixture
def panel(window: MainWindow, page: CapturePage, qtbot: QtBot) -> Iterator[QueryPanel]:
    found = panel_of(qtbot, window, "query", QueryPanel)
    found.editor.setFocus()
    yield found
    found.cancel()


def typed(qtbot: QtBot, panel: QueryPanel, sql: str) -> None:
    """Type a query; nothing that is proposed is taken."""
    panel.editor.clear()
    qtbot.keyClicks(panel.editor, sql)
    panel.editor.popup.hide()


def run(qtbot: QtBot, panel: QueryPanel, sql: str) -> None:
    """Type a query and run it with the keyboard."""
    typed(qtbot, panel, sql)
    qtbot.keyClick(panel.editor, Qt.Key.Key_Return, CONTROL)
    qtbot.waitUntil(lambda: not panel.is_busy, timeout=60_000)


def rows(panel: QueryPanel) -> list[list[str]]:
    """The cells of the result as they are copied."""
    model = panel.answer.table.model_
    return [[column.raw_text(item) for column in model.columns] for item in model.items_shown().tolist()]


def selected(page: CapturePage) -> int | None:
    """The row of the selected event."""
    return page.document.state.selection


@needs_duckdb
def test_a_query_is_completed_run_and_its_rows_lead_to_the_timeline(
    window: MainWindow, page: CapturePage, panel: QueryPanel, qtbot: QtBot
) -> None:
    state, capture = page.document.state, page.document.capture
    assert panel.right.currentWidget() is panel.examples
    assert panel.examples.list.count() == 20
    qtbot.keyClicks(panel.editor, "SELECT id, ts, dur, name FROM ker")
    assert panel.editor.popup.isVisible()
    qtbot.keyClick(panel.editor, Qt.Key.Key_Tab)
    qtbot.keyClicks(panel.editor, " ORDER BY ts")
    panel.editor.popup.hide()
    assert panel.editor.sql == "SELECT id, ts, dur, name FROM kernel ORDER BY ts"
    qtbot.keyClick(panel.editor, Qt.Key.Key_Return, CONTROL)
    settle(qtbot, window)
    table = panel.answer.table
    found = rows(panel)
    assert len(found) == len(capture.kinds["kernel"])
    assert panel.scope.startswith(f"{len(found)} rows")
    table.setFocus()
    table.selectRow(0)
    qtbot.keyClick(table, Qt.Key.Key_Down)
    assert selected(page) == int(found[1][0])
    assert capture.event_span(int(found[1][0]))[0] == int(found[1][1])
    run(qtbot, panel, "SELECT 20000000 AS ts, 4000000 AS dur")
    table.setFocus()
    qtbot.keyClick(table, Qt.Key.Key_Down)
    assert state.range_selection == (20 * MS, 24 * MS)
    assert state.view[0] < 20 * MS < 24 * MS < state.view[1] < 30 * MS
    # A track's id is none of an event.
    state.select(None)
    run(qtbot, panel, "SELECT id, uri FROM tracks ORDER BY id")
    table.setFocus()
    qtbot.keyClick(table, Qt.Key.Key_Down)
    assert selected(page) is None
    assert len(panel.document.queries.asked) == 3


@needs_duckdb
def test_errors_stand_where_they_are_and_what_was_not_recorded_says_so(
    panel: QueryPanel, qtbot: QtBot
) -> None:
    run(qtbot, panel, "SELECT name FROM kernel WHERE durr > 5")
    assert "line 1, column 31" in panel.problem.text()
    assert 'did you mean "dur"' in panel.problem.text()
    assert panel.editor.marked_text == "durr"
    assert panel.editor.textCursor().position() == 30
    qtbot.keyClicks(panel.editor, " ")
    assert panel.editor.marked_text == ""
    run(qtbot, panel, "SELECT * FROM osrt")
    assert "osrt: not recorded" in panel.problem.text()
    assert "--trace osrt" in panel.problem.text()
    run(qtbot, panel, "SELECT 1 AS one")
    assert panel.problem.isHidden()
    assert rows(panel) == [["1"]]


@needs_duckdb
def test_a_query_is_cancelled_and_the_next_one_is_answered(panel: QueryPanel, qtbot: QtBot) -> None:
    typed(qtbot, panel, SLOW)
    qtbot.keyClick(panel.editor, Qt.Key.Key_Return, CONTROL)
    assert panel.cancel_button.isVisible()
    assert "running" in panel.progress.text()
    qtbot.keyClick(panel.editor, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not panel.is_busy, timeout=60_000)
    assert panel.problem.text() == "Stopped"
    assert not panel.cancel_button.isVisible()
    run(qtbot, panel, "SELECT 2 AS two")
    assert rows(panel) == [["2"]]


@needs_duckdb
def test_a_result_is_drawn_exported_and_asked_again(panel: QueryPanel, qtbot: QtBot, tmp_path: Path) -> None:
    run(
        qtbot,
        panel,
        "SELECT ts, dur, CASE WHEN dur > 1200000 THEN 'long' END AS size FROM kernel ORDER BY ts",
    )
    panel.chart_button.setFocus()
    qtbot.keyClick(panel.chart_button, Qt.Key.Key_Space)
    chart = panel.answer.chart
    assert chart is not None
    assert (chart.x_choice.currentText(), chart.y_choice.currentText()) == ("ts", "dur")
    color = int(panel.theme.family("kernel")[1:], 16)
    qtbot.waitUntil(lambda: pixels(chart.chart, color) > 20, timeout=60_000)
    # Another theme of the same colours draws it again.
    appearance().choose("light")
    color = int(panel.theme.family("kernel")[1:], 16)
    qtbot.waitUntil(lambda: pixels(chart.chart, color) > 20, timeout=60_000)
    shown = panel.editor.sql
    run(
        qtbot,
        panel,
        "SELECT 'a' AS name, 'inf'::DOUBLE AS value UNION ALL SELECT 'b', 1e308 UNION ALL SELECT 'c', -1e308",
    )
    assert chart.note.text() == "no values that can be drawn"
    run(qtbot, panel, shown)
    path = tmp_path / "rows.csv"
    job = panel.answer.table.export(path)
    # Not `finished`: the thread emits it itself, perhaps already.
    with qtbot.waitSignal(job.succeeded, timeout=60_000):
        pass
    lines = path.read_text("utf-8").splitlines()
    assert lines[0] == "ts,dur,size"
    assert len(lines) == 1 + KERNELS - KERNELS // 4
    assert lines[1].split(",")[2] == ""  # NULL
    queries = panel.document.queries
    queries.save("long kernels", panel.editor.sql)
    run(qtbot, panel, "SELECT 1 AS one")
    menu = panel.saved_button.menu()
    assert menu is not None
    menu.aboutToShow.emit()
    next(action for action in menu.actions() if action.text() == "long kernels").trigger()
    assert panel.editor.sql.startswith("SELECT ts, dur, CASE")


def test_without_duckdb_the_panel_says_what_to_install(
    window: MainWindow, page: CapturePage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.util.find_spec

    def find_spec(name: str, package: str | None = None) -> Any:
        return None if name == "duckdb" else real(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    panel = panel_of(qtbot, window, "query", QueryPanel)
    assert install_command("sql") in panel.problem.text()
