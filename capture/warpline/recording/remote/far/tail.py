"""Follows the spool of a recording and sends what is new in it, so that the other end has the same files.

Bytes up to a chunk's end of committed records are final and are sent before the header that counts them: the mirror is
a valid spool at every moment. Records that change after that (docs/spool.md, *402*, *400*) differ until the checksums
of all chunks are compared at the end.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpline.recording.remote.frames import MAX_DATA_BYTES, FrameType, packed_file, packed_json
from warpline.recording.spool.file_layout import (
    CHUNK,
    CHUNK_HEADER_BYTES,
    CHUNK_MAGIC,
    CLOSED_OFFSET,
    FINISHED_OFFSET,
    HEADER_BYTES,
    MAGIC,
    NEXT_OFFSET,
    PAGE,
    chunk_behind_gap,
)

_SMALL_FILES = frozenset({"session.json", "control", "stderr"})
_MOST_SMALL_BYTES = 512 << 10
_CHUNKS_AT_ONCE = 2_000
_CHECKED_BYTES = 256 << 10
_MOST_GAPS = 256
_UNKNOWN = b"unknown"
"""Stands for the header of a chunk that the mirror has in some state."""


@dataclass
class _Chunk:
    size: int
    key: tuple[int, int, int]
    sent: int = 0
    header: bytes = b""
    is_over: bool = False


@dataclass
class _File:
    page: bytes = b""
    end: int = HEADER_BYTES
    chunks: dict[int, _Chunk] = field(default_factory=dict)
    latest: dict[tuple[int, int, int], int] = field(default_factory=dict)
    gaps: dict[int, int] = field(default_factory=dict)
    """Ends, by their beginning, of places between chunks where none has begun (yet)."""
    open: set[int] = field(default_factory=set)
    held: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Sizes and committed bytes, by offset, of chunks that the mirror has from an earlier connection."""
    is_done: bool = False
    """Whether its writer has finished it and everything was sent."""


