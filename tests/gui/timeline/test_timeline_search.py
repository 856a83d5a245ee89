"""Searching and filtering on the timeline."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.gui.timeline.timeline_tools import (
    SHIFT,
    STREAM,
    at,
    pixels,
    wait_idle,
)
from tests.gui.timeline_sample import MS, US

from warpline_app.timeline.widgets.view import TimelineView


def test_search_counts_steps_and_ticks(view: TimelineView, qtbot: QtBot) -> None:
    view.search.find_text("memcpy")
    assert view.search.text() == "4 results"
    assert len(view.overview.tick_columns) == 4
    for expected in (80, 82, 84, 90, 80):
        qtbot.keyClick(view, Qt.Key.Key_N)
        assert view.document.capture.event_span(view.state.selection or 0)[0] == expected * MS
    qtbot.keyClick(view, Qt.Key.Key_N, SHIFT)
    assert view.search.text() == "4 of 4"
    view.search.find_text("/(/")
    assert view.search.text() == "no results" or view.search.query.regex
    view.search.find_text("")
    assert not view.state.highlight
    assert len(view.overview.tick_columns) == 0


def test_a_search_in_a_worker_is_overtaken_by_the_next(
    view: TimelineView, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warpline_app.timeline.model.search.AT_ONCE", 0)
    view.search.find_text("gemm")
    assert view.search.is_running
    view.search.find_text("memcpy")
    qtbot.waitUntil(lambda: not view.search.is_running, timeout=60_000)
    QApplication.processEvents()
    assert len(view.search.result.rows) == 4
    wait_idle(qtbot, view)


def test_a_filter_dims_and_is_undone(view: TimelineView, qtbot: QtBot) -> None:
    point = at(view, STREAM, 80 * MS + 500 * US)
    view.state.change_filter(names="nccl")
    wait_idle(qtbot, view)
    dimmed = int(pixels(view.canvas)[point.y() + 4, point.x()])
    assert dimmed != view.theme.rgb("copy_to_device")
    qtbot.keyClick(view, Qt.Key.Key_Backspace)
    assert view.state.filter.is_empty
    wait_idle(qtbot, view)
    assert int(pixels(view.canvas)[point.y() + 4, point.x()]) == view.theme.rgb("copy_to_device")
