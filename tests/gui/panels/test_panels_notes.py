"""Notes: written with the keyboard, listed, kept in a file beside the capture, merged, exported."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import OpenPage, panel_of
from tests.gui.timeline.timeline_tools import STREAM, event_of, wait_idle, write_note
from tests.gui.timeline_sample import MS

from warpline.interchange.export.exporter import ExportOptions
from warpline.interchange.export.exporting import export_capture
from warpline.interchange.export.selection import ExportSelection
from warpline.model.notes import Note
from warpline.storage import open_capture
from warpline.storage.notes_file import Notes, notes_of, notes_path, read_notes, write_notes
from warpline_app.open.noting import note_place
from warpline_app.panels.notes.panel import NotesPanel
from warpline_app.remembered.settings import Settings
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow


@pytest.fixture
def run(tmp_path: Path, sample: Path, settings: Settings) -> Path:
    """A capture of its own, whose notes are kept beside it."""
    settings.notes_beside_capture = True
    path = tmp_path / "run.h5"
    shutil.copy(sample, path)
    return path


@pytest.fixture
def page(open_page: OpenPage, run: Path) -> CapturePage:
    return open_page(run)


def test_a_note_on_an_event_is_drawn_listed_and_found_again(
    window: MainWindow, page: CapturePage, run: Path, qtbot: QtBot
) -> None:
    view, state = page.view, page.document.state
    event = event_of(view, STREAM, 72 * MS)
    state.reveal(event)
    wait_idle(qtbot, view)
    state.select(event)
    before = view.grab().toImage()
    qtbot.keyClick(view, Qt.Key.Key_M, Qt.KeyboardModifier.ShiftModifier)
    write_note(qtbot, view, "why so late?")
    (note,) = state.notes
    assert (note.text, note.row) == ("why so late?", STREAM)
    assert (note.start_ns, note.event) == (
        view.document.capture.event_span(event)[0],
        note_place(view.document.capture, note),
    )
    wait_idle(qtbot, view)
    assert view.grab().toImage() != before
    panel = panel_of(qtbot, window, "notes", NotesPanel)
    item = panel.list.topLevelItem(0)
    assert item is not None
    assert item.text(2) == "why so late?"
    assert panel.badge == "1"
    state.select(None)
    state.set_view(0, 1 * MS)
    panel.list.setCurrentItem(item)
    qtbot.keyClick(panel.list, Qt.Key.Key_Return)
    assert state.selection == event
    assert state.view[0] <= view.document.capture.event_span(event)[0] < state.view[1]
    assert page.document.notes is not None
    page.document.notes.write_now()
    assert [kept.text for kept in read_notes(notes_path(run)).notes] == ["why so late?"]
    qtbot.keyClick(panel.list, Qt.Key.Key_Delete)
    assert not state.notes
    state.undo()
    assert state.notes == (note,)


def test_notes_are_there_again_and_a_colleagues_are_merged(
    window: MainWindow, page: CapturePage, open_page: OpenPage, run: Path, qtbot: QtBot, tmp_path: Path
) -> None:
    page.document.state.select_range(10 * MS, 20 * MS)
    qtbot.keyClick(page.view, Qt.Key.Key_M, Qt.KeyboardModifier.ShiftModifier)
    write_note(qtbot, page.view, "warm-up")
    window.commands.run("file.close")
    again = open_page(run)
    assert [(n.text, n.start_ns, n.stop_ns) for n in again.document.state.notes] == [
        ("warm-up", 10 * MS, 20 * MS)
    ]
    theirs = tmp_path / "theirs.notes.json"
    write_notes(theirs, Notes(notes=(Note(row=STREAM, text="the slow one", color="red"),)))
    panel = panel_of(qtbot, window, "notes", NotesPanel)
    panel.merge_file(theirs)
    qtbot.waitUntil(lambda: panel.list.topLevelItemCount() == 2, timeout=60_000)
    assert window.workspace.messages.all[0].text == "1 note merged from theirs.notes.json"
    panel.search.setText("slow")
    qtbot.waitUntil(lambda: panel.list.topLevelItemCount() == 1, timeout=60_000)
    panel.merge_file(tmp_path / "none.notes.json")
    assert "no such file" in window.workspace.messages.all[0].text


def test_what_a_colleague_writes_meanwhile_is_kept(
    open_page: OpenPage, run: Path, window: MainWindow
) -> None:
    page = open_page(run)
    page.document.state.add_mark(5, "mine")
    theirs = Notes(notes=(Note(start_ns=9, text="theirs \ud800"),), capture=page.document.capture.uuid)
    write_notes(notes_path(run), theirs)
    window.commands.run("file.close")
    assert [note.text for note in read_notes(notes_path(run)).notes] == ["mine", "theirs ?"]


def test_notes_on_another_capture_of_this_name_are_left_alone(
    open_page: OpenPage, run: Path, window: MainWindow
) -> None:
    path = notes_path(run)
    write_notes(path, Notes(notes=(Note(start_ns=5, text="old"),), capture="another"))
    page = open_page(run)
    page.document.state.add_mark(7, "mine")
    window.commands.run("file.close")
    assert [note.text for note in read_notes(path).notes] == ["old"]
    assert [note.text for note in open_page(run).document.state.notes] == ["mine"]


def test_parts_pages_and_pictures_take_their_notes_along(run: Path, tmp_path: Path) -> None:
    notes = (Note(start_ns=15 * MS, text="inside <b>"), Note(start_ns=60 * MS, text="outside"))
    selection = ExportSelection(10 * MS, 20 * MS)
    with open_capture(run) as capture:
        for name in ("part.h5", "page.html", "with.png"):
            export_capture(capture, tmp_path / name, selection, ExportOptions(notes=notes))
        export_capture(capture, tmp_path / "without.png", selection)
    with open_capture(tmp_path / "part.h5") as part:
        assert [note.text for note in notes_of(tmp_path / "part.h5", part.uuid)] == ["inside <b>"]
    page = (tmp_path / "page.html").read_text()
    assert "inside &lt;b&gt;" in page
    assert "outside" not in page
    with_notes, without = ((tmp_path / name).read_bytes() for name in ("with.png", "without.png"))
    assert with_notes != without
