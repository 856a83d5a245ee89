"""Findings the user dismissed, with the reason; saved by the capture's UUID."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from warpline_app.remembered.settings import Settings

_KEY = "dismissed"


class Dismissals(QObject):
    """Reasons by finding, saved in the settings; without settings they last as long as the window."""

    changed = Signal()

    def __init__(
        self, settings: Settings | None = None, uuid: str = "", parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._settings = settings
        self._place = f"{_KEY}/{uuid}"
        saved = settings.record_of(self._place) if settings is not None else {}
        self._reasons = {key: value for key, value in saved.items() if isinstance(value, str)}
        self._last: tuple[str, str | None] | None = None

    @property
    def reasons(self) -> dict[str, str]:
        """Why each finding was dismissed; an empty text for no reason."""
        return dict(self._reasons)

    def dismiss(self, key: str, reason: str) -> None:
        """Hide a finding from now on."""
        self._set(key, reason)

    def restore(self, key: str) -> None:
        """Show a dismissed finding again."""
        self._set(key, None)

    @property
    def can_undo(self) -> bool:
        """Whether the last change can be undone."""
        return self._last is not None

    def undo(self) -> None:
        """Undo the last change."""
        if self._last is not None:
            key, before = self._last
            self._set(key, before)
            self._last = None
            self.changed.emit()

    def _set(self, key: str, reason: str | None) -> None:
        before = self._reasons.get(key)
        if reason == before:
            return
        self._last = (key, before)
        if reason is None:
            del self._reasons[key]
        else:
            self._reasons[key] = reason
        if self._settings is not None:
            self._settings.set_record(self._place, dict(self._reasons))
        self.changed.emit()
