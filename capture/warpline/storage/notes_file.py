"""The file of notes beside a capture (``run.h5.notes.json``): small, readable, safe to send and to merge.

The capture itself is never written to. The file names the capture's UUID, so that notes on a capture that was recorded
over are not shown on its successor. ``deleted`` lists the ids of deleted notes, so that merging does not bring them
back. Rows derived by a query are kept with their SQL, never with its result.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from warpline.i18n import tr
from warpline.model.derived_rows import DerivedRow
from warpline.model.errors import CaptureFormatError
from warpline.model.notes import NOTE_COLORS, Note
from warpline.platform.files import replace
from warpline.untrusted import one_line

SUFFIX = ".notes.json"
MAX_BYTES = 16 << 20
MAX_NOTES = 10_000
MAX_TEXT = 10_000
MAX_ROWS = 100
_FORMAT = "warpline notes"
_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Notes:
    """The notes on a capture, the rows derived from it, and the ids of those that were deleted."""

    notes: tuple[Note, ...] = ()
    rows: tuple[DerivedRow, ...] = ()
    deleted: frozenset[str] = frozenset()
    capture: str = ""

    def merged(self, other: Notes) -> Notes:
        """Both sets of notes and rows; of two versions the later one, and none that was deleted."""
        deleted = self.deleted | other.deleted
        return Notes(
            notes=_later((*self.notes, *other.notes), deleted),
            rows=_later((*self.rows, *other.rows), deleted),
            deleted=deleted,
            capture=self.capture,
        )


_Entry = TypeVar("_Entry", Note, DerivedRow)


def _later(entries: Iterable[_Entry], deleted: frozenset[str]) -> tuple[_Entry, ...]:
    """Of each id the entry that was changed last."""
    by_id: dict[str, _Entry] = {}
    for entry in entries:
        known = by_id.get(entry.id)
        if entry.id not in deleted and (known is None or entry.changed_ns > known.changed_ns):
            by_id[entry.id] = entry
    return tuple(by_id.values())


def notes_path(capture: Path) -> Path:
    """The file of notes of a capture or trace."""
    return capture.with_name(capture.name + SUFFIX)


def read_notes(path: Path) -> Notes:
    """The notes in a file; none if there is no such file.

    Raises CaptureFormatError when it cannot be read or is not a file of notes. Single entries that do not fit are left
    out, since people edit such files.
    """
    try:
        if not path.exists():
            return Notes()
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            raise CaptureFormatError(tr("{path}: not a file of notes", path=path))
        value = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise CaptureFormatError(tr("{path}: {reason}", path=path, reason=error.strerror or error)) from error
    except (ValueError, RecursionError) as error:
        raise CaptureFormatError(tr("{path}: not a file of notes", path=path)) from error
    if not isinstance(value, dict) or value.get("format") != _FORMAT:
        raise CaptureFormatError(tr("{path}: not a file of notes", path=path))
    entries, deleted, queries = value.get("notes"), value.get("deleted"), value.get("rows")
    rows = [row_of(entry) for entry in queries[:MAX_ROWS]] if isinstance(queries, list) else []
    notes = [note_of(entry) for entry in entries[:MAX_NOTES]] if isinstance(entries, list) else []
    ids = [text for text in deleted if isinstance(text, str)] if isinstance(deleted, list) else []
    return Notes(
        notes=tuple(note for note in notes if note is not None),
        rows=tuple(row for row in rows if row is not None),
        deleted=frozenset(ids[:MAX_NOTES]),
        capture=str(value.get("capture", "")),
    )


def notes_of(capture: Path, uuid: str) -> tuple[Note, ...]:
    """The notes beside a capture; none if they are on another capture of this name, or if the file is damaged."""
    return _beside(capture, uuid).notes


def rows_of(capture: Path, uuid: str) -> tuple[DerivedRow, ...]:
    """The derived rows beside a capture, under the same conditions as `notes_of`."""
    return _beside(capture, uuid).rows


def _beside(capture: Path, uuid: str) -> Notes:
    try:
        notes = read_notes(notes_path(capture))
    except CaptureFormatError:
        return Notes()
    return notes if notes.capture in ("", uuid) else Notes()


def write_notes(path: Path, notes: Notes) -> None:
    """Writes the file, complete or not at all; without any note or row, removes it. Raises OSError."""
    if not notes.notes and not notes.rows and not notes.deleted:
        path.unlink(missing_ok=True)
        return
    value: dict[str, Any] = {
        "format": _FORMAT,
        "version": _VERSION,
        "capture": notes.capture,
        "notes": [_entry(note) for note in notes.notes],
        "deleted": sorted(notes.deleted)[:MAX_NOTES],
    }
    if notes.rows:
        value["rows"] = [_entry(row) for row in notes.rows[:MAX_ROWS]]
    part = path.with_name(f".warpline-{uuid4().hex}.part")
    try:
        text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
        with part.open("xb") as file:
            file.write(text.encode("utf-8", "replace"))
        replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def note_of(entry: object) -> Note | None:
    """A note from its JSON value; None if it does not fit."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("id"), str) or not entry["id"]:
        return None
    start, stop = (entry.get(name) for name in ("start_ns", "stop_ns"))
    texts = {name: str(entry.get(name, ""))[:MAX_TEXT] for name in ("row", "event", "text", "color")}
    if any(time is not None and not _is_time(time) for time in (start, stop)) or (
        start is None and not texts["row"]
    ):
        return None
    if texts["color"] not in NOTE_COLORS:
        texts["color"] = ""
    changed = entry.get("changed_ns", 0)
    return Note(
        id=entry["id"][:64],
        start_ns=start,
        stop_ns=stop if start is not None and stop is not None and stop > start else None,
        changed_ns=changed if _is_time(changed) else 0,
        **texts,
    )


def row_of(entry: object) -> DerivedRow | None:
    """A derived row from its JSON value; None if it does not fit."""
    if not isinstance(entry, Mapping):
        return None
    texts = {name: entry.get(name, "") for name in ("id", "title", "sql", "color")}
    if not all(isinstance(text, str) for text in texts.values()):
        return None
    if not texts["id"] or not texts["sql"].strip() or any(len(text) > MAX_TEXT for text in texts.values()):
        return None
    texts["title"] = one_line(texts["title"]).strip() or one_line(" ".join(texts["sql"].split()))
    changed = entry.get("changed_ns", 0)
    return DerivedRow(**texts, changed_ns=changed if _is_time(changed) else 0)


def entries_of(notes: Iterable[Note | DerivedRow]) -> list[dict[str, Any]]:
    """Notes or derived rows as JSON values."""
    return [_entry(note) for note in notes]


def _entry(note: Note | DerivedRow) -> dict[str, Any]:
    return {name: value for name, value in asdict(note).items() if value not in (None, "")}


def _is_time(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63
