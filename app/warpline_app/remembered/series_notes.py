"""What a person wrote to the runs of a series."""

from __future__ import annotations

from pathlib import Path

from warpline_app.remembered.settings import Settings


class SeriesNotes:
    """What a person wrote to the runs of a series; kept with the settings, by the name of the file."""

    def __init__(self, settings: Settings, series: str) -> None:
        self._settings, self._key = settings, f"series/{series}"

    def of(self, path: Path) -> str:
        """The note of a run, empty without one."""
        value = self._settings.record_of(self._key).get(path.name)
        return value if isinstance(value, str) else ""

    def write(self, path: Path, text: str) -> None:
        """Note something; an empty text takes it away."""
        notes = self._settings.record_of(self._key)
        notes.pop(path.name, None)
        if text.strip():
            notes[path.name] = text.strip()
        self._settings.set_record(self._key, notes)
