"""Opens a file in a background thread, and explains why it cannot be opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject

from warpline.i18n import tr
from warpline.library.opening import Opened, open_path
from warpline.model.errors import WarplineError
from warpline.model.progress import IsCancelled, Progress
from warpline_app.open.activity import Activity
from warpline_app.open.background import Job


@dataclass(frozen=True)
class OpenProblem:
    """Why a file could not be opened: one sentence, and a traceback for a bug in Warpline."""

    path: Path
    text: str
    details: str = ""


class Opening(Activity):
    """A file being opened; its tab shows the progress.

    ``job`` succeeds with `Opened`. ``console_text`` is the program's output, if the file was just recorded.
    """

    def __init__(self, path: Path, job: Job, console_text: str = "", parent: QObject | None = None) -> None:
        super().__init__(path.name, job, parent)
        self.path = path
        self.heading: str = tr("Opening {name}", name=path.name)
        self.opening_job: Job = job
        self.console_text = console_text
        self.was_stopped = False
        """The file was just recorded, and the user ended the program."""
        self.location = ""
        """Where it lies on another machine."""
        self.document_title = ""
        """The title of the capture's tab, if it is not the name of a file the user chose."""


def open_job(path: Path, parent: QObject | None = None) -> Job:
    """A job that opens ``path`` and succeeds with `Opened`; an unwanted result is closed."""

    def work(progress: Progress, is_cancelled: IsCancelled) -> Opened:
        opened = open_path(path, progress, is_cancelled)
        opened.capture.activity  # noqa: B018  # found here, not in the window's thread
        return opened

    return Job(work, parent, discard=close_opened)


def close_opened(opened: Opened) -> None:
    """Close a capture that is no longer wanted."""
    opened.capture.close()


def problem_of(path: Path, error: Exception) -> OpenProblem:
    """The message for a failure to open a file."""
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
