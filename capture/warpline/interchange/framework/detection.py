"""What format a file is in, judged by its content."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO, Protocol

from warpline.i18n import tr, translated
from warpline.interchange.framework import registry
from warpline.interchange.framework.importer import Importer
from warpline.interchange.framework.unpacking import GunzipReader
from warpline.model import ImportFormatError

HEAD_BYTES = 1 << 20
"""How much of a file's (unpacked) beginning an importer gets to see: metadata may precede the first event."""

GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"
UNPACKING_ERRORS = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError)
"""What reading a damaged archive raises."""


class Readable(Protocol):
    """What is read piece by piece."""

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes, b"" at the end."""
        ...


def unpacked(raw: BinaryIO, path: Path) -> Readable:
    """The content of an open file as a stream, taken out of gzip or zip (its largest member) when it is packed.

    Closing the stream leaves ``raw`` open. Raises ImportFormatError when it is an archive nothing can be read from.
    """
    magic = raw.read(4)
    raw.seek(0)
    if magic[:2] == GZIP_MAGIC:
        return GunzipReader(raw)
    if magic != ZIP_MAGIC:
        return raw
    try:
        archive = zipfile.ZipFile(raw)
        members = [member for member in archive.infolist() if not member.is_dir()]
        if not members:
            raise ImportFormatError(tr("{path}: an empty zip archive", path=path))
        return archive.open(max(members, key=lambda member: member.file_size))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as error:
        raise ImportFormatError(
            tr("{path}: the zip archive cannot be read: {error}", path=path, error=error)
        ) from error


def read_head(path: Path) -> bytes:
    """The first :data:`HEAD_BYTES` of the unpacked content; what could be read when the archive is damaged.

    Raises ImportFormatError when the file is empty, is a folder, or cannot be opened.
    """
    try:
        if path.is_dir():
            raise ImportFormatError(tr("{path}: a folder; give the files in it", path=path))
        raw = path.open("rb")
    except OSError as error:
        raise ImportFormatError(tr("{path}: {reason}", path=path, reason=error.strerror or error)) from error
    parts: list[bytes] = []
    left = HEAD_BYTES
    with raw:
        stream = unpacked(raw, path)
        try:
            while left and (part := stream.read(min(left, 1 << 16))):
                parts.append(part)
                left -= len(part)
        except UNPACKING_ERRORS:
            pass  # a cut archive: its beginning is enough to know the format
    head = b"".join(parts)
    if not head:
        raise ImportFormatError(tr("{path}: nothing in it can be read", path=path))
    return head


def detect(path: Path | str) -> Importer:
    """The importer that is surest of this file.

    Raises ImportFormatError when none knows the format.
    """
    path = Path(path)
    head = read_head(path)
    best: Importer | None = None
    confidence = 0.0
    for importer in registry.importers():
        bid = importer.recognise(head, path)
        if bid > confidence:
            best, confidence = importer, bid
    if best is None and head.startswith(b"\x89HDF"):
        from warpline.storage.columns.why_unreadable import why_truncated

        if why := why_truncated(path, path.stat().st_size):
            raise ImportFormatError(tr("{path}: cannot be read: {reason}", path=path, reason=why))
        raise ImportFormatError(
            tr(
                "{path}: an HDF5 file of no kind to import; a capture of Warpline is opened as it is",
                path=path,
            )
        )
    if best is None:
        titles = "; ".join(translated(importer.title) for importer in registry.importers())
        raise ImportFormatError(
            tr("{path}: not in a format Warpline can import (it reads: {titles})", path=path, titles=titles)
        )
    return best
