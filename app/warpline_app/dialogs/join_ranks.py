"""File → Merge rank traces…: choose the files and the capture to write."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from warpline.i18n import tr
from warpline_app.look.file_dialog import FileDialog
from warpline_app.open.joining import join_ranks
from warpline_app.open.workspace import Workspace


def show_join_ranks(workspace: Workspace, parent: QWidget | None) -> QFileDialog:
    """Ask for the files and the output file, then merge."""
    dialog = FileDialog(parent, tr("Traces of one job's ranks, or a recording and traces of the same run"))
    dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
    if workspace.settings.last_folder:
        dialog.setDirectory(workspace.settings.last_folder)
    dialog.filesSelected.connect(
        lambda names: _choose_target(workspace, parent, [Path(name) for name in names])
    )
    _open(dialog)
    return dialog


def _choose_target(workspace: Workspace, parent: QWidget | None, paths: list[Path]) -> None:
    if len(paths) < 2:
        workspace.messages.show(tr("Choose at least two files"), "warning")
        return
    workspace.settings.last_folder = str(paths[0].parent)
    dialog = FileDialog(parent, tr("Save capture as"), str(paths[0].parent))
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix("h5")
    dialog.selectFile("job.h5")
    dialog.fileSelected.connect(lambda name: join_ranks(workspace, paths, Path(name)))
    _open(dialog)


def _open(dialog: QFileDialog) -> None:
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
