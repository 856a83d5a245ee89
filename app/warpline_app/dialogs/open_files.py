"""File → Open…: captures and traces of other profilers."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from warpline.i18n import tr
from warpline_app.look.file_dialog import FileDialog
from warpline_app.open.workspace import Workspace


def show_open_files(workspace: Workspace, parent: QWidget | None) -> QFileDialog:
    """Ask for files and open them."""
    dialog = FileDialog(parent, tr("Open"))
    dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
    dialog.setNameFilters(
        [
            tr("Captures and traces") + f" ({' '.join(_patterns())})",
            tr("Captures") + " (*.h5 *.hdf5)",
            tr("All files") + " (*)",
        ]
    )
    if workspace.settings.last_folder:
        dialog.setDirectory(workspace.settings.last_folder)
    dialog.filesSelected.connect(lambda names: _open(workspace, [Path(name) for name in names]))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
    return dialog


def _patterns() -> list[str]:
    """The name patterns of captures, of every importer, and of packed files."""
    from warpline.interchange.framework.registry import importers

    known = {pattern for importer in importers() for pattern in importer.patterns}
    return ["*.h5", "*.hdf5", *sorted(known - {"*.h5", "*.hdf5"}), "*.gz", "*.zip"]


def _open(workspace: Workspace, paths: list[Path]) -> None:
    if paths:
        workspace.settings.last_folder = str(paths[0].parent)
    workspace.open_files(paths)
