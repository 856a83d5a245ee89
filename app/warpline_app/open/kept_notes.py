"""Keeps the notes of a document in a file beside its capture, or in the settings where no file can be written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, QTimer

from warpline.i18n import tr
from warpline.model.errors import CaptureFormatError
from warpline.model.notes import Note
from warpline.storage.notes_file import (
    MAX_ROWS,
    Notes,
    entries_of,
    note_of,
    notes_path,
    read_notes,
    row_of,
    write_notes,
)
from warpline_app.open.messages import MessageTarget
from warpline_app.remembered.settings import Settings
from warpline_app.state.timeline_state import TimelineState

WRITE_AFTER_MS = 400
_KEY = "notes"


class KeptNotes(QObject):
    """Loads the notes of a capture into its state, and writes them whenever they change."""

    def __init__(
        self,
        source: Path,
        uuid: str,
        state: TimelineState,
        settings: Settings,
        messages: MessageTarget,
        parent: QObject | None = None,
    ) -> None:
        """``source`` is the file that the user opened; the notes are kept beside it."""
        super().__init__(parent)
        self.path = notes_path(source)
        self._uuid, self._state, self._settings, self._messages = uuid, state, settings, messages
        self._is_beside = settings.notes_beside_capture and _may_write(source.parent)
        self._stamp = _stamp(self.path)
        self._known = self._load()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(WRITE_AFTER_MS)
        self._timer.timeout.connect(self.write_now)
        with state.unrecorded():
            state.set_notes(self._known.notes)
            state.set_derived_rows(self._known.rows)
        state.notes_changed.connect(self._timer.start)
        state.derived_rows_changed.connect(self._timer.start)

    @property
    def is_beside(self) -> bool:
        """Whether the notes are in the file `path`, which can be sent to a colleague."""
        return self._is_beside

    def merge(self, path: Path) -> int:
        """Add the notes of a colleague's file; returns how many are new or newer. Raises CaptureFormatError."""
        theirs = read_notes(path)
        if not path.exists():
            raise CaptureFormatError(tr("{path}: no such file", path=path))
        mine = self._now()
        merged = mine.merged(theirs)
        known = {note.id: note for note in mine.notes}
        self._known = replace(self._known, deleted=merged.deleted)
        self._state.set_notes(merged.notes)
        self._state.set_derived_rows(merged.rows[:MAX_ROWS])
        if len(merged.rows) > MAX_ROWS:
            self._messages.show(
                tr(
                    "a capture has at most {most} derived rows; {count:,} of the file are left out",
                    most=MAX_ROWS,
                    count=len(merged.rows) - MAX_ROWS,
                ),
                "warning",
            )
        return sum(known.get(note.id) != note for note in merged.notes)

    def write_now(self) -> None:
        """Write unsaved changes."""
        self._timer.stop()
        if self._now() == self._known:
            return
        self._take_in()
        now = self._now()
        if self._is_beside:
            try:
                write_notes(self.path, now)
                self._known, self._stamp = now, _stamp(self.path)
            except OSError as error:
                self._is_beside = False
                self._messages.show(
                    tr(
                        "{path}: {reason}. The notes are kept in the settings instead.",
                        path=self.path,
                        reason=error.strerror or error,
                    ),
                    "warning",
                )
            else:
                return
        self._known = now
        self._settings.set_record(
            f"{_KEY}/{self._uuid}",
            {
                "notes": entries_of(now.notes),
                "rows": entries_of(now.rows),
                "deleted": sorted(now.deleted),
            },
        )

    def _take_in(self) -> None:
        """Merge what another window or another person has written to the file since it was read."""
        if not self._is_beside or _stamp(self.path) == self._stamp:
            return
        try:
            theirs = read_notes(self.path)
        except CaptureFormatError as error:
            self._is_beside = False
            self._messages.show(str(error), "warning")
            return
        merged = self._now().merged(theirs)
        self._known = replace(self._known, deleted=merged.deleted)
        with self._state.unrecorded():
            self._state.set_notes(merged.notes)
            self._state.set_derived_rows(merged.rows)
        self._timer.stop()

    def _now(self) -> Notes:
        """The notes in the state; notes that have gone since the last call count as deleted."""
        notes, rows = self._state.notes, self._state.derived_rows
        ids = {note.id for note in notes} | {row.id for row in rows}
        known = {note.id for note in self._known.notes} | {row.id for row in self._known.rows}
        gone = known - ids
        deleted = (self._known.deleted | gone) - ids
        return Notes(notes=notes, rows=rows, deleted=frozenset(deleted), capture=self._uuid)

    def _load(self) -> Notes:
        mine = replace(self._from_settings(), capture=self._uuid)
        if not self._is_beside:
            return mine
        try:
            beside = read_notes(self.path)
        except CaptureFormatError as error:
            self._is_beside = False
            self._messages.show(str(error), "warning")
            return mine
        if beside.capture not in ("", self._uuid):
            self._is_beside = False
            self._messages.show(
                tr("{path} holds notes on another capture of this name; they are not shown", path=self.path),
                "warning",
            )
            return mine
        return mine.merged(beside)

    def _from_settings(self) -> Notes:
        saved = self._settings.record_of(f"{_KEY}/{self._uuid}")
        entries, deleted, queries = saved.get("notes"), saved.get("deleted"), saved.get("rows")
        rows = [row_of(entry) for entry in queries] if isinstance(queries, list) else []
        notes = [note_of(entry) for entry in entries] if isinstance(entries, list) else self._old_marks()
        ids = [text for text in deleted if isinstance(text, str)] if isinstance(deleted, list) else []
        return Notes(
            notes=tuple(note for note in notes if note is not None),
            rows=tuple(row for row in rows if row is not None),
            deleted=frozenset(ids),
        )

    def _old_marks(self) -> list[Note | None]:
        """Marks as layouts kept them before there were notes."""
        marks = self._settings.record_of(f"layouts/{self._uuid}").get("marks")
        return [
            note_of({"id": f"mark-{mark[0]}", "start_ns": mark[0], "text": mark[1]})
            for mark in (marks if isinstance(marks, list) else [])
            if isinstance(mark, list) and len(mark) == 2
        ]


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """A value that changes whenever the file's content does; None without a file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _may_write(folder: Path) -> bool:
    """Whether anybody may write in a folder: a read-only one is left alone even by root."""
    try:
        return bool(folder.stat().st_mode & 0o222)
    except OSError:
        return False
