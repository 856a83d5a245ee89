"""File → Open Job…: a folder with the files of the ranks, or the files themselves."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from warpline.i18n import tr
from warpline_app.session.workspace import Workspace


def show_open_job(workspace: Workspace, parent: QWidget | None) -> QFileDialog:
    """Ask for a folder and open its ranks side by side."""
    dialog = QFileDialog(parent, tr("Folder with the captures or traces of the ranks of a job"))
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    dialog.setOption(QFileDialog.Option.ShowDirsOnly, False)
    _ask(dialog, workspace)
    return dialog


def show_open_job_files(workspace: Workspace, parent: QWidget | None) -> QFileDialog:
    """Ask for files and open them as ranks side by side."""
    dialog = QFileDialog(parent, tr("Captures or traces of the ranks of a job"))
    dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
    _ask(dialog, workspace)
    return dialog


def _ask(dialog: QFileDialog, workspace: Workspace) -> None:
    if workspace.settings.last_folder:
        dialog.setDirectory(workspace.settings.last_folder)
    dialog.filesSelected.connect(lambda names: _open(workspace, [Path(name) for name in names]))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()


def _open(workspace: Workspace, paths: list[Path]) -> None:
    if paths:
        workspace.settings.last_folder = str(paths[0].parent)
        workspace.open_ranks(paths)
