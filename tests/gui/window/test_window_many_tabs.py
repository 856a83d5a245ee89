"""Many tabs: the one in front keeps its title, a menu lists them all."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow

OpenPage = Callable[[Path], CapturePage]


def test_the_tab_in_front_is_whole_and_a_menu_lists_all(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, tmp_path: Path
) -> None:
    assert not window.tabs.list_button.isVisible()
    names = [f"a_run_with_a_long_name_{number}.h5" for number in range(7)]
    for name in names:
        shutil.copy(sample, tmp_path / name)
        open_page(tmp_path / name)
    window.resize(900, 700)
    bar, front = window.tabs.tabBar(), window.tabs.currentIndex()
    assert bar.tabText(front) == names[-1]
    assert bar.tabRect(front).width() > bar.fontMetrics().horizontalAdvance(names[-1])
    assert bar.rect().contains(bar.tabRect(front).center())
    qtbot.mouseClick(window.tabs.list_button, Qt.MouseButton.LeftButton)
    (menu,) = [menu for menu in window.tabs.findChildren(QMenu) if menu.isVisible()]
    assert [entry.text() for entry in menu.actions()] == names
    assert [entry.isChecked() for entry in menu.actions()] == [False] * 6 + [True]
    menu.actions()[0].trigger()
    menu.close()
    assert bar.tabText(window.tabs.currentIndex()) == names[0]
    assert bar.rect().contains(bar.tabRect(0).center())
