"""Enforces the limits of a recording while it runs: a ring of the last minutes, a size, a duration."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import struct
import sys
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from warpline.i18n import english
from warpline.platform.files import open_regular
from warpline.recording.session import RecordingOptions
from warpline.recording.spool.file_layout import (
    ALLOCATED_OFFSET,
    CHUNK,
    CHUNK_HEADER_BYTES,
    CHUNK_MAGIC,
    CLOSED_OFFSET,
    COMMITTED_OFFSET,
    FINISHED_OFFSET,
    HEADER_BYTES,
    NEXT_OFFSET,
    PAGE,
    chunk_behind_gap,
)
from warpline.recording.spool.living import Lives, living_records, look

_SIZE_OFFSET = 16
_U64 = struct.Struct("<Q")
_KEEP_SIZE, _PUNCH_HOLE = 1, 2
_READ, _SHARED = 1, 1
_LOOK_NS = 200_000_000
_LEAST_BETWEEN_NS = 1_000_000_000

_OF_PROCESSES = "agent."
"""Prefix of the files that a process writes about itself."""
_FLAG = struct.Struct("<I")

_SET_SIGNAL = 10
"""F_SETSIG of fcntl.h, which Python does not define."""

_Key = tuple[int, int, int]
"""Record type, thread and ``free`` of a chunk."""
_Piece = tuple[int, int]
"""Offset and size of a chunk."""
Lanes = tuple[int, int, int]
"""Offsets in a record: of its time (u64), and of the first and behind the last byte of its lane's key."""


class Limits:
    """Enforces ring, size and duration of `RecordingOptions` for one spool directory."""

    def __init__(
        self,
        directory: Path,
        options: RecordingOptions,
        passing: Iterable[int],
        *,
        now_ns: int,
        lasting: Mapping[int, Lanes] | None = None,
        lives: Mapping[int, int] | None = None,
    ) -> None:
        """``passing`` are record types that a ring may drop; for those in ``lasting`` the last of each lane is kept.

        Those in ``lives`` are kept while the thread or process exists whose id is at that byte. ``now_ns``
        (CLOCK_MONOTONIC) is the beginning.
        """
        self._directory = directory
        self._options = options
        self._passing = frozenset(passing)
        self._lasting, self._lives = dict(lasting or {}), dict(lives or {})
        self._begun_ns = now_ns
        self._look_due = self._ring_due = 0
        self._files: dict[str, _RingFile] = {}

    def look(self, now_ns: int) -> str:
        """Drop what has left the ring. Returns why the recording must end now, empty if it may continue."""
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
            return english("the recording ended after reaching --max-size")
        return ""

    def _bytes(self) -> int:
        """The spool's size on disk."""
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
                    known = self._files.setdefault(
                        name, _RingFile(_lasting=self._lasting, _lives=self._lives)
                    )
                    with contextlib.suppress(OSError):
                        path, before_ns = self._directory / name, now_ns - self._options.ring_ns
                        is_of_process = name.startswith(_OF_PROCESSES)
                        if not (is_of_process and known.is_finished):
                            known.turn(path, self._passing, now_ns, before_ns)
                        if is_of_process and known.has_left(path, now_ns, before_ns):
                            path.unlink()
                            del self._files[name]


