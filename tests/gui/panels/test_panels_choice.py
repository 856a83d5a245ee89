"""What has nothing in a capture stands back: tabs behind a button, tables at the end of their list."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import OpenPage, panel_of, settle

from warpline_app.panels.summary.panel import SummaryPanel
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow


@pytest.fixture
def page(window: MainWindow, open_page: OpenPage, sample: Path) -> CapturePage:
    return open_page(sample)


def shown_tabs(window: MainWindow) -> list[str]:
    host = window.panels.bottom
    return [spec.id for place, spec in enumerate(host.specs) if host.tabs.isTabVisible(place)]


def behind_the_button(window: MainWindow) -> dict[str, str]:
    """Ids by their texts in the menu."""
    host = window.panels.bottom
    host.more.menu().aboutToShow.emit()
    texts = [action.text() for action in host.more.menu().actions() if not action.isSeparator()]
    return {text: next(spec.id for spec in host.specs if spec.text == text) for text in texts}


def test_panels_without_data_stand_back_and_come_when_they_are_called(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    window.resize(1800, 800)
    settle(qtbot, window)
    host = window.panels.bottom
    assert not page.document.console_text
    assert "console" not in shown_tabs(window)
    assert "summary" in shown_tabs(window)
    assert host.more.isVisible()
    assert "Console" in host.more.toolTip()
    back = behind_the_button(window)
    assert set(back.values()) == {spec.id for spec in host.specs} - set(shown_tabs(window))
    next(action for action in host.more.menu().actions() if action.text() == "Console").trigger()
    assert host.current_id == "console"
    assert "console" in shown_tabs(window)
    host.raise_panel("summary")
    assert "console" not in shown_tabs(window), "it goes back when nobody looks at it"
    window.panels.show_panel("console")
    assert window.panels.is_in_front("console"), "a key or the menu brings it as ever"


def test_a_narrow_window_shows_fewer_tabs_and_abridges_none(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    host = window.panels.bottom
    window.resize(1800, 800)
    settle(qtbot, window)
    wide = shown_tabs(window)
    window.resize(1024, 700)
    qtbot.waitUntil(lambda: len(shown_tabs(window)) < len(wide), timeout=60_000)
    narrow = shown_tabs(window)
    assert narrow == wide[: len(narrow)]
    assert len(narrow) >= 4
    for place in range(host.tabs.count()):
        if host.tabs.isTabVisible(place):
            assert host.tabs.tabRect(place).width() >= host.tabs.tabSizeHint(place).width()
    last = wide[-1]
    host.raise_panel(last)
    assert last in shown_tabs(window)


def test_tables_without_data_are_folded_at_the_end_of_the_list(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = panel_of(qtbot, window, "summary", SummaryPanel)
    choice = panel.report
    qtbot.mouseClick(choice, Qt.MouseButton.LeftButton)
    assert choice.list.isVisible()
    names = choice.list.names
    assert "kernel" in names
    assert "memory" not in page.document.capture.kinds
    assert "memory" not in names, "folded away"
    last = choice.list.tree.topLevelItem(choice.list.tree.topLevelItemCount() - 1)
    assert last is not None
    assert last.text(0) == f"Not in this capture ({last.childCount()})"
    assert len(names) + last.childCount() > 40
    assert not last.isExpanded()
    qtbot.keyClicks(choice.list.search, "memory alloc")
    assert choice.list.names == ["memory"], "a search finds it all the same"
    qtbot.keyClick(choice.list.search, Qt.Key.Key_Return)
    assert not choice.list.isVisible()
    assert panel.report.current == "memory"
    qtbot.waitUntil(panel.missing.isVisible, timeout=60_000)
    assert panel.missing.text()


def test_the_list_is_walked_with_the_arrows(qtbot: QtBot, window: MainWindow, page: CapturePage) -> None:
    choice = panel_of(qtbot, window, "summary", SummaryPanel).report
    choice.setFocus()
    qtbot.keyClick(choice, Qt.Key.Key_Space)
    assert choice.list.isVisible()
    names = choice.list.names
    at = names.index(choice.current)
    qtbot.keyClick(choice.list.search, Qt.Key.Key_Down)
    qtbot.keyClick(choice.list.search, Qt.Key.Key_Return)
    assert choice.current == names[at + 1]
