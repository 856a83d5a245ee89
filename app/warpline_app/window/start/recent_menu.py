"""The Open recent menu: files to choose, or to drag onto a tab."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from warpline.i18n import tr
from warpline_app.commands.mnemonics import ENGLISH
from warpline_app.look.file_drag import file_drag
from warpline_app.look.files_there import is_there
from warpline_app.remembered.settings import Settings


class RecentMenu(QMenu):
    """Recent files; missing ones are disabled."""

    chosen = Signal(Path)

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(tr("Open recent"), parent)
        self.menuAction().setProperty(ENGLISH, "Open recent")
        self._settings = settings
        self._pressed: QPoint | None = None

    def fill(self) -> None:
        """Fill the menu from the settings; called before it is shown."""
        self.clear()
        paths = self._settings.recent_files
        for path in paths:
            action = self.addAction(str(path).replace("&", "&&"))
            action.setEnabled(is_there(path))
            action.setData(path)
            action.triggered.connect(lambda _=False, chosen=path: self.chosen.emit(chosen))
        self.setEnabled(bool(paths))
        if paths:
            self.addSeparator()
            self.addAction(tr("Clear list"), self._settings.clear_recent_files)

    # -- dragging a file onto a tab

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose an entry; may start a drag."""
        is_left = event.button() == Qt.MouseButton.LeftButton
        self._pressed = event.position().toPoint() if is_left else None
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag the entry's file."""
        begun, at = self._pressed, event.position().toPoint()
        action = self.actionAt(begun) if begun is not None else None
        path = action.data() if action is not None and action.isEnabled() else None
        is_far = begun is not None and (at - begun).manhattanLength() >= 2 * QApplication.startDragDistance()
        if action is None or not isinstance(path, Path) or not is_far:
            super().mouseMoveEvent(event)
            return
        self._pressed = None
        drag = file_drag(path, self, self.grab(self.actionGeometry(action)))
        # Menus grab the pointer and cover the drop target.
        while (popup := QApplication.activePopupWidget()) is not None and popup.close():
            pass
        drag.exec(Qt.DropAction.CopyAction)
