"""Commands run the same way whatever invokes them; a refused command shows the reason in the status line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot
from tests.gui.sample import MS

from warpline_app.dialogs.palette import CommandPalette
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow

OpenPage = Callable[[Path], CapturePage]
Ask = Callable[[QtBot, MainWindow, CapturePage], None]
COMMAND = "view.zoom_range"
REFUSAL = "Zoom to selected range: Select a time range first"


def entry_of(menu: QMenu, command_id: str) -> QAction:
    for action in menu.actions():
        below = action.menu()
        if action.objectName() == command_id:
            return action
        if isinstance(below, QMenu):
            try:
                return entry_of(below, command_id)
            except LookupError:
                pass
    raise LookupError(command_id)


def by_key(qtbot: QtBot, window: MainWindow, _page: CapturePage) -> None:
    qtbot.keyClick(window, Qt.Key.Key_Z)


def by_menu(_qtbot: QtBot, window: MainWindow, page: CapturePage) -> None:
    # The menu is open, and what the entry needs goes meanwhile: Qt triggers no entry that is greyed out.
    selected = page.document.state.range_selection
    page.document.state.select_range(0, MS)
    window.menus["View"].aboutToShow.emit()
    entry = entry_of(window.menus["View"], COMMAND)
    assert entry.isEnabled()
    page.document.state.select_range(*selected) if selected else page.document.state.select_range(None)
    entry.trigger()


def by_context_menu(_qtbot: QtBot, _window: MainWindow, page: CapturePage) -> None:
    state, canvas = page.document.state, page.view.canvas
    selected = state.range_selection
    state.select_range(0, MS)
    point = QPoint(canvas.width() // 2, canvas.height() - 3)
    QApplication.sendEvent(
        canvas, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, point, canvas.mapToGlobal(point))
    )
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    entry = entry_of(menu, COMMAND)
    assert entry.text() == "Zoom to selected range\tZ"
    state.select_range(*selected) if selected else state.select_range(None)
    entry.trigger()
    menu.close()


def by_palette(qtbot: QtBot, window: MainWindow, _page: CapturePage) -> None:
    window.commands.run("help.palette")
    palette = window.findChild(CommandPalette)
    assert palette is not None
    qtbot.keyClicks(palette.input, "zoom to selected range")
    assert palette.titles[0] == "Zoom to selected range"
    qtbot.keyClick(palette.input, Qt.Key.Key_Return)


@pytest.mark.parametrize("ask", [by_key, by_menu, by_context_menu, by_palette])
def test_a_refused_command_shows_the_reason(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, ask: Ask
) -> None:
    page = open_page(sample)
    before = page.document.state.view
    with qtbot.waitSignal(window.commands.refused, timeout=60_000) as refused:
        ask(qtbot, window, page)
    assert refused.args == [COMMAND]
    assert window.status_line.message == REFUSAL
    assert page.document.state.view == before


@pytest.mark.parametrize("ask", [by_key, by_menu, by_context_menu, by_palette])
def test_a_command_that_runs_clears_the_reason(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, ask: Ask
) -> None:
    page = open_page(sample)
    window.commands.run(COMMAND)
    assert window.status_line.message == REFUSAL
    page.document.state.select_range(10 * MS, 20 * MS)
    with qtbot.waitSignal(window.commands.ran, timeout=60_000, check_params_cb=lambda name: name == COMMAND):
        ask(qtbot, window, page)
    assert window.status_line.message == ""
    assert page.document.state.view == (10 * MS, 20 * MS)


def test_a_held_key_is_refused_without_a_timeline(qtbot: QtBot, window: MainWindow) -> None:
    with qtbot.waitSignal(window.commands.refused, timeout=60_000) as refused:
        qtbot.keyClick(window, Qt.Key.Key_W)
    assert refused.args == ["view.zoom_in"]
    assert window.status_line.message == "Zoom in: Open a capture first"


def test_a_held_key_moves_until_released(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    ran: list[str] = []
    window.commands.ran.connect(ran.append)
    qtbot.keyPress(page.view, Qt.Key.Key_W)
    assert ran == ["view.zoom_in"]
    first = page.document.state.view
    qtbot.waitUntil(lambda: page.document.state.view != first, timeout=60_000)
    qtbot.keyRelease(page.view, Qt.Key.Key_W)
    assert not page.view.held.is_moving
    assert ran == ["view.zoom_in"]


def test_a_disabled_button_shows_the_reason_also_for_a_late_press(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    button = window.tool_row.buttons["view.undo"]
    assert not button.isEnabled()
    assert button.toolTip() == "Nothing to undo"
    page.document.state.set_view(0, MS)
    assert button.isEnabled()
    assert button.toolTip() == "Undo zoom (Backspace)"
    page.document.state.blockSignals(True)  # the tool row does not hear of it
    page.document.state.undo()
    page.document.state.blockSignals(False)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert window.status_line.message == "Undo: Nothing to undo"


def test_switching_tabs_clears_the_status_message(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    window.commands.run(COMMAND)
    assert window.status_line.message == "Zoom to selected range: Open a capture first"
    open_page(sample)
    assert window.status_line.message == ""


def test_a_disabled_entry_shows_the_reason(window: MainWindow, open_page: OpenPage, sample: Path) -> None:
    open_page(sample)
    window.menus["View"].aboutToShow.emit()
    entry = entry_of(window.menus["View"], COMMAND)
    assert not entry.isEnabled()
    assert entry.toolTip() == "Select a time range first"
