"""Aligning ranks: shifts by keyboard, undo, and saved shifts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QLineEdit
from pytestqt.qtbot import QtBot
from tests.unit.interchange.import_tools import rank_file

from warpline.interchange import import_files
from warpline.storage import Capture
from warpline_app.dialogs.align_ranks import AlignRanksDialog, parse_shift, shift_text, show_align_ranks
from warpline_app.dialogs.palette import CommandPalette, show_palette
from warpline_app.open import background
from warpline_app.open.joining import join_ranks
from warpline_app.remembered.settings import Settings
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow
from warpline_app.window.opening_page import OpeningPage

OpenPage = Callable[[Path], CapturePage]
KERNEL = "kernel of rank 1"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Two ranks whose steps end together; three kernels each."""
    return import_files([rank_file(tmp_path, 0, 100), rank_file(tmp_path, 1, 777_000)], tmp_path / "job.h5")


@pytest.fixture
def dialog(open_page: OpenPage, window: MainWindow, job: Path, qtbot: QtBot) -> AlignRanksDialog:
    open_page(job).view.setFocus()
    assert window.commands.run("analyze.align_ranks")
    made = window.findChild(AlignRanksDialog)
    assert made is not None
    qtbot.waitUntil(made.isVisible, timeout=60_000)
    return made


def kernel_times(capture: Capture, name: str = KERNEL) -> list[int]:
    names = capture.strings.get(capture.events.name.tolist())
    rows = [row for row, found in enumerate(names) if found == name]
    return sorted(capture.event_times(np.array(rows))[0].tolist())


def shown(window: MainWindow) -> CapturePage:
    page = window.tabs.current_page
    assert page is not None
    return page


def field_of(dialog: AlignRanksDialog, title: str) -> QLineEdit:
    return dialog.inputs[next(clock.index for clock in dialog.clocks if clock.title == title)]


def type_shift(qtbot: QtBot, field: QLineEdit, text: str) -> None:
    field.selectAll()
    qtbot.keyClicks(field, text)
    qtbot.keyClick(field, Qt.Key.Key_Return)


def test_typing_a_shift_moves_the_rank_and_its_picture(
    dialog: AlignRanksDialog, window: MainWindow, qtbot: QtBot
) -> None:
    before = shown(window)
    first = kernel_times(before.document.capture)
    image = before.view.picture()
    type_shift(qtbot, field_of(dialog, "Rank 1"), "250us")
    page = shown(window)
    qtbot.waitUntil(lambda: page.view.is_idle, timeout=60_000)
    assert kernel_times(page.document.capture) == [time + 250_000 for time in first]
    assert kernel_times(page.document.capture, "kernel of rank 0") == first
    assert page.view.picture() != image
    assert page.document.capture.span[1] == before.document.capture.span[1] + 250_000
    assert len(window.tabs.pages) == 1
    assert field_of(dialog, "Rank 1").text() == "250 µs"


def test_arrow_keys_move_by_one_unit_and_by_ten(
    dialog: AlignRanksDialog, window: MainWindow, qtbot: QtBot
) -> None:
    first = kernel_times(shown(window).document.capture)[0]
    field = field_of(dialog, "Rank 1")
    dialog.unit.setCurrentText("ns")
    for key, modifier in (
        (Qt.Key.Key_Up, Qt.KeyboardModifier.ShiftModifier),
        (Qt.Key.Key_Down, Qt.KeyboardModifier.NoModifier),
    ):
        qtbot.keyClick(field, key, modifier)
    qtbot.waitUntil(lambda: kernel_times(shown(window).document.capture)[0] == first + 9, timeout=60_000)
    assert field.text() == "9 ns"


