"""File → Open job…: choose the ranks' folder or files, and where they are computed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QWidget,
)

from warpline.i18n import tr
from warpline_app.dialogs.dialog_form import cancel_or, lay_out, make_form
from warpline_app.look.file_dialog import FileDialog
from warpline_app.look.files_there import is_there, typed_path
from warpline_app.look.plain import PlainLabel, plain
from warpline_app.open.workspace import Workspace

_SETTINGS = "job/open"
_ADDRESS = re.compile(r"[a-z]+://\S+")


class OpenJobDialog(QDialog):
    """Asks for the ranks and where to compute them; remembers the latter."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Open job"))
        self._workspace = workspace
        self._build()
        saved = workspace.settings.record_of(_SETTINGS)
        self.address.setText(str(saved.get("address", "")))
        (self.by_scheduler if saved.get("by_scheduler") is True else self.by_itself).setChecked(True)
        self._follow()

    def _build(self) -> None:
        self.where = QLineEdit()
        self.where.setAccessibleName(tr("Folder or files of the ranks"))
        self.where.textChanged.connect(self._follow)
        places = QHBoxLayout()
        places.setSpacing(6)
        places.addWidget(self.where, 1)
        for title, choose in ((tr("Folder…"), self.choose_folder), (tr("Files…"), self.choose_files)):
            button = QPushButton(title)
            button.setAutoDefault(False)
            button.clicked.connect(choose)
            places.addWidget(button)
        self.by_itself = QRadioButton(tr("processes on this computer"))
        self.by_scheduler = QRadioButton(tr("workers of a Dask scheduler"))
        self.by_scheduler.toggled.connect(self._follow)
        self.address = QLineEdit()
        self.address.setPlaceholderText("tcp://host:8786")
        self.address.setAccessibleName(tr("Address of the scheduler"))
        self.address.textChanged.connect(self._follow)
        self.hint = PlainLabel(
            tr("The workers need the same Warpline version and must see the files under the same paths.")
        )
        self.hint.setObjectName("muted")
        self.hint.setWordWrap(True)
        form = make_form()
        form.addRow(tr("Ranks"), places)
        form.addRow(tr("Computed by"), self.by_itself)
        form.addRow("", self.by_scheduler)
        form.addRow("", self.address)
        form.addRow("", self.hint)
        buttons, self.open_button = cancel_or(tr("Open"))
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        lay_out(self, form, (buttons,), width_px=600)

    @property
    def paths(self) -> list[Path]:
        """The paths in the field: one, or several quoted as in a shell."""
        text = self.where.text().strip()
        if not text or is_there(typed_path(text)):
            return [typed_path(text)] if text else []
        try:
            return list(map(typed_path, shlex.split(text)))
        except ValueError:
            return []

    @property
    def scheduler(self) -> str | None:
        """The scheduler's address; None to compute on this computer."""
        return self.address.text().strip() if self.by_scheduler.isChecked() else None

    def _follow(self) -> None:
        asked = self.by_scheduler.isChecked()
        self.address.setEnabled(asked)
        self.hint.setEnabled(asked)
        paths = self.paths
        why = ""
        if not paths or not all(map(is_there, paths)):
            why = tr("Choose a folder or files")
        elif self.scheduler is not None and not _ADDRESS.fullmatch(self.scheduler):
            why = tr("A scheduler address looks like tcp://host:8786")
        self.open_button.setEnabled(not why)
        self.open_button.setToolTip(plain(why))

    def choose_folder(self) -> QFileDialog:
        """Ask for a folder."""
        chooser = FileDialog(self, tr("Folder with captures or traces of a job's ranks"))
        chooser.setFileMode(QFileDialog.FileMode.Directory)
        chooser.setOption(QFileDialog.Option.ShowDirsOnly, False)
        return self._choose(chooser)

    def choose_files(self) -> QFileDialog:
        """Ask for files."""
        chooser = FileDialog(self, tr("Captures or traces of a job's ranks"))
        chooser.setFileMode(QFileDialog.FileMode.ExistingFiles)
        return self._choose(chooser)

    def _choose(self, chooser: QFileDialog) -> QFileDialog:
        if self._workspace.settings.last_folder:
            chooser.setDirectory(self._workspace.settings.last_folder)
        chooser.filesSelected.connect(self.set_paths)
        chooser.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        chooser.open()
        return chooser

    def set_paths(self, names: list[str]) -> None:
        """Put one or more paths into the field."""
        self.where.setText(names[0] if len(names) == 1 else shlex.join(names))
        self.open_button.setFocus()

    def accept(self) -> None:
        """Open the ranks and close the dialog."""
        paths = self.paths
        if not self.open_button.isEnabled():
            return
        settings = self._workspace.settings
        settings.last_folder = str(paths[0].absolute().parent)
        settings.set_record(
            _SETTINGS,
            {"by_scheduler": self.by_scheduler.isChecked(), "address": self.address.text().strip()},
        )
        scheduler = self.scheduler
        super().accept()
        self._workspace.open_ranks(paths, scheduler=scheduler)


def show_open_job(workspace: Workspace, parent: QWidget | None) -> OpenJobDialog:
    """Ask for a folder and open its ranks as a job."""
    dialog = OpenJobDialog(workspace, parent)
    dialog.open()
    dialog.choose_folder()
    return dialog


def show_open_job_files(workspace: Workspace, parent: QWidget | None) -> OpenJobDialog:
    """Ask for files and open them as the ranks of a job."""
    dialog = OpenJobDialog(workspace, parent)
    dialog.open()
    dialog.choose_files()
    return dialog
