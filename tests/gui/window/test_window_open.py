"""Opening captures: command, key, recent list, drop, several tabs, broken and foreign files."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QHelpEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QToolTip
from pytestqt.qtbot import QtBot

from warpline_app.dialogs.palette import CommandPalette
from warpline_app.remembered.settings import Settings
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow, open_windows
from warpline_app.window.opening_page import OpeningPage
from warpline_app.window.run_window import tell_failures

OpenPage = Callable[[Path], CapturePage]


def test_an_empty_window_explains_how_to_begin(window: MainWindow) -> None:
    assert window.welcome.isVisible()
    assert not window.welcome.recent_cards
    assert not window.tool_row.search.isEnabled()
    assert not window.tool_row.buttons["view.fit"].isEnabled()


def test_a_capture_opens_with_its_summary_and_what_is_not_recorded(
    window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    assert window.tabs.current_page is page
    assert page.view.hasFocus()
    assert window.tool_row.summary.text() == "sample.h5 · H100 · 100 ms · 140 events"
    assert window.status_line.missing_text == "nvml not recorded: no NVIDIA driver"
    assert window.windowTitle() == "sample.h5 — Warpline"
    assert page.document.state.view == (0, 100_000_000)


def test_the_status_line_tells_the_keys_that_help_now_and_leads_to_what_is_missing(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    state = open_page(sample).document.state
    assert "W/S zoom" in window.status_line.hints
    state.select(0)
    assert "follow links" in window.status_line.hints
    assert "W/S zoom" not in window.status_line.hints
    state.select_range(0, 1_000_000)
    assert "Z zoom to range" in window.status_line.hints
    state.select_range(None)
    state.select(None)
    assert "W/S zoom" in window.status_line.hints
    missing = missing_label(window)
    qtbot.mouseClick(missing, Qt.MouseButton.LeftButton)
    assert window.panels.is_in_front("sources")


def test_the_status_line_gives_the_reason_of_a_missing_source_under_the_pointer(
    window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    open_page(sample)
    missing = missing_label(window)
    place = missing.rect().center()
    pointing = QHelpEvent(QEvent.Type.ToolTip, place, missing.mapToGlobal(place))
    QApplication.sendEvent(missing, pointing)
    assert QToolTip.text() == missing.toolTip() == "GPU counters: no NVIDIA driver"
    QToolTip.hideText()


def missing_label(window: MainWindow) -> QLabel:
    """The part of the status line about what was not recorded."""
    return next(
        label
        for label in window.status_line.findChildren(QLabel)
        if label.text() == window.status_line.missing_text
    )


def test_open_asks_for_files_and_opens_all_that_were_chosen(
    qtbot: QtBot, window: MainWindow, sample: Path, tmp_path: Path
) -> None:
    other = Path(shutil.copy(sample, tmp_path / "other.h5"))
    qtbot.keyClick(window, Qt.Key.Key_O, Qt.KeyboardModifier.ControlModifier)
    dialog = window.findChild(QFileDialog)
    assert dialog is not None
    assert dialog.isVisible()
    dialog.filesSelected.emit([str(sample), str(other)])
    dialog.close()
    qtbot.waitUntil(lambda: len(window.tabs.pages) == 2, timeout=60_000)
    assert [page.document.source.name for page in window.tabs.pages] == ["sample.h5", "other.h5"]
    assert window.workspace.settings.last_folder == str(sample.parent)


def test_a_file_that_is_open_comes_to_the_front(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, tmp_path: Path
) -> None:
    first = open_page(sample)
    open_page(Path(shutil.copy(sample, tmp_path / "second.h5")))
    window.workspace.open_file(sample)
    assert window.tabs.current_page is first
    assert len(window.tabs.pages) == 2


def test_recent_files_are_offered_and_open_again(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, tmp_path: Path
) -> None:
    gone = Path(shutil.copy(sample, tmp_path / "gone.h5"))
    open_page(gone)
    open_page(sample)
    assert window.workspace.settings.recent_files == [sample, gone]
    qtbot.keyClick(window, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClick(window, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    assert window.welcome.isVisible()
    gone.unlink()
    window.welcome.set_recent(window.workspace.settings.recent_files)
    (button,) = window.welcome.recent_cards
    with qtbot.waitSignal(window.tabs.page_opened, timeout=60_000):
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert window.tabs.pages[0].document.source == sample
    menu = window.menus["File"]
    menu.aboutToShow.emit()
    recent = [action.text() for action in window._recent.actions() if action.text()]
    assert recent[:2] == [str(sample), str(gone)]
    assert not next(action for action in window._recent.actions() if action.text() == str(gone)).isEnabled()


def drop(window: MainWindow, paths: list[Path]) -> bool:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    copy, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(400, 300), copy, data, left, none)
    QApplication.sendEvent(window, enter)
    QApplication.sendEvent(window, QDropEvent(QPointF(400, 300), copy, data, left, none))
    return enter.isAccepted()


def test_dropped_files_open(qtbot: QtBot, window: MainWindow, sample: Path, tmp_path: Path) -> None:
    other = Path(shutil.copy(sample, tmp_path / "b.h5"))
    assert drop(window, [sample, other])
    qtbot.waitUntil(lambda: len(window.tabs.pages) == 2, timeout=60_000)


def test_dropped_text_is_refused(window: MainWindow) -> None:
    data = QMimeData()
    data.setText("no file")
    event = QDragEnterEvent(
        QPoint(5, 5),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(window, event)
    assert not event.isAccepted()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.h5", b"", "the file is empty"),
        (
            "text.h5",
            b"hello, this is no capture\n" * 50,
            "text.h5: unknown format: text that is not a profile. Warpline imports ",
        ),
        ("cut.h5", None, "cut.h5"),
        ("missing.h5", None, "No such file"),
    ],
)
def test_a_broken_file_gives_a_bar_that_says_what_is_wrong(
    qtbot: QtBot,
    window: MainWindow,
    sample: Path,
    tmp_path: Path,
    name: str,
    content: bytes | None,
    said: str,
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    elif name == "cut.h5":
        path.write_bytes(sample.read_bytes()[: sample.stat().st_size // 2])
    with qtbot.waitSignal(window.workspace.open_failed, timeout=60_000):
        window.workspace.open_file(path)
    (bar,) = window.message_bars.bars
    assert bar.isVisible()
    assert str(path) in bar.text
    assert said in bar.text
    assert "\n" not in bar.text
    assert "Traceback" not in bar.text
    assert window.tabs.count() == 0
    assert path not in window.workspace.settings.recent_files
    bar.dismiss()
    assert not window.message_bars.isVisible()


def test_the_same_problem_is_shown_once(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    for _ in range(2):
        with qtbot.waitSignal(window.workspace.open_failed, timeout=60_000):
            window.workspace.open_file(tmp_path / "missing.h5")
    assert len(window.message_bars.bars) == 1


def test_a_foreign_trace_is_converted_once_and_opens_from_the_cache(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    trace = tmp_path / "trace.json"
    events = [
        {"ph": "X", "name": f"work {i}", "cat": "cpu", "pid": 1, "tid": 2, "ts": 10.0 * i, "dur": 5.0}
        for i in range(30)
    ]
    trace.write_text(json.dumps({"traceEvents": events}))
    for _ in range(2):
        with qtbot.waitSignal(window.tabs.page_opened, timeout=60_000):
            window.workspace.open_file(trace)
        page = window.tabs.pages[0]
        assert page.document.source == trace
        assert len(page.document.capture.events) == 30
        assert page.document.path != trace
        window.commands.run("file.close")
    assert len(list((tmp_path / "cache").rglob("*.h5"))) == 1
    assert window.workspace.settings.recent_files == [trace]


def test_opening_can_be_cancelled(qtbot: QtBot, window: MainWindow, sample: Path) -> None:
    window.workspace.open_file(sample)
    opening = window.tabs.currentWidget()
    assert isinstance(opening, OpeningPage)
    opening.cancel_requested.emit()
    assert window.tabs.count() == 0
    assert not window.workspace.is_opening
    assert window.welcome.isVisible()


def test_tabs_are_stepped_through_by_key(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, tmp_path: Path
) -> None:
    first = open_page(sample)
    second = open_page(Path(shutil.copy(sample, tmp_path / "second.h5")))
    assert window.tabs.current_page is second
    qtbot.keyClick(window, Qt.Key.Key_PageDown, Qt.KeyboardModifier.ControlModifier)
    assert window.tabs.current_page is first
    qtbot.keyClick(window, Qt.Key.Key_PageUp, Qt.KeyboardModifier.ControlModifier)
    assert window.tabs.current_page is second


def test_each_tab_keeps_its_own_view_and_search(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, tmp_path: Path
) -> None:
    first = open_page(sample)
    qtbot.keyClick(window, Qt.Key.Key_Slash)
    assert window.tool_row.search.hasFocus()
    qtbot.keyClicks(window.tool_row.search, "gemm")
    qtbot.waitUntil(lambda: window.tool_row.matches.text() == "30 results", timeout=60_000)
    first.document.state.set_view(0, 1_000_000)
    second = open_page(Path(shutil.copy(sample, tmp_path / "second.h5")))
    assert window.tool_row.search.text() == ""
    assert second.document.state.view == (0, 100_000_000)
    window.workspace.step(1)
    assert window.tool_row.search.text() == "gemm"
    assert first.document.state.view == (0, 1_000_000)


def test_a_new_window_stands_on_its_own(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    open_page(sample)
    qtbot.keyClick(
        window, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    )
    assert len(open_windows()) == 2
    assert open_windows()[1].welcome.isVisible()
    open_windows()[1].close()
    assert len(open_windows()) == 1
    assert window.tabs.current_page is not None


def test_closing_remembers_files_geometry_and_panels(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, settings: Settings
) -> None:
    open_page(sample)
    window.panels.show_panel("console", "right")
    window.panels.hide_panel("sources")
    window.resize(790, 610)
    window.close()
    assert settings.open_files == [sample]
    again = MainWindow(settings)
    with qtbot.waitExposed(again, timeout=60_000):
        again.show()
    assert (again.width(), again.height()) == (790, 610)
    assert not again.panels.is_shown("sources")
    assert [spec.id for spec in again.panels.right.specs] == ["details", "console"]
    again.close()


def test_the_capture_is_closed_with_its_tab(
    window: MainWindow, open_page: OpenPage, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page(sample)
    capture = page.document.capture
    closed: list[bool] = []
    close = capture.close

    def closing() -> None:
        closed.append(True)
        close()

    monkeypatch.setattr(capture, "close", closing)
    window.commands.run("file.close")
    assert closed == [True]
    assert window.welcome.isVisible()


def test_damage_that_opening_does_not_see_is_still_one_bar(
    qtbot: QtBot, window: MainWindow, sample: Path, tmp_path: Path
) -> None:
    content = bytearray(sample.read_bytes())
    at = content.find(b"registers_per_thread")
    assert at > 0
    content[at - 40 : at + 60] = bytes(100)
    path = tmp_path / "flipped.h5"
    path.write_bytes(content)
    with qtbot.waitSignal(window.workspace.open_failed, timeout=60_000):
        window.workspace.open_file(path)
    assert "flipped.h5" in window.message_bars.bars[0].text


def test_an_uncaught_exception_is_shown_in_the_window(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "excepthook", lambda *_error: None)
    tell_failures()
    try:
        raise RuntimeError("the flux is out of phase")
    except RuntimeError as error:
        sys.excepthook(RuntimeError, error, error.__traceback__)
    (bar,) = window.message_bars.bars
    assert "a defect in Warpline" in bar.text
    assert "the flux is out of phase" in bar.text


def test_a_capture_that_opens_leaves_the_keyboard_to_the_palette(
    qtbot: QtBot, window: MainWindow, sample: Path
) -> None:
    """What is typed meanwhile chooses a command, and does not act on the timeline."""
    qtbot.waitUntil(window.isActiveWindow, timeout=60_000)
    window.workspace.open_file(sample)
    window.show_palette()
    palette = window.findChild(CommandPalette)
    assert palette is not None
    qtbot.waitUntil(palette.input.hasFocus, timeout=60_000)
    qtbot.waitUntil(lambda: window.workspace.current is not None, timeout=60_000)
    assert palette.isVisible()
    assert palette.input.hasFocus()
    qtbot.keyClick(palette.input, Qt.Key.Key_Escape)
    assert not palette.isVisible()
