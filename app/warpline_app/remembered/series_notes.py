"""The user's notes on the runs of a series."""

from __future__ import annotations

from pathlib import Path

from warpline_app.remembered.settings import Settings


class SeriesNotes:
    """The user's notes on the runs of a series, saved in the settings by file name."""

    def __init__(self, settings: Settings, series: str) -> None:
        self._settings, self._key = settings, f"series/{series}"

    def of(self, path: Path) -> str:
        """The note on a run, or an empty text."""
        value = self._settings.record_of(self._key).get(path.name)
        return value if isinstance(value, str) else ""

    def write(self, path: Path, text: str) -> None:
        """Set the note on a run; an empty text removes it."""
        notes = self._settings.record_of(self._key)
        notes.pop(path.name, None)
        if text.strip():
            notes[path.name] = text.strip()
        self._settings.set_record(self._key, notes)