@dataclass(kw_only=True)
class _RingFile:
    """The chunks of one spool file in a ring.

    A chunk is full when its writer has started another one for the same records, or its thread has ended and closed it.
    It is not written to any more then.
    """

    _lasting: Mapping[int, Lanes]
    _lives: Mapping[int, int]
    _position: int = HEADER_BYTES
    _latest: dict[_Key, _Piece] = field(default_factory=dict)
    _full: deque[tuple[int, _Key, _Piece, bool]] = field(default_factory=deque)
    """Full chunks: since when, key, position, and whether the thread has ended."""
    _living: deque[tuple[Lives, _Key, _Piece]] = field(default_factory=deque)
    """Full chunks of records about threads and processes, by the time of the last check of which of them exist."""
    _kept: dict[int, dict[_Piece, dict[bytes, int]]] = field(default_factory=dict)
    """By thread, partly kept chunks, with the times of the last records of lanes."""
    _emptied: dict[int, _Piece] = field(default_factory=dict)
    """Emptied stretches by their end."""
    _emptied_from: dict[int, int] = field(default_factory=dict)
    """Sizes of emptied stretches by their beginning."""
    _finished_ns: int | None = None

    def turn(self, path: Path, passing: frozenset[int], now_ns: int, before_ns: int) -> None:
        """Find new chunks and drop those that were full before ``before_ns``. Raises OSError."""
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            self._read_on(descriptor, passing, now_ns)
            self._find_closed(descriptor, now_ns)
            while self._full and self._full[0][0] < before_ns:
                _since, key, piece, has_ended = self._full.popleft()
                self._drop(descriptor, key, piece, has_ended)
            while self._living and self._living[0][0].time_ns < before_ns:
                self._keep_living(descriptor, *self._living.popleft(), now_ns)
        finally:
            os.close(descriptor)

    @property
    def is_finished(self) -> bool:
        """Whether its writer had finished it at the last look; the whole file is removed later."""
        return self._finished_ns is not None

    def has_left(self, path: Path, now_ns: int, before_ns: int) -> bool:
        """Whether its writer was seen to have ended before ``before_ns``. Raises OSError."""
        if self._finished_ns is None:
            with open(open_regular(path), "rb") as file:
                page = file.read(HEADER_BYTES)
            is_finished = any(page[FINISHED_OFFSET : FINISHED_OFFSET + _FLAG.size])
            # Children that were forked in a sandbox write to the file of their parent.
            is_shared = any(page[ALLOCATED_OFFSET : ALLOCATED_OFFSET + _U64.size])
            if (is_finished and not is_shared) or has_no_writer(path):
                self._finished_ns = now_ns
        return self._finished_ns is not None and self._finished_ns < before_ns

    def _read_on(self, descriptor: int, passing: frozenset[int], now_ns: int) -> None:
        file_bytes = os.fstat(descriptor).st_size
        end = int.from_bytes(os.pread(descriptor, _U64.size, NEXT_OFFSET), "little")
        while len(raw := os.pread(descriptor, CHUNK.size, self._position)) == CHUNK.size:
            magic, record_type, _bytes, tid, size, _committed, free = CHUNK.unpack(raw)
            if magic == 0 and (behind := chunk_behind_gap(descriptor, self._position, end)) is not None:
                self._position = behind
                continue
            if magic != CHUNK_MAGIC or size < PAGE or size % PAGE or self._position + size > file_bytes:
                return
            if record_type in passing or record_type in self._lives:
                key = (record_type, tid, free)
                former = self._latest.get(key)
                if former is not None and record_type in self._lives:
                    self._look(descriptor, key, former, now_ns)
                elif former is not None:
                    self._full.append((now_ns, key, former, False))
                self._latest[key] = (self._position, size)
            self._position += size

    def _find_closed(self, descriptor: int, now_ns: int) -> None:
        for key, piece in list(self._latest.items()):
            raw = os.pread(descriptor, _FLAG.size, piece[0] + CLOSED_OFFSET)
            if len(raw) == _FLAG.size and _FLAG.unpack(raw)[0]:
                self._full.append((now_ns, key, piece, True))
                del self._latest[key]

    def _look(self, descriptor: int, key: _Key, piece: _Piece, now_ns: int) -> None:
        """Check which threads and processes of a full chunk still exist; records of the others are dropped later."""
        records, place = _records(descriptor, piece), self._lives[key[0]]
        if records and place + 4 <= len(records[0]):
            self._living.append((look(records, place, now_ns), key, piece))
        else:
            self._empty(descriptor, *piece)

    def _keep_living(self, descriptor: int, lives: Lives, key: _Key, piece: _Piece, now_ns: int) -> None:
        records, place = _records(descriptor, piece), self._lives[key[0]]
        if records and place + 4 <= len(records[0]):
            living = living_records(records, place, lives)
            if len(living) < len(records):
                _rewrite(descriptor, piece, living)
        self._look(descriptor, key, piece, now_ns)

    def _drop(self, descriptor: int, key: _Key, piece: _Piece, has_ended: bool) -> None:
        """Empty a chunk, but keep the last record of each lane while its thread lives."""
        thread = key[2]
        lanes = self._lasting.get(key[0])
        if lanes is None or has_ended:
            if lanes is not None:
                for of_thread in self._kept.pop(thread, {}):
                    self._empty(descriptor, *of_thread)
            self._empty(descriptor, *piece)
            return
        last = _keep_last(descriptor, piece, lanes)
        kept = self._kept.setdefault(thread, {})
        for other, times in list(kept.items()):
            for lane in times.keys() & last.keys():
                older = times if times[lane] <= last[lane] else last
                del older[lane]
            if not times:
                del kept[other]
                self._empty(descriptor, *other)
        if last:
            kept[piece] = last
        else:
            self._empty(descriptor, *piece)

    def _empty(self, descriptor: int, offset: int, size: int) -> None:
        """Free the space of a chunk and merge empty neighbours. Readers see an empty chunk at every moment."""
        os.pwrite(descriptor, _U64.pack(0), offset + COMMITTED_OFFSET)
        before = self._emptied.pop(offset, None)
        first = offset + PAGE
        if before is not None:
            first, offset, size = offset, before[0], before[1] + size
            os.pwrite(descriptor, _U64.pack(size), offset + _SIZE_OFFSET)
        # Threads do not end in the order of their start: the next chunk may be empty already.
        after = self._emptied_from.pop(offset + size, None)
        if after is not None:
            del self._emptied[offset + size + after]
            size += after
            os.pwrite(descriptor, _U64.pack(size), offset + _SIZE_OFFSET)
        self._emptied[offset + size] = (offset, size)
        self._emptied_from[offset] = size
        _punch(descriptor, first, offset + size - first)


