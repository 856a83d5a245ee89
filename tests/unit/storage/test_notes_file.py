"""The file of notes beside a capture: round trip, merging, damaged files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpline.model.errors import CaptureFormatError
from warpline.model.notes import NOTE_COLORS, Note
from warpline.storage.notes_file import Notes, note_of, notes_of, notes_path, read_notes, write_notes

EVENT = Note(id="a", start_ns=10, stop_ns=20, row="gpu/0", event="gemm", text="slow\nwhy?", color="red")
ROW = Note(id="b", row="cpu/0", text="busy")
MARK = Note(id="c", start_ns=-5)


def test_notes_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = notes_path(tmp_path / "run.h5")
    notes = Notes(notes=(EVENT, ROW, MARK), deleted=frozenset({"z"}), capture="uuid")
    write_notes(path, notes)
    assert path.name == "run.h5.notes.json"
    assert read_notes(path) == notes
    assert notes_of(tmp_path / "run.h5", "uuid") == notes.notes
    assert notes_of(tmp_path / "run.h5", "another capture of this name") == ()
    write_notes(path, Notes())
    assert list(tmp_path.iterdir()) == []


def test_of_two_versions_the_later_one_counts_and_deleted_notes_stay_deleted() -> None:
    later = replace(EVENT, text="solved", changed_ns=EVENT.changed_ns + 1)
    mine = Notes(notes=(EVENT, MARK), deleted=frozenset({"b"}))
    theirs = Notes(notes=(later, ROW), deleted=frozenset({"c"}))
    for merged in (mine.merged(theirs), theirs.merged(mine)):
        assert merged.notes == (later,)
        assert merged.deleted == {"b", "c"}


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"format": "another"}', "[" * 100_000])
def test_a_file_that_holds_no_notes_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.h5.notes.json"
    path.write_text(text)
    with pytest.raises(CaptureFormatError, match=r"run\.h5\.notes\.json: not a file of notes"):
        read_notes(path)
    assert notes_of(tmp_path / "run.h5", "uuid") == ()


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaptureFormatError, match="not a file of notes"):
        read_notes(tmp_path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.sampled_from(("id", "start_ns", "stop_ns", "row", "event", "text", "color", "changed_ns"))


@given(st.dictionaries(FIELDS, json_values, max_size=8))
def test_any_entry_gives_a_note_that_can_be_shown_or_none(entry: dict[str, object]) -> None:
    note = note_of(json.loads(json.dumps(entry)))
    if note is not None:
        assert note.id
        assert note.start_ns is not None or note.row
        assert note.stop_ns is None or (note.start_ns is not None and note.stop_ns > note.start_ns)
        assert note.color in NOTE_COLORS
