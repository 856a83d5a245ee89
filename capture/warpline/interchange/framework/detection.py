"""What format a file is in, judged by its content."""

from __future__ import annotations

from pathlib import Path

from warpline.i18n import tr, translated
from warpline.interchange.framework import registry
from warpline.interchange.framework.closed_formats import why_closed
from warpline.interchange.framework.importer import Importer
from warpline.interchange.framework.unpacking import UNPACKING_ERRORS, unpacked
from warpline.model import ImportFormatError

HEAD_BYTES = 1 << 20
"""How much of a file's (unpacked) beginning an importer gets to see: metadata may precede the first event."""


def read_head(path: Path, size: int = HEAD_BYTES) -> bytes:
    """The first bytes of the unpacked content; what could be read when the archive is damaged.

    Raises ImportFormatError when the file is empty, is a folder, or cannot be opened.
    """
    try:
        if path.is_dir():
            raise ImportFormatError(tr("{path}: a folder; give the files in it", path=path))
        raw = path.open("rb")
    except OSError as error:
        raise ImportFormatError(tr("{path}: {reason}", path=path, reason=error.strerror or error)) from error
    parts: list[bytes] = []
    left = size
    with raw:
        stream = unpacked(raw, path)
        try:
            while left and (part := stream.read(min(left, 1 << 16))):
                parts.append(part)
                left -= len(part)
        except (MemoryError, *UNPACKING_ERRORS):
            pass  # a cut archive: its beginning is enough to know the format
    head = b"".join(parts)
    if not head:
        raise ImportFormatError(tr("{path}: nothing in it can be read", path=path))
    return head


def detect(path: Path | str) -> Importer:
    """The importer that is surest of this file.

    Raises ImportFormatError when none knows the format; of formats of other tools it says how to bring them in.
    """
    path = Path(path)
    return detect_head(read_head(path), path)


def detect_head(head: bytes, path: Path) -> Importer:
    """See `detect`; ``head`` is what `read_head` reads of the file."""
    if why := why_closed(head, path):
        raise ImportFormatError(why)
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
