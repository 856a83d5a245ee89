"""File → Join Ranks…: traces of several ranks of one job become one capture, in the background, and open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QFileDialog

from warpline.i18n import tr
from warpline.library.opening import Opened, open_path
from warpline.model.errors import UsageError
from warpline_app.session.background import IsCancelled, Job, Progress

if TYPE_CHECKING:
    from warpline_app.window.main_window import MainWindow


def join_job(paths: list[Path], out: Path, parent: QObject | None = None) -> Job:
    """A job that imports the files as ranks of one job into ``out``, and succeeds with `Opened`."""

    def work(progress: Progress, is_cancelled: IsCancelled) -> Opened:
        from warpline.interchange import import_files

        if out in paths:
            raise UsageError(tr("{path}: one of the files to join; choose another name", path=out))
        import_files(paths, out, progress=progress, cancelled=is_cancelled)
        return open_path(out, progress, is_cancelled)

    return Job(work, parent, discard=lambda opened: opened.capture.close())


def join_ranks(window: MainWindow, paths: list[Path], out: Path) -> None:
    """Import and show; the tab says how far it is and can be cancelled, as when a file is opened."""
    window.watch_opening(
        out.absolute(), join_job([path.absolute() for path in paths], out.absolute(), window)
    )


def choose_ranks(window: MainWindow) -> QFileDialog:
    """Ask for the files, then for the capture to write, and join."""
    dialog = QFileDialog(window, tr("Files of the ranks of one job, two or more"))
    dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
    if window.settings.last_folder:
        dialog.setDirectory(window.settings.last_folder)
    dialog.filesSelected.connect(lambda names: _choose_target(window, [Path(name) for name in names]))
    _open(dialog)
    return dialog


def _choose_target(window: MainWindow, paths: list[Path]) -> None:
    if len(paths) < 2:
        window.messages.show_message(tr("Choose the files of at least two ranks"), "warning")
        return
    window.settings.last_folder = str(paths[0].parent)
    dialog = QFileDialog(window, tr("Capture to write"), str(paths[0].parent))
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix("h5")
    dialog.selectFile("job.h5")
    dialog.fileSelected.connect(lambda name: join_ranks(window, paths, Path(name)))
    _open(dialog)


def _open(dialog: QFileDialog) -> None:
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
