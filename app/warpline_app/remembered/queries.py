"""Queries that the user asked and saved, the same for all captures."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from warpline_app.remembered.settings import Settings

MOST_ASKED = 50
MOST_TEXT = 10_000
"""Longer queries are not remembered."""
_KEY = "queries"


class RememberedQueries(QObject):
    """History and saved queries, kept in the settings; without settings they last as long as the document."""

    changed = Signal()

    def __init__(self, settings: Settings | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._record: dict[str, object] = {}

    @property
    def asked(self) -> tuple[str, ...]:
        """Queries that were run, newest first."""
        found = self._read().get("asked")
        return tuple(sql for sql in found if isinstance(sql, str)) if isinstance(found, list) else ()

    @property
    def saved(self) -> dict[str, str]:
        """Saved queries by name."""
        found = self._read().get("saved")
        if not isinstance(found, dict):
            return {}
        return {name: sql for name, sql in found.items() if isinstance(sql, str)}

    def add(self, sql: str) -> None:
        """Move a query to the front of the history."""
        if len(sql) <= MOST_TEXT:
            others = [known for known in self.asked if known != sql]
            self._write("asked", [sql, *others][:MOST_ASKED])

    def clear_asked(self) -> None:
        """Clear the history."""
        self._write("asked", [])

    def save(self, name: str, sql: str) -> None:
        """Save a query under a name, in place of one of that name."""
        self._write("saved", {**self.saved, name: sql[:MOST_TEXT]})

    def forget(self, name: str) -> None:
        """Delete a saved query."""
        self._write("saved", {known: sql for known, sql in self.saved.items() if known != name})

    def _read(self) -> dict[str, object]:
        # Read each time: another tab may have changed them.
        return self._record if self._settings is None else self._settings.record_of(_KEY)

    def _write(self, name: str, value: object) -> None:
        record = {**self._read(), name: value}
        if self._settings is None:
            self._record = record
        else:
            self._settings.set_record(_KEY, record)
        self.changed.emit()
