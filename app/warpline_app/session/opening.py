"""From a path a person chose to an open capture, in a thread of its own.

A capture is mapped; a file of another profiler is recognised by its content, converted once into the cache and
opened from there. Nothing heavy is imported here: the window is on screen before h5py is.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from warpline.i18n import tr
from warpline.model.errors import CaptureFormatError, WarplineError
from warpline_app.session.background import IsCancelled, Job, Progress

if TYPE_CHECKING:
    from warpline.storage import Capture

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
SPOOL_SUFFIX = ".spool"


@dataclass(frozen=True)
class Opened:
    """A capture and the file the person asked for, which differ when it had to be converted."""

    capture: Capture
    source: Path


@dataclass(frozen=True)
class OpenProblem:
    """Why a file could not be opened: one sentence, and for a defect of ours the traceback."""

    path: Path
    text: str
    details: str = ""


def open_path(path: Path, progress: Progress, is_cancelled: IsCancelled) -> Opened:
    """Open a capture; convert a file of another profiler, or finish a recording left in its spool, and open that.

    Raises WarplineError with one line for everything that can be wrong with a file.
    """
    progress(0.0, tr("opening {name}", name=path.name))
    if path.is_dir():
        if path.name.endswith(SPOOL_SUFFIX):
            return _recover(path, progress)
        raise CaptureFormatError(tr("{path}: a folder, not a capture", path=path))
    try:
        with path.open("rb") as file:
            magic = file.read(len(HDF5_MAGIC))
            is_empty = not magic
            # HDF5 allows a user block before the signature: at 512, 1024, 2048 … bytes.
            is_hdf5 = magic == HDF5_MAGIC or _has_signature_after_user_block(path)
    except OSError as error:
        raise CaptureFormatError(tr("{path}: {reason}", path=path, reason=error.strerror or error)) from error
    if is_empty:
        raise CaptureFormatError(tr("{path}: the file is empty", path=path))
    if is_hdf5 and not _is_foreign_hdf5(path):
        return Opened(_open_capture(path, progress, is_cancelled), path)
    return _convert(path, progress, is_cancelled)


def _has_signature_after_user_block(path: Path) -> bool:
    size = path.stat().st_size
    with path.open("rb") as file:
        offset = 512
        while offset < min(size, 1 << 20):
            file.seek(offset)
            if file.read(len(HDF5_MAGIC)) == HDF5_MAGIC:
                return True
            offset *= 2
    return False


def _is_foreign_hdf5(path: Path) -> bool:
    """Whether another profiler's HDF5 export is what an importer recognises; damaged captures are not."""
    os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")
    from warpline.storage import is_capture

    if is_capture(path):
        return False
    from warpline.interchange import detect

    try:
        detect(path)
    except WarplineError:
        return False
    return True


def _open_capture(path: Path, progress: Progress, is_cancelled: IsCancelled) -> Capture:
    os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")
    from warpline.storage import open_capture

    capture = open_capture(path, progress=progress, cancelled=is_cancelled)
    try:
        # Directories that are read when they are first used: damage in them belongs into the bar, not into a frame.
        _ = capture.kinds, capture.kind_of_code, capture.links, capture.counters_of_tracks
        for table in capture.kinds.values():
            for attribute in table.attributes:
                table.column(attribute)
    except WarplineError:
        capture.close()
        raise
    return capture


def _convert(path: Path, progress: Progress, is_cancelled: IsCancelled) -> Opened:
    os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")
    from warpline import __version__
    from warpline.interchange import detect, import_files
    from warpline.storage import ConversionCache

    importer = detect(path)

    def convert(target: Path, progress: Progress, is_cancelled: IsCancelled) -> Path:
        progress(0.0, tr("converting {name} ({format})", name=path.name, format=importer.title))
        return import_files([path], target, progress=progress, cancelled=is_cancelled)

    # Another version may convert better: its entries are its own.
    working = ConversionCache().get([path], f"{importer.name} {__version__}", convert, progress, is_cancelled)
    return Opened(_open_capture(working, progress, is_cancelled), path)


def _recover(spool: Path, progress: Progress) -> Opened:
    os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")
    from warpline.recording.recover import recover

    progress(0.0, tr("finishing the recording {name}", name=spool.name))
    path = recover(spool).path
    return Opened(_open_capture(path, progress, lambda: False), path)


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
