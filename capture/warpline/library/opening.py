"""From a path to an open capture, whatever the file is: a capture, another profiler's trace, an unfinished
recording, a folder or archive of traces.

Nothing heavy is imported here before a file is opened: the window is on screen before h5py is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from warpline.i18n import tr
from warpline.model.errors import CaptureFormatError, WarplineError
from warpline.model.progress import IsCancelled, Progress

if TYPE_CHECKING:
    from warpline.storage import Capture

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
SPOOL_SUFFIX = ".spool"


@dataclass(frozen=True)
class Opened:
    """A capture and the file that was asked for, which differ when it had to be converted."""

    capture: Capture
    source: Path


def open_path(path: Path, progress: Progress, is_cancelled: IsCancelled) -> Opened:
    """Open a capture; convert a file of another profiler, or finish a recording left in its spool, and open that.

    Raises WarplineError with one line for everything that can be wrong with a file, Cancelled.
    """
    progress(0.0, tr("opening {name}", name=path.name))
    if path.is_dir():
        if path.name.endswith(SPOOL_SUFFIX):
            return _recover(path, progress)
        return open_converted([path], progress, is_cancelled)
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
    return open_converted([path], progress, is_cancelled)


def open_or_convert(path: Path, progress: Progress, is_cancelled: IsCancelled) -> Opened:
    """Open a capture as it is, damaged in places or not; a file that an importer recognises is converted first.

    Unlike `open_path` it finishes no recording. Raises WarplineError with one line, Cancelled.
    """
    from warpline.storage import is_capture, open_capture

    if path.is_dir():
        raise CaptureFormatError(_next_for_folder(path))
    try:
        return Opened(open_capture(path), path)
    except CaptureFormatError:
        if not path.is_file() or is_capture(path) or (_is_hdf5_or_empty(path) and not _is_recognised(path)):
            raise
    # If no importer recognises it, the error says what the file seems to be.
    return open_converted([path], progress, is_cancelled)


def _next_for_folder(path: Path) -> str:
    quoted = quote(str(path))
    if path.name.endswith(SPOOL_SUFFIX):
        return tr(
            "{path}: a recording that was not finished; finish it with: warpline recover {quoted}",
            path=path,
            quoted=quoted,
        )
    return tr(
        "{path}: a folder; name a file in it, or see its ranks side by side with: warpline job {quoted}",
        path=path,
        quoted=quoted,
    )


def open_converted(
    paths: Sequence[Path],
    progress: Progress,
    is_cancelled: IsCancelled,
    *,
    format: str | None = None,  # noqa: A002  # named like the option --format
    align: str = "auto",
) -> Opened:
    """Open what `import_files` makes of traces, from the cache when it was made before.

    Raises ImportFormatError, UsageError, StorageError, Cancelled.
    """
    from warpline._version import __version__
    from warpline.interchange import detect, import_files, is_capture, join_files
    from warpline.interchange.framework.bundles import is_bundle, traces_of
    from warpline.interchange.framework.registry import importer_named
    from warpline.storage import ConversionCache

    bundles = [is_bundle(path) for path in paths]
    importers = [
        importer_named(format) if format else detect(path)
        for path, several in zip(paths, bundles, strict=True)
        if not several and not (len(paths) > 1 and is_capture(path))
    ]
    join = join_files if len(paths) > 1 and any(map(is_capture, paths)) else import_files

    def convert(target: Path, progress: Progress, is_cancelled: IsCancelled) -> Path:
        if importers:
            named = {"name": paths[0].name, "format": importers[0].title}
            progress(0.0, tr("converting {name} ({format})", **named))
        return join(paths, target, format=format, align=align, progress=progress, cancelled=is_cancelled)

    # Another version may convert better, so each version has entries of its own.
    converter = f"{' '.join(importer.name for importer in importers)} {__version__}"
    if any(bundles):
        converter += " bundle"
    if align != "auto":
        converter += f" {align}"
    # A capture of a folder was made from the traces in it; an archive is one file.
    with traces_of([path for path in paths if path.is_dir()], is_cancelled, progress) as inside:
        sources = [path for path in paths if not path.is_dir()] + inside
        working = ConversionCache().get(sources, converter, convert, progress, is_cancelled)
    return Opened(_open_capture(working, progress, is_cancelled), paths[0])


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
    from warpline.storage import is_capture

    return not is_capture(path) and _is_recognised(path)


def _is_hdf5_or_empty(path: Path) -> bool:
    with path.open("rb") as file:
        magic = file.read(len(HDF5_MAGIC))
    return magic in (b"", HDF5_MAGIC)


def _is_recognised(path: Path) -> bool:
    """Whether an importer recognises a file."""
    from warpline.interchange import detect

    try:
        detect(path)
    except WarplineError:
        return False
    return True


def _open_capture(path: Path, progress: Progress, is_cancelled: IsCancelled) -> Capture:
    from warpline.storage import open_capture

    capture = open_capture(path, progress=progress, cancelled=is_cancelled)
    try:
        _read_directories(capture)
    except WarplineError:
        capture.close()
        raise
    return capture


def _read_directories(capture: Capture) -> None:
    """Read everything that is otherwise read on first use: damage is then reported now, not in the middle of work.

    Columns of a capture that is mapped are views: this costs their number, not their length.
    """
    _ = capture.links, capture.counters_of_tracks, capture.kind_of_code, capture.stacks
    _ = capture.notices
    for table in capture.kinds.values():
        _ = table.stored_rows
        for attribute in table.attributes:
            table.column(attribute)
    start, stop = capture.span
    for track in list(capture.groups)[:1]:  # the curves of all are in one table
        capture.utilization(track, start, max(stop, start + 1), 1)


def _recover(spool: Path, progress: Progress) -> Opened:
    from warpline.recording.recover import recover
    from warpline.recording.spool.directory import capture_in_place

    progress(0.0, tr("finishing the recording {name}", name=spool.name))
    # Look this up first: if the capture is complete already, `recover` removes the spool, which names it.
    complete = capture_in_place(spool)
    done = recover(spool)
    path = done.path if done is not None else complete
    return Opened(_open_capture(path, progress, lambda: False), path)