class Tail:
    """Follows a spool directory and sends what is new. With ``is_ring``, chunks may be emptied and merged later."""

    def __init__(self, directory: Path, *, is_ring: bool) -> None:
        self._directory = directory
        self._is_ring = is_ring
        self._files: dict[str, _File] = {}
        self._small: dict[str, bytes] = {}

    def news(self) -> Iterator[bytes]:
        """Frames with everything that is new; send as many as the channel has room for, then ask again."""
        for name in _names(self._directory):
            path = f"{self._directory}/{name}"  # four times a second: `Path` would be a fifth of the cost
            try:
                if name in _SMALL_FILES:
                    yield from self._small_file(name, path)
                else:
                    yield from self._spool_file(name, path)
            except OSError:
                continue  # a ring has removed it

    def skip(self, name: Any, chunks: Any) -> None:
        """Leave out what the mirror has from an earlier connection. A ring may have other records there by now.

        Raises TypeError and ValueError.
        """
        if not self._is_ring and name:
            known = self._files.setdefault(str(name), _File())
            known.held.update((offset, (size, committed)) for offset, size, committed in chunks)

    def again(self, name: str, offsets: list[int]) -> None:
        """Send chunks again; -1 stands for the header page."""
        file = self._files.get(name)
        if file is None:
            return
        file.is_done = False
        for offset in offsets:
            if offset < 0:
                file.page = b""
            elif offset in file.chunks:
                chunk = file.chunks[offset]
                chunk.sent, chunk.header, chunk.is_over = 0, b"", False
                file.open.add(offset)

    def check(self, name: str) -> Iterator[bytes]:
        """The checksums of all chunks of a file, in frames."""
        rows: list[list[int]] = []
        room = memoryview(bytearray(_CHECKED_BYTES))  # always the same pages
        try:
            descriptor = os.open(self._directory / name, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            yield packed_json(FrameType.CHECK, {"name": name, "chunks": [], "is_last": True})
            return
        try:
            page = os.pread(descriptor, HEADER_BYTES, 0)
            rows.append([-1, HEADER_BYTES, len(page), zlib.crc32(page)])
            for offset, chunk in self._files.get(name, _File()).chunks.items():
                header = os.pread(descriptor, CHUNK_HEADER_BYTES, offset)
                committed = min(CHUNK.unpack_from(header)[5], chunk.size - CHUNK_HEADER_BYTES)
                checksum, at = zlib.crc32(header), offset + CHUNK_HEADER_BYTES
                while at < offset + CHUNK_HEADER_BYTES + committed:
                    part = min(_CHECKED_BYTES, offset + CHUNK_HEADER_BYTES + committed - at)
                    count = os.preadv(descriptor, [room[:part]], at)
                    checksum = zlib.crc32(room[:count], checksum)
                    at += part
                rows.append([offset, chunk.size, committed, checksum])
        finally:
            os.close(descriptor)
        for first in range(0, len(rows), _CHUNKS_AT_ONCE):
            part = rows[first : first + _CHUNKS_AT_ONCE]
            is_last = first + _CHUNKS_AT_ONCE >= len(rows)
            yield packed_json(FrameType.CHECK, {"name": name, "chunks": part, "is_last": is_last})

    def sizes(self) -> dict[str, int]:
        """Bytes of every file; of those that were sent when the directory has been deleted."""
        if not self._directory.is_dir():
            return {name: file.end for name, file in self._files.items()}
        sizes: dict[str, int] = {}
        for name in _names(self._directory):
            try:
                sizes[name] = os.stat(self._directory / name).st_size
            except OSError:
                continue
        return sizes

    def _small_file(self, name: str, path: str) -> Iterator[bytes]:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            content = os.pread(descriptor, min(os.fstat(descriptor).st_size, _MOST_SMALL_BYTES), 0)
        finally:
            os.close(descriptor)
        if self._small.get(name) != content:
            self._small[name] = content
            yield packed_file(FrameType.WHOLE, name, 0, content)

    def _spool_file(self, name: str, path: str) -> Iterator[bytes]:
        known = self._files.setdefault(name, _File())
        if known.is_done and not self._is_ring:
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            page = os.pread(descriptor, HEADER_BYTES, 0)
            if len(page) < HEADER_BYTES or not page.startswith(MAGIC):
                return  # its writer has just created it
            if page != known.page:
                known.page = page
                yield packed_file(FrameType.PAGE, name, 0, page)
            if self._is_ring:
                self._walk_again(descriptor, known)
            self._walk(descriptor, known, int.from_bytes(page[NEXT_OFFSET : NEXT_OFFSET + 8], "little"))
            is_finished = page[FINISHED_OFFSET : FINISHED_OFFSET + 4] != bytes(4)
            if is_finished:
                for chunk in known.chunks.values():
                    chunk.is_over = True
            for offset in sorted(known.open):
                yield from _chunk(descriptor, name, offset, known)
            known.is_done = is_finished and not known.open
        finally:
            os.close(descriptor)

    def _walk(self, descriptor: int, known: _File, end: int) -> None:
        """Find new chunks."""
        for start, stop in list(known.gaps.items()):
            filled = _chunks(descriptor, start, stop)
            known.chunks.update(filled)
            known.open.update(filled)
            if filled:
                del known.gaps[start]
                last = max(filled)
                if (rest := last + filled[last].size) < stop:
                    known.gaps[rest] = stop
        while True:
            for offset, chunk in _chunks(descriptor, known.end, end).items():
                former = known.latest.get(chunk.key)
                if former is not None and former in known.chunks:
                    known.chunks[former].is_over = True
                known.latest[chunk.key] = offset
                known.chunks[offset] = chunk
                known.open.add(offset)
                known.end = offset + chunk.size
            behind = chunk_behind_gap(descriptor, known.end, end) if known.end + PAGE < end else None
            if behind is None:
                return
            if len(known.gaps) < _MOST_GAPS:
                known.gaps[known.end] = behind
            known.end = behind

    def _walk_again(self, descriptor: int, known: _File) -> None:
        """Look at all chunks of a ring again: some may have been emptied and merged with empty neighbours."""
        offset = HEADER_BYTES
        seen: set[int] = set()
        while offset < known.end:
            if offset in known.gaps:
                offset = known.gaps[offset]
                continue
            header = os.pread(descriptor, CHUNK.size, offset)
            if len(header) < CHUNK.size:
                return
            magic, record_type, _bytes, tid, size, committed, free = CHUNK.unpack(header)
            if magic != CHUNK_MAGIC or size < PAGE or size % PAGE:
                return
            chunk = known.chunks.get(offset)
            if chunk is None or chunk.size != size or committed < chunk.sent:
                known.chunks[offset] = _Chunk(size, (record_type, tid, free))
                known.open.add(offset)
            seen.add(offset)
            offset += size
        for gone in known.chunks.keys() - seen:
            del known.chunks[gone]
            known.open.discard(gone)


def _chunks(descriptor: int, offset: int, end: int) -> dict[int, _Chunk]:
    """The chunks that follow each other from an offset on."""
    chunks: dict[int, _Chunk] = {}
    while offset < end:
        header = os.pread(descriptor, CHUNK.size, offset)
        if len(header) < CHUNK.size:
            break
        magic, record_type, _bytes, tid, size, _committed, free = CHUNK.unpack(header)
        if magic != CHUNK_MAGIC or size < PAGE or size % PAGE:
            break
        chunks[offset] = _Chunk(size, (record_type, tid, free))
        offset += size
    return chunks


def _chunk(descriptor: int, name: str, offset: int, known: _File) -> Iterator[bytes]:
    """Announce a chunk, send its new bytes, then the header that counts them."""
    chunk = known.chunks[offset]
    header = os.pread(descriptor, CHUNK_HEADER_BYTES, offset)
    committed = min(CHUNK.unpack_from(header)[5], chunk.size - CHUNK_HEADER_BYTES)
    size, there = known.held.pop(offset, (0, 0))
    if size == chunk.size and 0 < there <= committed:
        chunk.sent, chunk.header = there, _UNKNOWN
    if not chunk.header:
        empty = header[:24] + bytes(8) + header[32:]
        yield packed_file(FrameType.CHUNK, name, offset, empty)
        chunk.header = empty
    while chunk.sent < committed:
        at = offset + CHUNK_HEADER_BYTES + chunk.sent
        data = os.pread(descriptor, min(MAX_DATA_BYTES, committed - chunk.sent), at)
        if not data:
            return
        chunk.sent += len(data)
        yield packed_file(FrameType.BYTES, name, at, data)
    if header != chunk.header:
        chunk.header = header
        yield packed_file(FrameType.CHUNK, name, offset, header)
    is_closed = header[CLOSED_OFFSET : CLOSED_OFFSET + 4] != bytes(4)
    if (chunk.is_over or is_closed) and chunk.sent == committed:
        known.open.discard(offset)


def _names(directory: Path) -> list[str]:
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    return sorted(name for name in names if name in _SMALL_FILES or name.endswith(".spool"))
