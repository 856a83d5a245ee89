"""Opening what a person chose in a thread of its own, and what to tell when it cannot be opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject

from warpline.i18n import tr
from warpline.library.opening import Opened, open_path
from warpline.model.errors import WarplineError
from warpline_app.session.background import IsCancelled, Job, Progress


@dataclass(frozen=True)
class OpenProblem:
    """Why a file could not be opened: one sentence, and for a defect of ours the traceback."""

    path: Path
    text: str
    details: str = ""


def open_job(path: Path, parent: QObject | None = None) -> Job:
    """A job that opens ``path``; it succeeds with `Opened`. A result nobody wants any more is closed."""

    def work(progress: Progress, is_cancelled: IsCancelled) -> Opened:
        opened = open_path(path, progress, is_cancelled)
        # What shows it is imported here too: in the window's thread that would be a pause.
        import warpline_app.timeline.widgets.view  # noqa: F401  # for the sake of having it imported

        return opened

    return Job(
        work,
        parent,
        discard=lambda opened: opened.capture.close(),
    )


def problem_of(path: Path, error: Exception) -> OpenProblem:
    """What to tell a person about a failed opening."""
    if isinstance(error, WarplineError):
        return OpenProblem(path, " ".join(str(error).split()))
    if isinstance(error, OSError):
        return OpenProblem(path, tr("{path}: {reason}", path=path, reason=error.strerror or error))
    if isinstance(error, ModuleNotFoundError):
        return OpenProblem(
            path,
            tr("{path}: this needs {module}, which is not installed", path=path, module=error.name or "?"),
        )
    if isinstance(error, MemoryError):
        return OpenProblem(path, tr("{path}: not enough memory to open it", path=path))
    import traceback

    return OpenProblem(
        path,
        tr(
            "{path}: a defect in Warpline, please report it: {error}",
            path=path,
            error=f"{type(error).__name__}: {error}",
        ),
        "".join(traceback.format_exception(error)),
    )
