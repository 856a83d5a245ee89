"""Unpacks gzip and zip. Of a truncated file, everything before the cut is read."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, cast

from warpline.i18n import tr
from warpline.model import ImportFormatError

if TYPE_CHECKING:
    import zlib as inflate
else:
    try:
        from isal import isal_zlib as inflate
    except ImportError:  # not built for this platform
        import zlib as inflate

GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"
_PACKED_BYTES = 1 << 16
_UNPACKED_BYTES = 1 << 18
"""At most this many bytes before the damage are lost."""
_GZIP, _RAW = 31, -15
"""Window bits for zlib: with a gzip header, and without."""
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_PLAIN_DEFLATED = 0x2 | 0x4 | 0x8 | 0x800
"""Flags of zip members that do not affect reading: compression level, sizes after the data, UTF-8 names."""

UNPACKING_ERRORS = (
    EOFError, OSError, RuntimeError, ValueError, LookupError, struct.error, zlib.error, inflate.error, lzma.LZMAError,
    zipfile.BadZipFile,
)  # fmt: skip
"""What reading a damaged archive may raise. ValueError: undecodable names and numbers; LookupError: empty names."""


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes, b"" at the end."""
        ...

    def readinto(self, room: memoryview, /) -> int | None:
        """Fills the memory from its start; returns the number of bytes, 0 or None at the end."""
        ...


def unpacked(raw: BinaryIO, path: Path) -> Readable:
    """The content of an open file as a stream; unpacks gzip, and the largest member of a zip archive.

    Closing the stream leaves ``raw`` open. Raises ImportFormatError for an unreadable archive.
    """
    magic = raw.read(4)
    raw.seek(0)
    if magic[:2] == GZIP_MAGIC:
        return InflateReader(raw)
    if magic != ZIP_MAGIC:
        return cast("Readable", raw)  # open files have both methods; their type does not say so
    try:
        archive = zipfile.ZipFile(raw)
        members = [member for member in archive.infolist() if not member.filename.endswith("/")]
        if not members:
            raise ImportFormatError(tr("{path} is an empty zip archive", path=path))
        return _member(raw, archive, max(members, key=lambda member: member.file_size))
    except UNPACKING_ERRORS as error:
        raise ImportFormatError(
            tr("{path}: the zip archive is damaged: {error}", path=path, error=error)
        ) from error


def _member(raw: BinaryIO, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Readable:
    if member.compress_type != zipfile.ZIP_DEFLATED or member.flag_bits & ~_PLAIN_DEFLATED:
        return cast("Readable", archive.open(member))
    raw.seek(member.header_offset)
    header = raw.read(_LOCAL_HEADER.size)
    if len(header) < _LOCAL_HEADER.size or header[:4] != ZIP_MAGIC:
        raise zipfile.BadZipFile("a member is not where the directory says")
    _magic, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(header)
    raw.seek(name_bytes + extra_bytes, 1)
    return InflateReader(raw, member)


class InflateReader:
    """The content of a gzip file (all its members joined) or of a zip member, as a stream.

    ``raw`` is positioned at the packed data. Reading raises EOFError if the data ends early and another of
    `UNPACKING_ERRORS` if it is damaged, after returning everything before that place.
    """

    def __init__(self, raw: BinaryIO, member: zipfile.ZipInfo | None = None) -> None:
        self._raw = raw
        self._member = member
        self._left = member.compress_size if member is not None else None
        self._checksum = 0
        self._unpacker: Any = inflate.decompressobj(_GZIP if member is None else _RAW)
        self._pending = b""
        self._problem: Exception | None = None
        self._at_end = False

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes, fewer only at the end; b"" at the end."""
        return b"".join(self._parts(size))

    def readinto(self, room: memoryview) -> int:
        """Fills the memory; returns the number of bytes, fewer than its size only at the end."""
        filled = 0
        for part in self._parts(len(room)):
            room[filled : filled + len(part)] = part
            filled += len(part)
        return filled

    def _parts(self, size: int) -> Iterator[bytes]:
        left = size
        while left > 0 and not self._at_end and self._problem is None:
            part = self._part(min(left, _UNPACKED_BYTES))
            left -= len(part)
            yield part
        if left == size and self._problem is not None:
            # A new exception each time: a raised one keeps the reader's frame alive, and with it this object.
            raise type(self._problem)(*self._problem.args)

    def _part(self, size: int) -> bytes:
        if self._unpacker.eof and not self._is_next_member():
            self._at_end = True
            return b""
        if not self._pending:
            self._pending = self._packed()
            if not self._pending:
                self._problem = EOFError("the compressed data ends early")
                return b""
        try:
            part: bytes = self._unpacker.decompress(self._pending, size)
        except (zlib.error, inflate.error) as error:
            self._problem = error.with_traceback(None)
            return b""
        self._pending = self._unpacker.unconsumed_tail
        if self._member is not None:
            self._check(part, self._member)
        return part

    def _packed(self) -> bytes:
        if self._left is None:
            return self._raw.read(_PACKED_BYTES)
        part = self._raw.read(min(_PACKED_BYTES, self._left))
        self._left -= len(part)
        return part

    def _is_next_member(self) -> bool:
        """Whether another gzip member follows, rather than padding or the end."""
        if self._member is not None:
            return False
        self._pending = self._unpacker.unused_data
        if len(self._pending) < 2:
            self._pending += self._packed()
        if self._pending[:2] != GZIP_MAGIC:
            return False
        self._unpacker = inflate.decompressobj(_GZIP)
        return True

    def _check(self, part: bytes, member: zipfile.ZipInfo) -> None:
        self._checksum = inflate.crc32(part, self._checksum)
        if self._unpacker.eof and self._checksum != member.CRC:
            self._problem = zipfile.BadZipFile(f"Bad CRC-32 for file {member.filename!r}")
