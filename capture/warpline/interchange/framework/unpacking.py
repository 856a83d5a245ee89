"""Unpack gzip as far as it goes: of a cut file, everything before the cut."""

from __future__ import annotations

import zlib
from typing import BinaryIO

_RAW_BYTES = 1 << 18
_GZIP = 31
"""Window bits that make zlib expect a gzip header."""


class GunzipReader:
    """A stream of the content of a gzip file, several members joined. Where it ends early, reading raises EOFError,
    where it is damaged, zlib.error; both only after everything before that place has been returned.
    """

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._unpacker = zlib.decompressobj(_GZIP)
        self._pending = b""
        self._problem: Exception | None = None
        self._at_end = False

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes, fewer only at the end; b"" at the end."""
        parts: list[bytes] = []
        left = size
        while left > 0 and not self._at_end and self._problem is None:
            part = self._part(left)
            parts.append(part)
            left -= len(part)
        if left == size and self._problem is not None:
            raise self._problem
        return b"".join(parts)

    def _part(self, size: int) -> bytes:
        if self._unpacker.eof:
            self._pending = self._unpacker.unused_data
            if len(self._pending) < 2:
                self._pending += self._raw.read(_RAW_BYTES)
            if self._pending[:2] != b"\x1f\x8b":
                self._at_end = True  # nothing, or padding, behind the last member
                return b""
            self._unpacker = zlib.decompressobj(_GZIP)
        if not self._pending:
            self._pending = self._raw.read(_RAW_BYTES)
            if not self._pending:
                self._problem = EOFError("the compressed data ends early")
                return b""
        try:
            part = self._unpacker.decompress(self._pending, size)
        except zlib.error as error:
            self._problem = error
            return b""
        self._pending = self._unpacker.unconsumed_tail
        return part
