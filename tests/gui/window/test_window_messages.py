"""The message line above the timeline: its height, its order, its buttons, and when messages disappear."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from warpline_app.open.written_files import show_written
from warpline_app.panels.events.panel import EventsPanel
from warpline_app.window import message_bars
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow
from warpline_app.window.message_bars import MessageBar

OpenPage = Callable[[Path], CapturePage]
LEFT = Qt.MouseButton.LeftButton


def seen(window: MainWindow) -> list[MessageBar]:
    """The bars that are on the screen."""
    return [bar for bar in window.message_bars.bars if bar.isVisible()]


def button(bar: MessageBar, title: str) -> QPushButton:
    """A button of a bar."""
    return next(found for found in bar.findChildren(QPushButton) if found.text() == title)


def test_messages_move_the_timeline_by_one_line_at_most(
    window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    before = page.view.mapTo(window, QPoint(0, 0)).y()
    messages = window.workspace.messages
    messages.show("a capture was written", "info")
    QApplication.processEvents()
    one_line = page.view.mapTo(window, QPoint(0, 0)).y() - before
    assert 0 < one_line <= 40
    messages.show("the first problem: " + "far too long for one line " * 30, "warning", "details\n" * 30)
    messages.show("the second problem", "error")
    messages.show("another capture was written", "info")
    QApplication.processEvents()
    assert page.view.mapTo(window, QPoint(0, 0)).y() - before == one_line
    # The gravest is read first; how many more there are is said.
    assert [bar.text for bar in seen(window)] == ["the second problem"]
    assert button(seen(window)[0], "3 more").isVisible()
    menu = window.message_bars.show_list()
    texts = [action.text() for action in menu.actions() if not action.isSeparator()]
    assert texts[0] == "another capture was written"
    assert len(texts) == 4
    menu.actions()[1].trigger()
    assert seen(window)[0].text.startswith("the first problem")
    assert seen(window)[0].details.isVisible()
    seen(window)[0].show_details()
    (text,) = (edit for edit in seen(window)[0].findChildren(QPlainTextEdit) if edit.isVisible())
    assert "details" in text.toPlainText()
    assert page.view.mapTo(window, QPoint(0, 0)).y() - before == one_line
    text.window().close()
    menu.actions()[-1].trigger()
    assert not window.message_bars.isVisible()


def test_success_messages_disappear_and_problems_stay(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = window.workspace.messages
    messages.show("a problem", "error")
    messages.show("a capture was written", "info")
    behind = next(bar for bar in window.message_bars.bars if bar.message.level == "info")
    assert not behind.isVisible()
    assert not behind.passing.isActive(), "nobody sees it yet: what it offers is not taken away"
    messages.dismiss(seen(window)[0].message)
    assert seen(window) == [behind]
    assert behind.passing.isActive()
    messages.show("a second problem", "error")
    assert not behind.passing.isActive(), "its time starts anew when it is seen anew"
    messages.dismiss(seen(window)[0].message)
    assert behind.passing.isActive()
    monkeypatch.setattr(message_bars, "PASSING_MS", 1)
    messages.clear()
    messages.show("a problem that stays", "warning")
    messages.show("another capture was written", "info")
    behind = next(bar for bar in window.message_bars.bars if bar.message.level == "info")
    with qtbot.waitSignal(messages.rowsRemoved):
        window.message_bars.show_list().actions()[0].trigger()
    assert [message.text for message in messages.all] == ["a problem that stays"]


def test_a_second_click_cannot_dismiss_the_next_message(qtbot: QtBot, window: MainWindow) -> None:
    messages = window.workspace.messages
    for text in ("first", "second", "third"):
        messages.show(text, "warning")
    window.message_bars._hold.setInterval(3_600_000)  # the test's clock is the pointer alone
    (bar,) = seen(window)
    assert bar.text == "third"
    place = bar.close_button.mapTo(window, bar.close_button.rect().center())
    qtbot.mouseClick(bar.close_button, LEFT)
    # A second click at once meets what was clicked before, and nothing else.
    there = window.childAt(place)
    assert there is None or not there.isEnabled()
    crosses = [found for found in window.message_bars.findChildren(QToolButton) if found.isVisible()]
    assert crosses == [bar.close_button]
    assert len(messages.all) == 3
    messages.show("fourth", "error")
    assert seen(window) == [bar], "what comes meanwhile waits as well"
    QApplication.sendEvent(window.message_bars, QEvent(QEvent.Type.Leave))
    assert [message.text for message in messages.all] == ["fourth", "second", "first"]
    assert [bar.text for bar in seen(window)] == ["fourth"]
    assert seen(window)[0].close_button.isEnabled()


def test_a_written_file_can_be_opened_or_shown_in_its_folder(
    qtbot: QtBot,
    window: MainWindow,
    open_page: OpenPage,
    sample: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    open_page(sample)
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    window.panels.show_panel("events")
    qtbot.waitUntil(lambda: window.panels.is_settled, timeout=20_000)
    panel = window.panels.panel("events")
    assert isinstance(panel, EventsPanel)
    with qtbot.waitSignal(window.workspace.messages.rowsInserted):
        panel.table.export(tmp_path / "events.csv")
    (bar,) = seen(window)
    assert bar.text == f"Wrote {tmp_path / 'events.csv'}"
    qtbot.mouseClick(button(bar, "Show in folder"), LEFT)
    assert opened == [QUrl.fromLocalFile(str(tmp_path))]
    assert not window.message_bars.isVisible(), "it has done what it was there for"
    chosen: list[Path] = []
    show_written(window.workspace.messages, tmp_path / "part.h5", open_it=chosen.append)
    qtbot.mouseClick(button(seen(window)[0], "Open"), LEFT)
    assert chosen == [tmp_path / "part.h5"]


def test_resetting_the_rows_can_be_undone(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    state = open_page(sample).document.state
    state.set_pins(["gpu/0"])
    state.set_hidden(["process/71.1"])
    assert window.commands.run("view.reset_layout")
    assert not state.pins
    qtbot.mouseClick(button(seen(window)[0], "Undo"), LEFT)
    assert list(state.pins) == ["gpu/0"]
    assert set(state.hidden) == {"process/71.1"}
