"""The timeline's keys act wherever the keyboard is, unless text is being typed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QAbstractItemView, QLineEdit, QTabBar, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow

OpenPage = Callable[[Path], CapturePage]
MOTIONS = [Qt.Key.Key_W, Qt.Key.Key_D]


def focused(qtbot: QtBot, widget: QWidget) -> QWidget:
    """The widget, with the keyboard."""
    widget.setFocus()
    qtbot.waitUntil(widget.hasFocus, timeout=60_000)
    return widget


def table_of(qtbot: QtBot, window: MainWindow, panel: str) -> QAbstractItemView:
    """The table of a panel, with something in it."""
    window.panels.show_panel(panel)
    qtbot.waitUntil(lambda: window.panels.is_settled, timeout=60_000)
    shown = window.panels.panel(panel)
    assert shown is not None
    return next(
        table
        for table in shown.findChildren(QAbstractItemView)
        if table.isVisible() and table.model() is not None and table.model().rowCount()
    )


@pytest.mark.parametrize("panel", ["events", "summary"])
@pytest.mark.parametrize("key", MOTIONS)
def test_held_keys_move_the_timeline_after_a_click_in_a_table(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, panel: str, key: Qt.Key
) -> None:
    page = open_page(sample)
    table = table_of(qtbot, window, panel)
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(60, 12))
    qtbot.waitUntil(table.hasFocus, timeout=60_000)
    page.document.state.set_view(40_000_000, 60_000_000)
    qtbot.keyPress(table, key)
    assert page.document.state.view != (40_000_000, 60_000_000)
    assert page.view.held.is_moving
    qtbot.keyRelease(table, key)
    assert not page.view.held.is_moving


def test_arrows_stay_with_the_table(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    table = focused(qtbot, table_of(qtbot, window, "events"))
    assert isinstance(table, QAbstractItemView)
    table.setCurrentIndex(table.model().index(0, 0))
    before = page.document.state.view
    qtbot.keyClick(table, Qt.Key.Key_Down)
    assert table.currentIndex().row() == 1
    assert page.document.state.view == before


def test_every_key_acts_from_a_button_and_a_tab(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    tabs = next(bar for bar in window.panels.widget.findChildren(QTabBar) if bar.isVisible())
    button = next(found for found in window.panels.widget.findChildren(QToolButton) if found.isVisible())
    for widget in (tabs, button):
        widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        focused(qtbot, widget)
        for key in (Qt.Key.Key_W, Qt.Key.Key_S, Qt.Key.Key_A, Qt.Key.Key_D, Qt.Key.Key_Up):
            page.document.state.set_view(40_000_000, 60_000_000)
            qtbot.keyPress(widget, key)
            assert page.document.state.view != (40_000_000, 60_000_000), (widget, key)
            qtbot.keyRelease(widget, key)
            assert not page.view.held.is_moving
        qtbot.keyClick(widget, Qt.Key.Key_Home)
        assert page.document.state.view[0] == 0


def test_typing_is_left_alone(qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path) -> None:
    page = open_page(sample)
    search = focused(qtbot, window.tool_row.search)
    assert isinstance(search, QLineEdit)
    before = page.document.state.view
    qtbot.keyClicks(search, "wasd")
    assert search.text() == "wasd"
    assert page.document.state.view == before


def test_a_key_that_is_down_does_not_go_on_in_another_widget(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    table = focused(qtbot, table_of(qtbot, window, "summary"))
    qtbot.keyPress(table, Qt.Key.Key_W)
    assert page.view.held.is_moving
    focused(qtbot, window.tool_row.search)
    assert not page.view.held.is_moving
