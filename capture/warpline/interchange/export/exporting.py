"""Exports a part of a capture in the format given by the file name."""

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
    """Write a part of a capture in the format given by the name of ``out``; returns the path.

    An existing file stays until the new one is complete. Raises UsageError for an unknown format or for overwriting the
    capture itself, ExportError, StorageError, Cancelled.
    """
    path = Path(out)
    exporter = exporter_for(path)
    if path.exists() and capture.path.exists() and path.samefile(capture.path):
        raise UsageError(tr("{out} is the capture itself; choose another name", out=path))
    if not path.parent.is_dir():
        raise ExportError(
            tr("{out}: the directory {directory} does not exist", out=path, directory=path.parent)
        )
    try:
        return exporter.export(
            ExportJob(
                capture=capture,
                out=path,
                selection=selection or ExportSelection(),
                options=options or ExportOptions(),
                progress=progress or unwatched,
                is_cancelled=cancelled or never,
            )
        )
    except OSError as error:
        raise ExportError(
            tr("{out}: cannot be written: {reason}", out=path, reason=error.strerror or error)
        ) from error
