"""Open Recent: files that were open lately."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QWidget

from warpline.i18n import tr
from warpline_app.session.settings import Settings


class RecentMenu(QMenu):
    """Files that were open lately; those that are gone cannot be chosen."""

    chosen = Signal(Path)

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(tr("Open Recent"), parent)
        self._settings = settings

    def fill(self) -> None:
        """List what the settings know now; called before the menu is seen."""
        self.clear()
        paths = self._settings.recent_files
        for path in paths:
            action = self.addAction(str(path).replace("&", "&&"))
            action.setEnabled(path.exists())
            action.triggered.connect(lambda _=False, chosen=path: self.chosen.emit(chosen))
        self.setEnabled(bool(paths))
        if paths:
            self.addSeparator()
            self.addAction(tr("Clear list"), self._settings.clear_recent_files)
