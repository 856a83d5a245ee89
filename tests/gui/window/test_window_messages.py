"""The message line over the timeline: its height, its order, its buttons, and when messages disappear."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, QSize, Qt, QUrl
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


def test_messages_lie_over_the_timeline_and_never_move_it(
    window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)

    def place() -> tuple[QPoint, QSize]:
        return page.view.mapTo(window, QPoint(0, 0)), page.view.size()

    before = place()
    messages = window.workspace.messages
    messages.show("a capture was written", "info")
    QApplication.processEvents()
    assert place() == before
    line = window.message_bars.geometry()
    assert line.height() <= 40
    # It is seen: its pixels are those of the bar, at the bottom of the tab.
    middle = window.message_bars.mapTo(window, line.center() - line.topLeft())
    there = window.childAt(middle)
    assert there is not None
    assert window.message_bars.isAncestorOf(there)
    messages.show("the first problem: " + "far too long for one line " * 30, "warning", "details\n" * 30)
    messages.show("the second problem", "error")
    messages.show("another capture was written", "info")
    QApplication.processEvents()
    assert place() == before
    assert window.message_bars.height() == line.height()
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
    assert place() == before
    text.window().close()
    menu.actions()[-1].trigger()
    assert not window.message_bars.isVisible()


def test_messages_belong_to_their_tab(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, tmp_path: Path
) -> None:
    window.workspace.messages.show("of the start page", "error")
    first = open_page(sample)
    assert not seen(window)
    copied = tmp_path / "copy.h5"
    copied.write_bytes(sample.read_bytes())
    second = open_page(copied)
    first.document.messages.show("of the first", "error")
    second.document.messages.show("of the second", "warning")
    assert [bar.text for bar in seen(window)] == ["of the second"]
    assert not seen(window)[0].more.isVisible()
    first.document.messages.show("written", "info")
    qtbot.keyClick(window, Qt.Key.Key_Tab, Qt.KeyboardModifier.ControlModifier)
    assert window.workspace.current is first.document
    assert [bar.text for bar in seen(window)] == ["of the first"]
    window.message_bars.show_list().actions()[-1].trigger()
    assert not seen(window)
    window.workspace.close(first.document)
    assert [bar.text for bar in seen(window)] == ["of the second"]
    window.workspace.close(second.document)
    assert [message.text for message in window.workspace.messages.all] == ["of the start page"]
    assert [bar.text for bar in seen(window)] == ["of the start page"]


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
    with qtbot.waitSignal(messages.rowsRemoved, timeout=60_000):
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
    qtbot.waitUntil(lambda: window.panels.is_settled, timeout=60_000)
    panel = window.panels.panel("events")
    assert isinstance(panel, EventsPanel)
    with qtbot.waitSignal(window.workspace.messages.rowsInserted, timeout=60_000):
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