def _keep_last(descriptor: int, piece: _Piece, lanes: Lanes) -> dict[bytes, int]:
    """Keep the last record of each lane in a chunk, as many as fit its first page; returns their times by lane."""
    records, (time_at, first, stop) = _records(descriptor, piece), lanes
    size = len(records[0]) if records else 0
    # The program may have overwritten the file.
    if not max(time_at + 8, stop) <= size <= PAGE - CHUNK_HEADER_BYTES:
        return {}
    rows = {record[first:stop]: row for row, record in enumerate(records)}
    last = [records[row] for row in sorted(rows.values())[-((PAGE - CHUNK_HEADER_BYTES) // size) :]]
    _rewrite(descriptor, piece, last)
    return {record[first:stop]: _U64.unpack_from(record, time_at)[0] for record in last}


def _records(descriptor: int, piece: _Piece) -> list[bytes]:
    """The records of a chunk; none if it is damaged."""
    fields = CHUNK.unpack(os.pread(descriptor, CHUNK.size, piece[0]))
    size, room = fields[2], piece[1] - CHUNK_HEADER_BYTES
    if not 0 < size <= room:
        return []
    raw = os.pread(descriptor, min(fields[5], room), piece[0] + CHUNK_HEADER_BYTES)
    return [raw[at : at + size] for at in range(0, len(raw) - size + 1, size)]


def _rewrite(descriptor: int, piece: _Piece, records: list[bytes]) -> None:
    """Keep only these records in a chunk, and free the space behind them."""
    offset, kept = piece[0], b"".join(records)
    # Readers see an empty chunk until the kept records are in place.
    os.pwrite(descriptor, _U64.pack(0), offset + COMMITTED_OFFSET)
    os.pwrite(descriptor, kept, offset + CHUNK_HEADER_BYTES)
    os.pwrite(descriptor, _U64.pack(len(kept)), offset + COMMITTED_OFFSET)
    first = -(-(offset + CHUNK_HEADER_BYTES + len(kept)) // PAGE) * PAGE
    _punch(descriptor, first, offset + piece[1] - first)


def has_no_writer(path: Path) -> bool:
    """Whether no process has a file open or mapped for writing, so its writer has ended; False if unknown.

    The kernel grants a read lease only then, across namespaces. On overlayfs it also grants one for a file that is only
    mapped. Raises OSError when the file cannot be opened.
    """
    return sys.platform == "linux" and _grants_lease(path) and _lease_respects_maps(path)


def _grants_lease(path: Path) -> bool:
    import fcntl

    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        # If another process opens it meanwhile, we get this signal, which is ignored by default.
        fcntl.fcntl(descriptor, _SET_SIGNAL, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _lease_respects_maps(path: Path) -> bool:
    """Whether the lease is refused while we have the file mapped, as a writer has. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        # Not `mmap.mmap`, which keeps a descriptor.
        memory = _libc().mmap(None, PAGE, _READ, _SHARED, descriptor, 0)
    finally:
        os.close(descriptor)
    if memory == ctypes.c_void_p(-1).value:
        return False
    try:
        return not _grants_lease(path)
    finally:
        _libc().munmap(memory, PAGE)


def _punch(descriptor: int, offset: int, size: int) -> None:
    if size > 0 and _libc().fallocate(descriptor, _KEEP_SIZE | _PUNCH_HOLE, offset, size):
        # A file system without holes keeps the space; its content is no longer read.
        return


@lru_cache(maxsize=1)
def _libc() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    library.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
    ]  # fmt: skip
    library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return library
