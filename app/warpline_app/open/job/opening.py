"""Opens a job: its ranks are computed in the background, and each reports when it is done."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from warpline.i18n import tr
from warpline.library.opening import Opened, open_path
from warpline.model.progress import IsCancelled, Progress
from warpline_app.open.background import Job
from warpline_app.open.opening import Opening, close_opened

if TYPE_CHECKING:
    from warpline.library.jobs import JobRank, TrainingJob
    from warpline.library.jobs.finding import JobFiles

_LEAST_RANKS = 2
_SMALL_BYTES = 16 << 20
"""Smaller jobs are computed in a thread: starting processes would take longer."""


class JobOpening(Opening):
    """Opens files and folders of ranks. ``job`` succeeds with a `TrainingJob`, or with `Opened` for a folder that is no
    job.
    """

    ranks_found = Signal(object)
    """the rank numbers to compute, a tuple"""
    rank_ready = Signal(object)
    """a JobRank that was computed or failed"""

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        is_surely_job: bool,
        scheduler: str | None = None,
        parent: QObject | None = None,
    ) -> None:
        self.paths = tuple(paths)
        self.scheduler = scheduler
        work = job_of_ranks(self, is_surely_job=is_surely_job)
        super().__init__(self.paths[0], Job(work, parent, discard=_discard), parent=parent)
        self.heading = tr("Opening the ranks of {name}", name=self.paths[0].name)


def job_of_ranks(
    opening: JobOpening, *, is_surely_job: bool
) -> Callable[[Progress, IsCancelled], TrainingJob | Opened]:
    """The work of a `JobOpening`.

    A folder opened as a file (``is_surely_job`` False) is a job if two of its files record their ranks. Any other
    folder is opened as one capture made of its traces.
    """

    def work(progress: Progress, is_cancelled: IsCancelled) -> TrainingJob | Opened:
        from warpline.library.jobs import JobWatch, open_job
        from warpline.library.jobs.finding import BY_ORDER, find_job
        from warpline.model import Cancelled, WarplineError

        files = None
        if not is_surely_job:
            progress(0.0, tr("looking for the ranks"))
            try:
                files = find_job(opening.paths, None, progress, is_cancelled)
            except Cancelled:
                raise
            except WarplineError:
                files = None
            numbered = [rank for rank in files.ranks if rank.told_by != BY_ORDER] if files is not None else []
            if len(numbered) < _LEAST_RANKS:
                return open_path(opening.paths[0], progress, is_cancelled)

        class Watch(JobWatch):
            def found(self, files: JobFiles) -> None:
                opening.ranks_found.emit(tuple(rank.rank for rank in files.ranks))

            def ready(self, job_rank: JobRank) -> None:
                opening.rank_ready.emit(job_rank)

        workers = 1 if opening.scheduler is None and _is_small(opening.paths) else None
        return open_job(
            opening.paths,
            scheduler=opening.scheduler,
            workers=workers,
            progress=progress,
            cancelled=is_cancelled,
            watch=Watch(),
            files=files,
        )

    return work


def _is_small(paths: Sequence[Path]) -> bool:
    """Whether the files together are too small to be worth starting processes; stops at the limit."""
    size = 0
    for path in paths:
        for inside in path.rglob("*") if path.is_dir() else (path,):
            with contextlib.suppress(OSError):  # a dangling link is not a rank's file
                size += inside.stat().st_size
            if size > _SMALL_BYTES:
                return False
    return True


def _discard(result: TrainingJob | Opened) -> None:
    if isinstance(result, Opened):
        close_opened(result)
