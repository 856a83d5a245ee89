"""Finds the format of a file from its content."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from warpline.i18n import english, tr, translated
from warpline.interchange.framework import registry
from warpline.interchange.framework.closed_formats import why_closed
from warpline.interchange.framework.importer import POSSIBLE, Importer
from warpline.interchange.framework.unpacking import UNPACKING_ERRORS, unpacked
from warpline.model import ImportFormatError

HEAD_BYTES = 1 << 20
"""How much of the unpacked content importers look at: metadata may precede the first event."""


def read_head(path: Path, size: int = HEAD_BYTES) -> bytes:
    """The first bytes of the unpacked content; fewer when the archive is damaged.

    Raises ImportFormatError when the file is empty, is a folder, or cannot be opened.
    """
    try:
        if path.is_dir():
            raise ImportFormatError(tr("{path} is a folder; name the files in it", path=path))
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
            pass  # the beginning of a cut archive is enough
    head = b"".join(parts)
    if not head:
        raise ImportFormatError(tr("{path} is empty or unreadable", path=path))
    return head


def detect(path: Path | str) -> Importer:
    """The importer that recognises the file with the highest confidence.

    Raises ImportFormatError when none does; the message names known formats and how to convert them.
    """
    path = Path(path)
    return detect_head(read_head(path), path)


def detect_head(head: bytes, path: Path) -> Importer:
    """See `detect`; ``head`` comes from `read_head`."""
    best: Importer | None = None
    confidence = 0.0
    for importer in registry.importers():
        bid = importer.recognise(head, path)
        if bid > confidence:
            best, confidence = importer, bid
    if confidence <= POSSIBLE and (why := why_closed(head, path)):
        raise ImportFormatError(why)
    if best is None:
        raise ImportFormatError(_why_unknown(head, path))
    return best


def _why_unknown(head: bytes, path: Path) -> str:
    if head.startswith(b"\x89HDF"):
        from warpline.storage.columns.why_unreadable import why_truncated

        if why := why_truncated(path, path.stat().st_size):
            return tr("{path}: cannot be read: {reason}", path=path, reason=why)
        return tr(
            "{path}: an HDF5 file, but not a profile. To open a Warpline capture: warpline view {quoted}",
            path=path,
            quoted=quote(str(path)),
        )
    reason = tr(
        "{path}: unknown format: {content}. Warpline imports many profiles (docs/import.md); if this is one, export it "
        "from its tool as Chrome or Perfetto JSON, pprof or collapsed stacks.",
        path=path,
        content=_content(head),
    )
    return " ".join([reason, *map(translated, registry.broken_importers())])


def _content(head: bytes) -> str:
    """What a file seems to hold, by its first bytes."""
    for magic, title in _MAGIC:
        if head.startswith(magic):
            return translated(title)
    if head.lstrip()[:1] in (b"{", b"["):
        return tr("JSON without events, samples or stacks that it knows")
    sample = head[:4096]
    is_text = b"\0" not in sample and sum(byte < 9 for byte in sample) == 0
    return tr("text that is not a profile") if is_text else tr("binary data")


_MAGIC = (
    (b"\x7fELF", english("a program or library")),
    (b"SQLite format 3", english("a database without a profile")),
    (b"PAR1", english("a Parquet table without a profile")),
    (b"\x89PNG", english("a picture")),
    (b"%PDF", english("a document")),
    (b"PK\x03\x04", english("an archive without a profile")),
    (b"\x80", english("a Python pickle")),
)
