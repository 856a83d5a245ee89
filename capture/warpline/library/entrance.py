"""`warpline.open` and `warpline.import_trace`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from warpline.i18n import tr
from warpline.library.capture_reader import CaptureReader
from warpline.library.opening import Opened, open_converted, open_path
from warpline.model import UsageError
from warpline.model.progress import IsCancelled, Progress, never, unwatched

AnyPath = str | os.PathLike[str]


def open(  # noqa: A001  # `warpline.open`
    path: AnyPath, *, progress: Progress | None = None, cancelled: IsCancelled | None = None
) -> CaptureReader:
    """Open a capture, or a file that can be turned into one: a profiler's trace is converted once and cached,
    a recording left unfinished (a ``.spool`` folder) is finished.

    ``progress`` is called with a fraction in 0-1 and the current step, ``cancelled`` returns whether to stop.

    Raises CaptureFormatError, ImportFormatError, StorageError, RecordingError, Cancelled.
    """
    return CaptureReader(open_path(Path(path), progress or unwatched, cancelled or never))


def import_trace(
    paths: AnyPath | Iterable[AnyPath],
    out: AnyPath | None = None,
    *,
    format: str | None = None,  # noqa: A002  # named like the option --format
    align: str = "auto",
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
) -> CaptureReader:
    """Convert another profiler's files to a capture and open it; several files are the ranks of one job.

    It is written to ``out``, or kept in the user's cache. ``format`` names an importer (``torch``,
    ``chrome``, ``nsys-sqlite`` …) if the content of a file is ambiguous. ``align`` says how the clocks of several
    files are aligned: ``steps``, ``utc``, ``start`` or ``auto``, the first of these that all files allow.
    A recording among several files is joined with the others, traces of the same run.

    Raises ImportFormatError, UsageError, StorageError, Cancelled.
    """
    files = [Path(paths)] if isinstance(paths, str | os.PathLike) else [Path(path) for path in paths]
    report, is_cancelled = progress or unwatched, cancelled or never
    if not files:
        raise UsageError(tr("no file to import"))
    if out is None:
        opened = open_converted(files, report, is_cancelled, format=format, align=align)
        return CaptureReader(Opened(opened.capture, opened.capture.path))
    from warpline.interchange import import_files, is_capture, join_files

    is_join = len(files) > 1 and any(map(is_capture, files))
    written = (join_files if is_join else import_files)(
        files, Path(out), format=format, align=align, progress=report, cancelled=is_cancelled
    )
    return CaptureReader(open_path(written, report, is_cancelled))
