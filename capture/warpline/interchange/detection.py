"""What format a file is in, judged by its content."""

from __future__ import annotations

import gzip
import lzma
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

from warpline.i18n import tr
from warpline.interchange import registry
from warpline.interchange.importer import Importer
from warpline.model import ImportFormatError

HEAD_BYTES = 1 << 20
"""How much of a file's (unpacked) beginning an importer gets to see: metadata may precede the first event."""

GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"


def open_unpacked(path: Path) -> BinaryIO:
    """The file's content as a stream, taken out of gzip or zip (its largest member) when it is packed.

    Raises ImportFormatError when it is an archive nothing can be read from, OSError when it cannot be opened.
    """
    with path.open("rb") as file:
        magic = file.read(4)
    if magic[:2] == GZIP_MAGIC:
        return gzip.open(path, "rb")
    if magic == ZIP_MAGIC:
        try:
            with zipfile.ZipFile(path) as archive:
                members = [member for member in archive.infolist() if not member.is_dir()]
                if not members:
                    raise ImportFormatError(tr("{path}: an empty zip archive", path=path))
                # The member's stream keeps the archive's file open after the archive object is closed.
                return archive.open(max(members, key=lambda member: member.file_size))  # type: ignore[return-value]  # IO[bytes]
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
            raise ImportFormatError(
                tr("{path}: the zip archive cannot be read: {error}", path=path, error=error)
            ) from error
    return path.open("rb")


def read_head(path: Path) -> bytes:
    """The first :data:`HEAD_BYTES` of the unpacked content; what could be read when the archive is damaged.

    Raises ImportFormatError when the file is empty, is a folder, or cannot be opened.
    """
    try:
        if path.is_dir():
            raise ImportFormatError(tr("{path}: a folder; give the files in it", path=path))
        stream = open_unpacked(path)
    except OSError as error:
        raise ImportFormatError(tr("{path}: {reason}", path=path, reason=error.strerror or error)) from error
    parts: list[bytes] = []
    left = HEAD_BYTES
    with stream:
        try:
            while left and (part := stream.read(min(left, 1 << 16))):
                parts.append(part)
                left -= len(part)
        except (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError):
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
    if best is None:
        titles = "; ".join(importer.title for importer in registry.importers())
        raise ImportFormatError(
            tr("{path}: not in a format Warpline can import (it reads: {titles})", path=path, titles=titles)
        )
    return best
