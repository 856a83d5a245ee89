"""Every verb comes from one list: menus, keys, palette, help sheet and the page of keys agree with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication, QDialog, QMenu, QMenuBar
from pytestqt.qtbot import QtBot

from warpline_app.commands.command import WindowCommand
from warpline_app.commands.keys import is_window_wide
from warpline_app.commands.menus import fill_menu_bar
from warpline_app.commands.runner import CommandRunner
from warpline_app.dialogs.help_sheet import HelpSheet
from warpline_app.dialogs.palette import CommandPalette
from warpline_app.look.appearance import appearance
from warpline_app.verbs.catalogue import all_commands
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.keys_page import keys_page
from warpline_app.window.main_window import MainWindow

OpenPage = Callable[[Path], CapturePage]


def entries(menu: QMenu) -> list[str]:
    found: list[str] = []
    for action in menu.actions():
        submenu = action.menu()
        if isinstance(submenu, QMenu):
            found += entries(submenu)
        elif action.objectName():
            found.append(action.objectName())
    return found


def test_ids_and_keys_are_unique() -> None:
    commands = all_commands()
    ids = Counter(command.id for command in commands)
    keys = Counter(QKeySequence(key).toString() for command in commands for key in command.keys)
    assert [name for name, count in ids.items() if count > 1] == []
    assert [key for key, count in keys.items() if count > 1] == []
    assert "" not in keys


def test_duplicate_command_ids_raise(window: MainWindow) -> None:
    command = WindowCommand("x", "X", "File", lambda _context: None)
    with pytest.raises(ValueError, match="'x'"):
        CommandRunner(window, window.context, (command, command))


def test_every_command_is_in_its_menu_once(window: MainWindow) -> None:
    shown = Counter(name for menu in window.menus.values() for name in entries(menu))
    wanted = {command.id for command in all_commands() if command.in_menu}
    themes = {command.id for command in all_commands() if command.id.startswith("theme.")}
    assert set(shown) == wanted | themes
    assert max(shown.values()) == 1


def test_menus_disable_unavailable_commands(window: MainWindow, open_page: OpenPage, sample: Path) -> None:
    def fit_enabled() -> bool:
        window.menus["View"].aboutToShow.emit()
        return next(a for a in window.menus["View"].actions() if a.objectName() == "view.fit").isEnabled()

    assert not fit_enabled()
    open_page(sample)
    assert fit_enabled()


def test_tables_and_buttons_keep_their_keys() -> None:
    assert not any(
        is_window_wide(key) for key in ("Ctrl+C", "Ctrl+A", "Return", "Space", "Up", "Shift+Left", "PgUp")
    )
    assert all(
        is_window_wide(key)
        for key in ("Ctrl+PgUp", "Ctrl+Tab", "F", ".", "Ctrl++", "+", "Ctrl+=", "?", "Esc")
    )


def test_a_key_of_an_unavailable_command_is_refused(qtbot: QtBot, window: MainWindow) -> None:
    with qtbot.waitSignal(window.commands.refused, timeout=60_000) as refused:
        qtbot.keyClick(window, Qt.Key.Key_F)
    assert refused.args == ["view.frame"]


def test_typing_into_the_search_box_runs_no_commands(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    window.tool_row.search.setFocus()
    before = page.document.state.view
    ran: list[str] = []
    window.commands.ran.connect(ran.append)
    qtbot.keyClicks(window.tool_row.search, "wasd fmp.,")
    assert window.tool_row.search.text() == "wasd fmp.,"
    assert page.document.state.view == before
    assert ran == []
    qtbot.keyClick(window.tool_row.search, Qt.Key.Key_Escape)
    assert window.tool_row.search.text() == ""
    qtbot.keyClick(window.tool_row.search, Qt.Key.Key_Escape)
    assert page.view.hasFocus()


@pytest.mark.parametrize(
    "command_id",
    ["file.open", "file.new_capture", "file.attach", "file.export", "view.preferences", "help.about"],
)
def test_closing_a_dialog_gives_the_keyboard_back(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, command_id: str
) -> None:
    page = open_page(sample)
    window.activateWindow()
    qtbot.waitUntil(page.view.hasFocus, timeout=60_000)
    window.commands.run(command_id)
    dialog = next(entry for entry in window.findChildren(QDialog) if entry.isVisible())
    qtbot.waitUntil(lambda: dialog.isAncestorOf(QApplication.focusWidget() or window), timeout=60_000)
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
    assert not dialog.isVisible()
    window.activateWindow()  # a window manager does so
    qtbot.waitUntil(page.view.hasFocus, timeout=60_000)


def test_search_steps_through_results(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    capture, state = page.document.capture, page.document.state
    qtbot.keyClick(window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    box = window.tool_row.search
    qtbot.keyClicks(box, "/^layer [02]/")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert window.tool_row.matches.text() == "1 of 8"
    assert page.view.hasFocus(), "the next key is for the timeline"
    assert state.selection is not None
    assert capture.event_span(state.selection)[0] == 10_000_000
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert state.selection is not None
    assert capture.event_span(state.selection)[0] == 20_000_000
    qtbot.keyClick(box, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(box, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert window.tool_row.matches.text() == "8 of 8"
    box.clear()
    qtbot.keyClicks(box, "/(/")
    qtbot.waitUntil(lambda: "invalid regular expression" in window.tool_row.matches.text(), timeout=60_000)


def test_the_palette_finds_and_runs(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    page.document.state.set_view(0, 1_000)
    modifiers = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    qtbot.keyClick(window, Qt.Key.Key_P, modifiers)
    palette = window.findChild(CommandPalette)
    assert palette is not None
    assert palette.isVisible()
    assert palette.input.hasFocus()
    qtbot.keyClicks(palette.input, "zoom to fit")
    assert palette.titles[0] == "Zoom to fit"
    qtbot.keyClick(palette.input, Qt.Key.Key_Return)
    assert page.document.state.view == page.document.state.span
    assert not palette.isVisible()
    assert page.view.hasFocus()


def test_arrows_move_in_the_palette_and_escape_closes_it(qtbot: QtBot, window: MainWindow) -> None:
    window.commands.run("help.palette")
    palette = window.findChild(CommandPalette)
    assert palette is not None
    first = palette.list.currentIndex().row()
    qtbot.keyClick(palette.input, Qt.Key.Key_Down)
    qtbot.keyClick(palette.input, Qt.Key.Key_Down)
    qtbot.keyClick(palette.input, Qt.Key.Key_Up)
    assert palette.list.currentIndex().row() == first + 1
    qtbot.keyClicks(palette.input, "no such thing")
    qtbot.keyClick(palette.input, Qt.Key.Key_Return)
    qtbot.keyClick(palette.input, Qt.Key.Key_Escape)
    assert not palette.isVisible()
    assert len(palette.titles) == 0


def test_the_palette_knows_other_words_and_what_was_run_last(qtbot: QtBot, window: MainWindow) -> None:
    def titles_for(text: str) -> list[str]:
        window.commands.run("help.palette")
        palette = next(child for child in window.findChildren(CommandPalette) if child.isVisible())
        qtbot.keyClicks(palette.input, text)
        assert palette.no_match.isVisible() is (text == "preferenzes")
        titles = palette.titles
        qtbot.keyClick(palette.input, Qt.Key.Key_Escape)
        return titles

    assert titles_for("bookmark")[:2] == ["Add mark", "Add note…"]
    assert titles_for("font size") == ["Preferences…"]
    assert titles_for("screenshot")[:2] == ["Export…", "Copy timeline as picture"]
    assert titles_for("preferenzes") == ["Preferences…"]
    window.commands.run("help.palette")
    palette = next(child for child in window.findChildren(CommandPalette) if child.isVisible())
    qtbot.keyClicks(palette.input, "full screen")
    qtbot.keyClick(palette.input, Qt.Key.Key_Return)
    assert titles_for("")[0] == "Full screen"


def test_quit_is_the_last_entry_and_panels_are_named_without_their_menu(window: MainWindow) -> None:
    runner = window.commands
    menus = fill_menu_bar(QMenuBar(window), runner)
    assert menus["File"].actions()[-1].objectName() == "file.quit"
    assert runner.text("panel.findings") == "Findings"


def test_every_command_is_in_the_palette(window: MainWindow) -> None:
    window.commands.run("help.palette")
    palette = window.findChild(CommandPalette)
    assert palette is not None
    assert sorted(palette.titles) == sorted(command.text for command in all_commands())


def test_the_help_sheet_lists_every_key(qtbot: QtBot, window: MainWindow) -> None:
    qtbot.keyClick(window, Qt.Key.Key_Question)
    sheet = window.findChild(HelpSheet)
    assert sheet is not None
    assert sheet.isVisible()
    shown = "\n".join(sheet.visible_texts)
    for command in all_commands():
        if command.keys:
            assert command.text.casefold() in shown
    qtbot.keyClicks(sheet.filter, "zoom ctrl")
    assert sheet.visible_texts
    assert all("zoom" in text and "ctrl" in text for text in sheet.visible_texts)


def test_the_page_of_keys_is_up_to_date(repository: Path) -> None:
    page = (repository / "docs" / "keys.md").read_text(encoding="utf-8")
    assert page == keys_page(all_commands()), "run: python scripts/write_keys.py"


def test_the_theme_changes_everywhere_and_is_remembered(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    colors = {}
    for name in ("dark", "light", "contrast", "contrast-light"):
        window.commands.run(f"theme.{name}")
        qtbot.waitUntil(lambda: page.view.is_idle and window.panels.is_settled, timeout=60_000)
        assert window.workspace.settings.theme == name
        image = window.grab().toImage()
        theme = appearance().theme
        colors[name] = image.pixelColor(3, window.height() - 4).name()
        assert colors[name] == theme.header
        # The empty canvas at the right end, above the lowest row's hairline.
        canvas = page.view.canvas
        corner = canvas.mapTo(window, canvas.rect().bottomRight())
        assert image.pixelColor(corner.x() - 2, corner.y() - 3).name() in {theme.canvas, theme.alternate}
    assert len(set(colors.values())) == 4
    assert window.commands.is_checked("theme.contrast-light")


@pytest.mark.parametrize("command_id", ["help.about", "view.preferences", "file.new_capture", "help.doctor"])
def test_dialogs_open_and_escape_closes_them(qtbot: QtBot, window: MainWindow, command_id: str) -> None:
    window.commands.run(command_id)
    (dialog,) = [d for d in QApplication.topLevelWidgets() if isinstance(d, QDialog) and d.isVisible()]
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_preferences_take_effect_at_once(qtbot: QtBot, window: MainWindow) -> None:
    from warpline_app.dialogs.preferences import show_preferences

    dialog = show_preferences(window.workspace.settings, window)
    dialog.theme.setCurrentIndex(dialog.theme.findData("light"))
    assert appearance().theme.name == "light"
    dialog.restore.click()
    dialog.language.setCurrentIndex(dialog.language.findData("zh_CN"))
    settings = window.workspace.settings
    assert (settings.theme, settings.restore_session, settings.language) == (
        "light",
        True,
        "zh_CN",
    )


def test_converted_files_have_a_limit_and_can_be_cleared(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from warpline.storage import ConversionCache
    from warpline_app.dialogs.preferences import show_preferences

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    trace = tmp_path / "trace.json"
    trace.write_text('[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":5}]')
    open_page(trace)
    cache = ConversionCache()
    assert cache.size_bytes() > 0
    dialog = show_preferences(window.workspace.settings, window)
    assert "in use" in dialog.cache_note.text()
    dialog.limit.setCurrentIndex(dialog.limit.findText("at most 5 GiB"))
    assert ConversionCache().max_bytes == 5 << 30
    qtbot.mouseClick(dialog.clear_button, Qt.MouseButton.LeftButton)
    assert cache.size_bytes() == 0
    assert dialog.cache_note.text() == "empty"
    assert not dialog.clear_button.isEnabled()
    assert window.tabs.current_page is not None, "what is open stays open"


def test_full_screen_and_quit(qtbot: QtBot, window: MainWindow) -> None:
    qtbot.keyClick(window, Qt.Key.Key_F11)
    assert window.isFullScreen()
    assert window.commands.is_checked("view.full_screen")
    qtbot.keyClick(window, Qt.Key.Key_F11)
    assert not window.isFullScreen()
    with qtbot.waitSignal(window.destroyed, timeout=60_000):
        qtbot.keyClick(window, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
