"""Menus by keyboard: every entry has a mnemonic in every language, and Alt opens the menu bar."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu, QMenuBar
from pytestqt.qtbot import QtBot

from warpline import i18n
from warpline_app.commands.mnemonics import letters_of, with_mnemonic
from warpline_app.remembered.settings import Settings
from warpline_app.window.main_window import MainWindow


@pytest.fixture(params=["en", "zh_CN"])
def spoken(request: pytest.FixtureRequest, settings: Settings) -> Iterator[MainWindow]:
    i18n.install(request.param)
    window = MainWindow(settings)
    yield window
    window.close()
    i18n.use(None)


def marked(text: str) -> str:
    """The letter that a text of a menu marks."""
    found: list[str] = re.findall(r"&([^&])", text.replace("&&", ""))
    assert len(found) == 1, text
    return found[0].upper()


def menus_of(menu: QMenu | QMenuBar) -> Iterator[QMenu | QMenuBar]:
    yield menu
    for action in menu.actions():
        below = action.menu()
        if isinstance(below, QMenu) and below.objectName() != "recent":
            yield from menus_of(below)


def test_every_menu_entry_has_a_unique_mnemonic(spoken: MainWindow) -> None:
    menus = list(menus_of(spoken.menuBar()))
    assert len(menus) > 8
    for menu in menus:
        letters = [marked(action.text()) for action in menu.actions() if not action.isSeparator()]
        assert len(set(letters)) == len(letters), [action.text() for action in menu.actions()]


def test_mnemonics_are_first_letters_where_possible() -> None:
    assert letters_of(["Open…", "Open recent", "Export…"]) == ["O", "R", "E"]
    assert letters_of(["A", "AA", "AAA"]) == ["A", "B", "C"]
    assert with_mnemonic("Open…\tCtrl+O", "O") == "&Open…\tCtrl+O"
    assert with_mnemonic("打开…\tCtrl+O", "O") == "打开(&O)…\tCtrl+O"
    assert with_mnemonic("Pan && Scroll", "S") == "Pan && &Scroll"


def test_alt_and_a_letter_open_a_menu(qtbot: QtBot, window: MainWindow) -> None:
    bar = window.menuBar()
    qtbot.keyClick(window, Qt.Key.Key_V, Qt.KeyboardModifier.AltModifier)
    menu = window.menus["View"]
    qtbot.waitUntil(menu.isVisible, timeout=60_000)
    qtbot.keyClick(menu, Qt.Key.Key_Escape)
    assert not menu.isVisible()
    assert bar.actions()[0].text() == "&File"


def test_the_window_fits_a_screen_of_1024_pixels(qtbot: QtBot, spoken: MainWindow, sample: Path) -> None:
    with qtbot.waitSignal(spoken.tabs.page_opened, timeout=60_000):
        spoken.workspace.open_file(sample)
    spoken.show()
    state = spoken.workspace.current.state  # type: ignore[union-attr]
    state.select_range(0, 50_000_000)
    spoken.workspace.messages.show("a very long problem " * 40, "error", "details")
    spoken.workspace.tell("a very long sentence " * 40)
    qtbot.waitUntil(lambda: spoken.panels.is_settled, timeout=60_000)
    assert spoken.minimumSizeHint().width() <= 1024
    spoken.resize(1024, 700)
    assert spoken.width() == 1024
