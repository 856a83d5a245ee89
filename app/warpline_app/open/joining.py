"""Merges traces of several ranks into one capture in the background, and opens it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from warpline.i18n import tr
from warpline.library.opening import Opened, open_path
from warpline.model.errors import UsageError
from warpline.model.progress import IsCancelled, Progress
from warpline_app.open.background import Job
from warpline_app.open.opening import Opening, close_opened

if TYPE_CHECKING:
    from warpline_app.open.workspace import Workspace


def join_job(paths: list[Path], out: Path, parent: QObject | None = None) -> Job:
    """A job that imports the files into ``out`` and succeeds with `Opened`.

    The files are ranks of one job, or traces of one run if a Warpline recording is among them.
    """

    def work(progress: Progress, is_cancelled: IsCancelled) -> Opened:
        from warpline.interchange import import_files, is_capture, join_files

        if out in paths:
            raise UsageError(tr("{path} is one of the files to join; choose another name", path=out))
        join = join_files if any(map(is_capture, paths)) else import_files
        join(paths, out, progress=progress, cancelled=is_cancelled)
        return open_path(out, progress, is_cancelled)

    return Job(work, parent, discard=close_opened)


def join_ranks(workspace: Workspace, paths: list[Path], out: Path) -> Opening:
    """Import the files and show the result; the tab shows progress and can be cancelled."""
    out = out.absolute()
    opening = Opening(out, join_job([path.absolute() for path in paths], out, workspace), parent=workspace)
    workspace.watch_opening(opening)
    return opening
