"""Reads small spool files without numpy, for programs that try a source (docs/spool.md)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpline.platform.files import read_regular
from warpline.recording.spool.file_layout import (
    CHUNK,
    CHUNK_HEADER_BYTES,
    CHUNK_MAGIC,
    HEADER_BYTES,
    MAGIC,
    PAGE,
    STRING_RECORD,
)
from warpline.recording.spool.record_layout import RecordLayout

_MOST_BYTES = 64 << 20
"""The largest file read; a trial of a source writes far less."""


@dataclass(frozen=True)
class PlainChunk:
    """Records of one type; ``payload`` is the committed bytes."""

    record_type: int
    record_bytes: int
    payload: bytes


class PlainSpool:
    """The content of a small spool file."""

    def __init__(self, data: bytes) -> None:
        self.chunks = tuple(_chunks(data))
        self.strings = {0: ""}
        for chunk in self._of_type(STRING_RECORD):
            payload, at = chunk.payload, 0
            while at + 8 <= len(payload):
                number, length = struct.unpack_from("<II", payload, at)
                self.strings[number] = payload[at + 8 : at + 8 + length].decode("utf-8", "replace")
                at += 8 + length + -length % 8

    def rows(self, record_type: int, layout: RecordLayout) -> Iterator[dict[str, Any]]:
        """The fields of all records of a type."""
        for chunk in self._of_type(record_type):
            if chunk.record_bytes == layout.itemsize:
                yield from layout.rows(chunk.payload)

    def text(self, number: int) -> str:
        """The string of an id; ``?`` for an id that was never defined."""
        return self.strings.get(number, "?")

    def _of_type(self, record_type: int) -> list[PlainChunk]:
        return [chunk for chunk in self.chunks if chunk.record_type == record_type]


def read_plain(directory: Path) -> list[PlainSpool]:
    """All spool files of a directory, sorted by name."""
    contents = (read_regular(path, _MOST_BYTES) for path in sorted(directory.glob("*.spool")))
    return [PlainSpool(data) for data in contents if data.startswith(MAGIC)]


def _chunks(data: bytes) -> Iterator[PlainChunk]:
    position = HEADER_BYTES
    while position + PAGE <= len(data):
        magic, record_type, record_bytes, _tid, size, committed, _free = CHUNK.unpack_from(data, position)
        if magic != CHUNK_MAGIC or size < PAGE or size % PAGE:
            # Agents reserve space ahead: the rest is zeros, or a page that was skipped.
            position += PAGE
            continue
        first = position + CHUNK_HEADER_BYTES
        payload = data[first : first + min(committed, size - CHUNK_HEADER_BYTES)]
        yield PlainChunk(record_type, record_bytes, payload)
        position += size
