"""Exports a part of a capture in the format given by the file name."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from warpline.i18n import tr
from warpline.interchange.export.exporter import ExportJob, ExportOptions
from warpline.interchange.export.registry import exporter_for
from warpline.interchange.export.selection import ExportSelection
from warpline.model import ExportError, UsageError
from warpline.model.progress import IsCancelled, Progress, never, unwatched
from warpline.storage import Capture, open_capture


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
    if options is not None and options.anonymize:
        options = replace(options, notes=(), rows=())
        if exporter.name != "capture":
            return _export_anonymous(capture, path, selection, options, progress, cancelled)
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


def _export_anonymous(
    capture: Capture,
    out: Path,
    selection: ExportSelection | None,
    options: ExportOptions,
    progress: Progress | None,
    cancelled: IsCancelled | None,
) -> Path:
    """Export an anonymous capture of the part, in a folder that is removed then."""
    with tempfile.TemporaryDirectory(prefix="warpline-") as folder:
        middle = Path(folder, "capture.h5")
        export_capture(capture, middle, selection, replace(options, compress=False), None, cancelled)
        with open_capture(middle) as anonymous:
            return export_capture(
                anonymous, out, None, replace(options, anonymize=False), progress, cancelled
            )
