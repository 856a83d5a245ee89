"""Writes spool files from Python: one file per collector, one thread per file.

Data is in the page cache as soon as it is written, so it survives ``kill -9`` of the writer. Space is reserved before
pages are touched: a full disk causes counted losses, never SIGBUS.
"""

from __future__ import annotations

import errno
import mmap
import os
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpline.i18n import english
from warpline.recording.spool.file_layout import (
    CHUNK,
    CHUNK_HEADER_BYTES,
    CHUNK_MAGIC,
    COMMITTED_OFFSET,
    ERROR_OFFSET,
    FINISHED_OFFSET,
    HEADER,
    HEADER_BYTES,
    LOST_OFFSET,
    MAGIC,
    NEXT_OFFSET,
    PAGE,
    STRING_RECORD,
    VERSION,
)

_SMALLEST_CHUNK = 16 << 10
_LARGEST_CHUNK = 1 << 20
_U64 = struct.Struct("<Q")
_U32 = struct.Struct("<I")

_MADV_POPULATE_WRITE = 23
"""Linux 5.14; older kernels answer EINVAL."""


@dataclass
class _OpenChunk:
    memory: mmap.mmap
    size: int
    used: int


def _mapped(descriptor: int, size: int, offset: int) -> mmap.mmap:
    """Map writable pages. Raises OSError when they cannot be written.

    Reserved space may not suffice: a copy-on-write file system (btrfs) needs more for each write.
    """
    memory = mmap.mmap(descriptor, size, offset=offset)
    try:
        memory.madvise(_MADV_POPULATE_WRITE)
    except OSError as error:
        if error.errno == errno.EFAULT:
            memory.close()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
    return memory


class SpoolWriter:
    """A spool file that is being written. Not thread-safe."""

    def __init__(self, path: Path, producer: str, *, size_cap_bytes: int = 0) -> None:
        """Raises OSError when the file cannot be created, also when the disk is full."""
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(self._descriptor, 0, HEADER_BYTES)
            self._header = _mapped(self._descriptor, HEADER_BYTES, 0)
        except OSError:
            os.close(self._descriptor)
            path.unlink()
            raise
        self._next = HEADER_BYTES
        self._cap = size_cap_bytes
        self._chunks: dict[tuple[int, int], _OpenChunk] = {}
        self._strings: dict[str, int] = {"": 0}
        self._tid = os.getpid()
        self.lost = 0
        self.error = 0
        HEADER.pack_into(
            self._header, 0, MAGIC, VERSION, os.getpid(), time.monotonic_ns(), time.time_ns(), self._next, 0,
            os.getppid(), 0, 0, producer.encode()[:63], size_cap_bytes,
        )  # fmt: skip

    @property
    def trouble(self) -> str:
        """Why records were lost; empty if none were."""
        return english("the spool could not grow: {why}", why=os.strerror(self.error)) if self.error else ""

    def append(self, record_type: int, records: Any, *, size: int = 0, free: int = 0) -> int:
        """Write fixed-size records; returns how many were written. The others are counted as lost.

        ``records`` is a structured array, or bytes of records of ``size`` bytes each.
        """
        view = memoryview(records)
        size = size or view.itemsize
        raw = view if view.format == "B" else memoryview(view.tobytes())
        total, written = len(raw) // size, 0
        while written < total:
            chunk = self._room(record_type, size, free, size, (total - written) * size)
            if chunk is None:
                self.count_lost(total - written)
                return written
            count = min(total - written, (chunk.size - CHUNK_HEADER_BYTES - chunk.used) // size)
            self._put(chunk, raw[written * size : (written + count) * size])
            written += count
        return written

    def append_packed(self, record_type: int, record: bytes, *, free: int = 0) -> bool:
        """Write one fixed-size record; False when it was lost."""
        chunk = self._room(record_type, len(record), free, len(record), len(record))
        if chunk is None:
            self.count_lost(1)
            return False
        self._put(chunk, record)
        return True

    def append_variable(self, record_type: int, record: bytes) -> bool:
        """Write one record of a type whose records differ in size (a multiple of 8); False when it was lost."""
        chunk = self._room(record_type, 0, 0, len(record), len(record))
        if chunk is None:
            self.count_lost(1)
            return False
        self._put(chunk, record)
        return True

    def string(self, text: str) -> int:
        """The id of an interned string, which is written if new; 0 (empty) when there is no space."""
        number = self._strings.get(text)
        if number is not None:
            return number
        raw = text.encode("utf-8", "replace")[: 32 << 10]
        number = len(self._strings)
        record = struct.pack("<II", number, len(raw)) + raw + bytes(-len(raw) % 8)
        if not self.append_variable(STRING_RECORD, record):
            return 0
        self._strings[text] = number
        return number

    def count_lost(self, count: int) -> None:
        """Add to the number of lost records that the header shows."""
        self.lost += count
        _U64.pack_into(self._header, LOST_OFFSET, self.lost)

    def close(self) -> None:
        """Mark the file as complete and close it."""
        _U32.pack_into(self._header, FINISHED_OFFSET, 1)
        for chunk in self._chunks.values():
            chunk.memory.close()
        self._chunks.clear()
        self._header.close()
        os.close(self._descriptor)

    def _put(self, chunk: _OpenChunk, raw: bytes | memoryview) -> None:
        first = CHUNK_HEADER_BYTES + chunk.used
        chunk.memory[first : first + len(raw)] = raw
        chunk.used += len(raw)
        # Written after the records, so that readers never see an incomplete one. The interpreter's own locking orders
        # the two stores for other processes of this machine.
        _U64.pack_into(chunk.memory, COMMITTED_OFFSET, chunk.used)

    def _room(
        self, record_type: int, record_bytes: int, free: int, least: int, wanted: int
    ) -> _OpenChunk | None:
        """A chunk with space for at least ``least`` bytes, a new one if necessary; None when there is no space."""
        chunk = self._chunks.get((record_type, free))
        if chunk is not None and chunk.size - CHUNK_HEADER_BYTES - chunk.used >= least:
            return chunk
        size = max(_SMALLEST_CHUNK, min(_LARGEST_CHUNK, max(wanted, 4 * chunk.size if chunk else 0)))
        size = -(-max(size, least + CHUNK_HEADER_BYTES) // PAGE) * PAGE
        memory = self._reserve(size)
        if memory is None and size > _SMALLEST_CHUNK:
            # Try a small chunk for the last space of a disk.
            size = -(-max(PAGE, least + CHUNK_HEADER_BYTES) // PAGE) * PAGE
            memory = self._reserve(size)
        if memory is None:
            return None
        if chunk is not None:
            chunk.memory.close()
        CHUNK.pack_into(memory, 0, CHUNK_MAGIC, record_type, record_bytes, self._tid, size, 0, free)
        chunk = self._chunks[record_type, free] = _OpenChunk(memory, size, 0)
        return chunk

    def _reserve(self, size: int) -> mmap.mmap | None:
        if self._cap and self._next + size > self._cap:
            self._note_error(errno.EFBIG)
            return None
        try:
            os.posix_fallocate(self._descriptor, self._next, size)
            memory = _mapped(self._descriptor, size, self._next)
        except OSError as error:
            self._note_error(error.errno or errno.EIO)
            return None
        self._next += size
        _U64.pack_into(self._header, NEXT_OFFSET, self._next)
        return memory

    def _note_error(self, number: int) -> None:
        self.error = number
        _U32.pack_into(self._header, ERROR_OFFSET, number)
