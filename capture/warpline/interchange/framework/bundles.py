"""Expands folders and archives into the traces in them; each trace is a rank."""

from __future__ import annotations

import contextlib
import re
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from pathlib import Path
from shlex import quote
from typing import IO

from warpline.i18n import tr
from warpline.interchange.framework.detection import detect, read_head
from warpline.interchange.framework.runs import one_of_each_run
from warpline.interchange.framework.unpacking import UNPACKING_ERRORS, ZIP_MAGIC
from warpline.model import ImportFormatError, StorageError
from warpline.model.progress import IsCancelled, Progress, check_cancelled, unwatched
from warpline.platform.held_folders import TemporaryFolder
from warpline.storage import is_capture

_TAR_MAGIC_AT = 257
_TAR_MAGIC = b"ustar"
_PART_BYTES = 1 << 20
_FREE_SHARE = 0.5
"""Share of the free temporary disk space that an archive may fill."""
_PLAIN_NAME = re.compile(r"[^\w.()+-]+")

Open = Callable[[], "IO[bytes] | None"]


def is_bundle(path: Path) -> bool:
    """Whether the path is a folder, or an archive of several files."""
    if path.is_dir():
        return True
    try:
        with path.open("rb") as file:
            is_zip = file.read(4) == ZIP_MAGIC
        if is_zip:
            with zipfile.ZipFile(path) as archive:
                return sum(not member.filename.endswith("/") for member in archive.infolist()) > 1
    except UNPACKING_ERRORS:
        return False
    try:
        return read_head(path, 512)[_TAR_MAGIC_AT:].startswith(_TAR_MAGIC)
    except ImportFormatError:
        return False


class TraceFiles(list[Path]):
    """Traces to open; ``left_out`` are files of the same runs in other formats, and older runs."""

    def __init__(self) -> None:
        super().__init__()
        self.left_out: list[Path] = []


@contextlib.contextmanager
def traces_of(
    paths: Sequence[Path], cancelled: IsCancelled, progress: Progress = unwatched
) -> Iterator[TraceFiles]:
    """The traces among and inside the paths; archives stay unpacked until the context ends.

    Ignores other files. Raises ImportFormatError when a folder or archive holds no trace or cannot be unpacked,
    StorageError when the disk is too full, Cancelled.
    """
    with contextlib.ExitStack() as unpacked:
        traces = TraceFiles()
        for path in paths:
            if not is_bundle(path):
                traces.append(path)
                continue
            folder = path
            if not path.is_dir():
                temporary = TemporaryFolder(Path(tempfile.gettempdir()))
                unpacked.callback(temporary.close)
                folder = temporary.path
                _unpack(path, folder, cancelled)
            chosen, others = one_of_each_run(_traces_in(folder, path, cancelled, progress))
            traces += chosen
            traces.left_out += others
        yield traces


def _traces_in(
    folder: Path, bundle: Path, cancelled: IsCancelled, progress: Progress
) -> list[tuple[Path, str]]:
    """The traces in a folder, with the names of their importers."""
    traces: list[tuple[Path, str]] = []
    reason: str | None = None
    for path in sorted(folder.rglob("*")):
        check_cancelled(cancelled)
        if not path.is_file() or path.is_symlink():
            continue
        progress(0.0, tr("looking for traces in {name}: {file}", name=bundle.name, file=path.name))
        try:
            importer = detect(path)
        except ImportFormatError as error:
            reason = reason or str(error).replace(f"{folder}/", "")
        else:
            traces.append((path, importer.name))
    if not traces:
        if bundle.is_dir() and any(path.is_file() and is_capture(path) for path in folder.rglob("*.h5")):
            raise ImportFormatError(
                tr(
                    "{path} holds only Warpline captures. Open one of them, or compare all: warpline job {quoted}",
                    path=bundle,
                    quoted=quote(str(bundle)),
                )
            )
        raise ImportFormatError(
            tr("{path} holds no trace that Warpline can import: {reason}", path=bundle, reason=reason)
            if reason
            else tr("{path} holds no files", path=bundle)
        )
    return traces


def _unpack(archive: Path, folder: Path, cancelled: IsCancelled) -> None:
    left = int(shutil.disk_usage(folder).free * _FREE_SHARE)
    try:
        with contextlib.closing(_members(archive)) as members:
            for name, opened in members:
                source = opened()
                if source is None:
                    continue
                target = _place(folder, name)
                target.parent.mkdir(parents=True, exist_ok=True)
                with source, target.open("wb") as out:
                    while part := source.read(_PART_BYTES):
                        check_cancelled(cancelled)
                        left -= len(part)
                        if left < 0:
                            raise StorageError(
                                tr(
                                    "{path}: unpacking needs more than half of the free disk space",
                                    path=archive,
                                )
                            )
                        out.write(part)
    except (tarfile.TarError, MemoryError, *UNPACKING_ERRORS) as error:
        # The file states the size of its LZMA dictionary, which may exceed the memory there is.
        raise ImportFormatError(
            tr("{path}: the archive is damaged: {error}", path=archive, error=str(error) or repr(error))
        ) from error


def _members(archive: Path) -> Generator[tuple[str, Open], None, None]:
    """The name of each regular file in an archive, and a function that opens it."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            for entry in packed.infolist():
                if not entry.filename.endswith("/"):  # is_dir() fails on an empty name
                    yield entry.filename, partial(packed.open, entry)
        return
    with tarfile.open(archive, "r|*") as stream:
        for member in stream:
            if member.isreg():
                yield member.name, partial(stream.extractfile, member)


def _place(folder: Path, name: str) -> Path:
    """The path for a member, always inside the folder."""
    parts = [_PLAIN_NAME.sub("_", part) for part in re.split(r"[/\\]", name)]
    safe = [part[:100] for part in parts if part.strip(".")]
    return folder.joinpath(*safe) if safe else folder / "unnamed"
