"""How much a recording may keep: a ring of the last minutes, a size, a time. Looked after while it runs."""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from warpline.i18n import english
from warpline.recording.session import RecordingOptions
from warpline.recording.spool.reader import (
    CHUNK,
    CHUNK_MAGIC,
    CLOSED_OFFSET,
    COMMITTED_OFFSET,
    FINISHED_OFFSET,
    HEADER_BYTES,
    PAGE,
)

_SIZE_OFFSET = 16
_U64 = struct.Struct("<Q")
_KEEP_SIZE, _PUNCH_HOLE = 1, 2
_LOOK_NS = 200_000_000
_LEAST_BETWEEN_NS = 1_000_000_000

_OF_PROCESSES = "agent."
"""How files begin that a process wrote about itself alone."""
_FLAG = struct.Struct("<I")

_Key = tuple[int, int, int]
_Piece = tuple[int, int]
"""Offset and bytes of a chunk."""


class Limits:
    """What `RecordingOptions` says about a ring, a size and a time, for one spool directory."""

    def __init__(
        self, directory: Path, options: RecordingOptions, passing: Iterable[int], now_ns: int
    ) -> None:
        """``passing`` are types of records that a ring may let go; ``now_ns`` (CLOCK_MONOTONIC) is the beginning."""
        self._directory = directory
        self._options = options
        self._passing = frozenset(passing)
        self._begun_ns = now_ns
        self._look_due = self._ring_due = 0
        self._files: dict[str, _RingFile] = {}

    def look(self, now_ns: int) -> str:
        """Let go of what has left the ring; why the recording has to end now, empty while it may go on."""
        options = self._options
        if now_ns < self._look_due:
            return ""
        self._look_due = now_ns + _LOOK_NS
        if options.ring_ns and now_ns >= self._ring_due:
            self._ring_due = now_ns + max(options.ring_ns // 20, _LEAST_BETWEEN_NS)
            self._turn(now_ns)
        if options.max_duration_ns and now_ns - self._begun_ns >= options.max_duration_ns:
            return english("the recording ended after --max-duration")
        if options.max_size_bytes and self._bytes() >= options.max_size_bytes:
            return english("the recording ended when it had grown to --max-size")
        return ""

    def _bytes(self) -> int:
        """What the spool takes on the disk."""
        total = 0
        with contextlib.suppress(OSError), os.scandir(self._directory) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
        return total

    def _turn(self, now_ns: int) -> None:
        with contextlib.suppress(OSError):
            for name in os.listdir(self._directory):
                if name.endswith(".spool"):
                    known = self._files.setdefault(name, _RingFile())
                    with contextlib.suppress(OSError):
                        path, before_ns = self._directory / name, now_ns - self._options.ring_ns
                        is_of_process = name.startswith(_OF_PROCESSES)
                        if not (is_of_process and known.is_finished):
                            known.turn(path, self._passing, now_ns, before_ns)
                        if is_of_process and known.has_left(path, now_ns, before_ns):
                            path.unlink()
                            del self._files[name]


@dataclass
class _RingFile:
    """One spool file seen by its ring: where its chunks are, and since when each has a successor.

    A chunk is full once its writer has begun another one for the same records, or its thread has ended and closed it;
    from then on nobody writes into it.
    """

    _position: int = HEADER_BYTES
    _latest: dict[_Key, _Piece] = field(default_factory=dict)
    _full: deque[tuple[int, _Piece]] = field(default_factory=deque)
    _emptied: dict[int, _Piece] = field(default_factory=dict)
    """By its end, what was emptied."""
    _emptied_from: dict[int, int] = field(default_factory=dict)
    """By its beginning, how many bytes of it."""
    _finished_ns: int | None = None

    def turn(self, path: Path, passing: frozenset[int], now_ns: int, before_ns: int) -> None:
        """Find what is new, let go of chunks that were full before ``before_ns``. Raises OSError."""
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            self._read_on(descriptor, passing, now_ns)
            self._find_closed(descriptor, now_ns)
            while self._full and self._full[0][0] < before_ns:
                self._empty(descriptor, *self._full.popleft()[1])
        finally:
            os.close(descriptor)

    @property
    def is_finished(self) -> bool:
        """Whether its writer had finished it when it was last looked at: it goes as a whole."""
        return self._finished_ns is not None

    def has_left(self, path: Path, now_ns: int, before_ns: int) -> bool:
        """Whether its writer finished it before ``before_ns``, as far as was seen. Raises OSError."""
        if self._finished_ns is None:
            with path.open("rb") as file:
                file.seek(FINISHED_OFFSET)
                raw = file.read(_FLAG.size)
            if len(raw) == _FLAG.size and _FLAG.unpack(raw)[0]:
                self._finished_ns = now_ns
        return self._finished_ns is not None and self._finished_ns < before_ns

    def _read_on(self, descriptor: int, passing: frozenset[int], now_ns: int) -> None:
        while len(raw := os.pread(descriptor, CHUNK.size, self._position)) == CHUNK.size:
            magic, record_type, _bytes, tid, size, _committed, free = CHUNK.unpack(raw)
            if magic != CHUNK_MAGIC or size < PAGE or size % PAGE:
                return
            if record_type in passing:
                key = (record_type, tid, free)
                former = self._latest.get(key)
                if former is not None:
                    self._full.append((now_ns, former))
                self._latest[key] = (self._position, size)
            self._position += size

    def _find_closed(self, descriptor: int, now_ns: int) -> None:
        for key, piece in list(self._latest.items()):
            raw = os.pread(descriptor, _FLAG.size, piece[0] + CLOSED_OFFSET)
            if len(raw) == _FLAG.size and _FLAG.unpack(raw)[0]:
                self._full.append((now_ns, piece))
                del self._latest[key]

    def _empty(self, descriptor: int, offset: int, size: int) -> None:
        """Give a chunk's room back. A reader finds an empty chunk at every moment; neighbours become one."""
        os.pwrite(descriptor, _U64.pack(0), offset + COMMITTED_OFFSET)
        before = self._emptied.pop(offset, None)
        first = offset + PAGE
        if before is not None:
            first, offset, size = offset, before[0], before[1] + size
            os.pwrite(descriptor, _U64.pack(size), offset + _SIZE_OFFSET)
        # Threads end in another order than they began: what follows may have been emptied already.
        after = self._emptied_from.pop(offset + size, None)
        if after is not None:
            del self._emptied[offset + size + after]
            size += after
            os.pwrite(descriptor, _U64.pack(size), offset + _SIZE_OFFSET)
        self._emptied[offset + size] = (offset, size)
        self._emptied_from[offset] = size
        _punch(descriptor, first, offset + size - first)


def _punch(descriptor: int, offset: int, size: int) -> None:
    if size > 0 and _fallocate()(descriptor, _KEEP_SIZE | _PUNCH_HOLE, offset, size):
        # A file system without holes keeps the room; what is in it is no longer read.
        return


@lru_cache(maxsize=1)
def _fallocate() -> Any:
    function = ctypes.CDLL(None, use_errno=True).fallocate
    function.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    return function