def test_every_shift_can_be_undone_and_redone(
    dialog: AlignRanksDialog, window: MainWindow, qtbot: QtBot
) -> None:
    first = kernel_times(shown(window).document.capture)[0]
    field = field_of(dialog, "Rank 1")
    type_shift(qtbot, field, "-1ms")
    type_shift(qtbot, field, "2.5ms")

    def moved_by() -> int:
        return kernel_times(shown(window).document.capture)[0] - first

    assert moved_by() == 2_500_000
    qtbot.mouseClick(dialog.undo_button, Qt.MouseButton.LeftButton)
    assert moved_by() == -1_000_000
    qtbot.keyClick(field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert moved_by() == 0
    assert not dialog.undo_button.isEnabled()
    qtbot.mouseClick(dialog.redo_button, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(dialog.redo_button, Qt.MouseButton.LeftButton)
    assert moved_by() == 2_500_000
    qtbot.mouseClick(dialog.reset_button, Qt.MouseButton.LeftButton)
    assert moved_by() == 0


def test_view_and_selection_survive_a_shift(
    dialog: AlignRanksDialog, window: MainWindow, qtbot: QtBot
) -> None:
    state = shown(window).document.state
    state.set_view(100_000, 900_000)
    state.select(4)
    state.set_pins(["rank/1"])
    type_shift(qtbot, field_of(dialog, "Rank 1"), "1us")
    state = shown(window).document.state
    assert (state.view, state.selection, state.pins) == ((100_000, 900_000), 4, ("rank/1",))
    state.undo()
    assert (state.pins, state.view) == ((), (100_000, 900_000))
    state.undo()
    assert state.view != (100_000, 900_000)


def test_a_shift_is_remembered_for_this_capture(
    dialog: AlignRanksDialog, window: MainWindow, open_page: OpenPage, job: Path, qtbot: QtBot
) -> None:
    first = kernel_times(shown(window).document.capture)[0]
    type_shift(qtbot, field_of(dialog, "Rank 1"), "40us")
    window.commands.run("file.close")
    qtbot.waitUntil(lambda: not window.findChildren(AlignRanksDialog), timeout=60_000)
    page = open_page(job)
    assert kernel_times(page.document.capture)[0] == first + 40_000
    assert page.document.capture.clocks[2].method == "set by hand"


def test_damaged_settings_move_nothing(
    window: MainWindow, settings: Settings, open_page: OpenPage, job: Path
) -> None:
    from warpline.storage import open_capture

    with open_capture(job) as capture:
        first = kernel_times(capture)[0]
        settings.set_record(f"alignments/{capture.uuid}", {"rank 1": "soon", "rank 0": 1 << 70, "rank 9": 5})
    assert kernel_times(open_page(job).document.capture)[0] == first


def test_invalid_input_shifts_nothing_and_shows_why(
    dialog: AlignRanksDialog, window: MainWindow, qtbot: QtBot
) -> None:
    first = kernel_times(shown(window).document.capture)
    type_shift(qtbot, field_of(dialog, "Rank 1"), "soon")
    assert "Rank 1" in dialog.problem.text()
    assert "soon" in dialog.problem.text()
    assert kernel_times(shown(window).document.capture) == first


def test_a_capture_with_one_clock_disables_the_command(
    window: MainWindow, open_page: OpenPage, sample: Path, qtbot: QtBot
) -> None:
    open_page(sample)
    assert not window.commands.is_enabled("analyze.align_ranks")
    assert show_align_ranks(window.workspace, window) is None
    menu = window.menus["Analyze"]
    menu.aboutToShow.emit()
    entry = next(action for action in menu.actions() if action.objectName() == "analyze.align_ranks")
    assert not entry.isEnabled()
    assert "one clock" in entry.toolTip()
    palette = show_palette(window.commands, window.workspace.settings, window, window.focus_front)
    qtbot.keyClicks(palette.input, "align ranks")
    index = palette.list.model().index(0, 0)
    assert "one clock" in index.data(Qt.ItemDataRole.ToolTipRole)
    assert isinstance(palette, CommandPalette)
    palette.close()


@pytest.mark.parametrize(
    ("text", "unit", "shift"),
    [
        ("1.5", "µs", 1500),
        ("-0.25 ms", "ns", -250_000),
        ("", "ms", 0),
        ("−3", "ns", -3),
        ("2s", "µs", 2 * 10**9),
    ],
)
def test_shifts_are_exact(text: str, unit: str, shift: int) -> None:
    assert parse_shift(text, unit) == shift
    assert parse_shift(shift_text(shift, "ms"), "ns") == shift


def test_files_of_several_ranks_are_joined_in_the_window(
    window: MainWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    files = [rank_file(tmp_path, 0, 100), rank_file(tmp_path, 1, 777_000)]
    assert window.commands.run("file.join_ranks")
    (dialog,) = window.findChildren(QFileDialog)
    dialog.filesSelected.emit([str(file) for file in files])
    dialog.close()
    target = next(found for found in window.findChildren(QFileDialog) if found is not dialog)
    out = tmp_path / "job.h5"
    with qtbot.waitSignal(window.tabs.page_opened, timeout=60_000):
        target.fileSelected.emit(str(out))
    target.close()
    page = shown(window)
    assert page.document.source == out
    assert [track.uri for track in page.document.capture.tracks if track.role == "rank"] == [
        "rank/0",
        "rank/1",
    ]
    assert window.commands.is_enabled("analyze.align_ranks")


def test_joining_can_be_cancelled_and_says_what_is_wrong(
    window: MainWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    files = [rank_file(tmp_path, 0, 100), rank_file(tmp_path, 1, 777_000)]
    out = tmp_path / "job.h5"
    join_ranks(window.workspace, files, out)
    (opening,) = window.findChildren(OpeningPage)
    opening.box.cancel.click()
    qtbot.waitUntil(lambda: not window.workspace.is_opening, timeout=60_000)
    background.wait_for_jobs()
    assert window.tabs.count() == 0
    with qtbot.waitSignal(window.workspace.open_failed, timeout=60_000):
        join_ranks(window.workspace, files, files[0])
    assert "choose another name" in window.message_bars.bars[0].text
    assert files[0].read_bytes()[:1] == b"{"
