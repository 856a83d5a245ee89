"""Writes a part of a capture in the format that the name of the file says."""

from __future__ import annotations

from pathlib import Path

from warpline.i18n import tr
from warpline.interchange.export.exporter import ExportJob, ExportOptions
from warpline.interchange.export.registry import exporter_for
from warpline.interchange.export.selection import ExportSelection
from warpline.model import ExportError, UsageError
from warpline.model.progress import IsCancelled, Progress, never, unwatched
from warpline.storage import Capture


def export_capture(
    capture: Capture,
    out: Path | str,
    selection: ExportSelection | None = None,
    options: ExportOptions | None = None,
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
) -> Path:
    """Write a part of a capture in the format that the name of ``out`` says; returns what was written.

    Raises UsageError for a name of no known format and for overwriting the capture itself, ExportError, StorageError,
    Cancelled. What was at ``out`` before stays until the new file is complete.
    """
    path = Path(out)
    exporter = exporter_for(path)
    if path.exists() and capture.path.exists() and path.samefile(capture.path):
        raise UsageError(tr("{out}: this is the capture itself; choose another name", out=path))
    if not path.parent.is_dir():
        raise ExportError(
            tr("{out}: the directory {directory} does not exist", out=path, directory=path.parent)
        )
    try:
        return exporter.export(
            ExportJob(
                capture,
                path,
                selection or ExportSelection(),
                options or ExportOptions(),
                progress or unwatched,
                cancelled or never,
            )
        )
    except OSError as error:
        raise ExportError(
            tr("{out}: cannot be written: {reason}", out=path, reason=error.strerror or error)
        ) from error
