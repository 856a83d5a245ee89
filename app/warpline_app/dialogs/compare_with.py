"""File → Compare with…: choose another tab, a recent capture or a file, and which run came first."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QListWidget,
    QListWidgetItem,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from warpline.i18n import tr
from warpline_app.look.file_dialog import FileDialog
from warpline_app.look.files_there import is_there
from warpline_app.look.plain import PlainLabel, plain
from warpline_app.open.workspace import Workspace

_PATH = Qt.ItemDataRole.UserRole
_SIZE = (560, 420)


class CompareWithDialog(QDialog):
    """Lists open and recent captures to compare a capture with; Return compares."""

    def __init__(self, workspace: Workspace, source: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Compare with"))
        self.resize(*_SIZE)
        self._workspace, self._source = workspace, source
        head = PlainLabel(tr("Compare {name} with:", name=source.name))
        self.files = QListWidget()
        self.files.setAccessibleName(tr("Captures"))
        self._fill()
        self.is_before = QRadioButton(tr("{name} is the earlier run (A)", name=source.name))
        self.is_after = QRadioButton(tr("{name} is the later run (B)", name=source.name))
        self.is_before.setChecked(True)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.compare = self.buttons.addButton(tr("Compare"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.browse = self.buttons.addButton(tr("File…"), QDialogButtonBox.ButtonRole.ActionRole)
        self.buttons.accepted.connect(self._compare_chosen)
        self.buttons.rejected.connect(self.reject)
        self.browse.clicked.connect(lambda _checked: self._ask_file())
        self.files.itemActivated.connect(lambda _item: self._compare_chosen())
        self.files.currentItemChanged.connect(lambda *_: self._update())
        column = QVBoxLayout(self)
        for widget in (head, self.files, self.is_before, self.is_after, self.buttons):
            column.addWidget(widget)
        self._update()

    def _fill(self) -> None:
        opened = [
            document.source for document in self._workspace.documents if document.source != self._source
        ]
        recent = [
            path
            for path in self._workspace.settings.recent_files
            if path != self._source and path not in opened and is_there(path)
        ]
        for path, where in [*((p, tr("open")) for p in opened), *((p, tr("recent")) for p in recent)]:
            item = QListWidgetItem(f"{path.name}   ·   {where}   ·   {path.parent}")
            item.setData(_PATH, path)
            item.setToolTip(plain(str(path)))
            self.files.addItem(item)
        if self.files.count():
            self.files.setCurrentRow(0)
        else:
            empty = QListWidgetItem(tr("No other capture is open or recent: choose a file."))
            empty.setFlags(Qt.ItemFlag.NoItemFlags)
            self.files.addItem(empty)

    def _update(self) -> None:
        item = self.files.currentItem()
        self.compare.setEnabled(item is not None and item.data(_PATH) is not None)

    def _compare_chosen(self) -> None:
        item = self.files.currentItem()
        if item is not None and item.data(_PATH) is not None:
            self.compare_with(item.data(_PATH))

    def _ask_file(self) -> None:
        dialog = FileDialog(self, tr("Compare with"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setDirectory(str(self._source.parent))
        dialog.fileSelected.connect(lambda name: self.compare_with(Path(name)))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def compare_with(self, other: Path) -> None:
        """Compare with this file, in the chosen order."""
        first, second = (self._source, other) if self.is_before.isChecked() else (other, self._source)
        self._workspace.compare(first, second)
        self.accept()


def show_compare_with(workspace: Workspace, parent: QWidget | None) -> CompareWithDialog | None:
    """Ask what to compare the capture in front with; None when no capture is open."""
    if workspace.current is None:
        return None
    dialog = CompareWithDialog(workspace, workspace.current.source, parent)
    dialog.open()
    return dialog
