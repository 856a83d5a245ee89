"""Looks up in /proc what a thread waits for that has not run between samples."""

from __future__ import annotations

import errno
import os
import struct
from dataclasses import dataclass

from warpline.recording import proc_files
from warpline.recording.sources.procfs import records
from warpline.recording.spool.writer import SpoolWriter

_STANDSTILL = struct.Struct("<QQQIIiIII")
_REFUSED = (errno.EPERM, errno.EACCES, errno.ENOENT, errno.EOPNOTSUPP)
LONG_NS = 50_000_000
"""Shorter standstills are ignored."""


@dataclass
class _Last:
    accounting: bytes
    since_ns: int
    is_known: bool = False


class StandstillWatch:
    """Remembers the last sample of each thread, and records what it waits for when it stands still for a while."""

    def __init__(self, writer: SpoolWriter) -> None:
        self._writer = writer
        self._last: dict[int, _Last] = {}
        self.is_refused = False

    def add_sample(self, now: int, pid: int, tid: int, accounting: bytes) -> None:
        """Add a sample of a thread at CLOCK_MONOTONIC ``now``; ``accounting`` is the content of its schedstat."""
        last = self._last.get(tid)
        if last is None or last.accounting != accounting:
            self._last[tid] = _Last(accounting, now)
        elif not last.is_known and now - last.since_ns >= LONG_NS:
            last.is_known = True
            if not self.is_refused:
                self._look(last.since_ns, now, pid, tid)

    def forget(self, tid: int) -> None:
        """Forget a thread that has ended."""
        self._last.pop(tid, None)

    def _look(self, since_ns: int, now: int, pid: int, tid: int) -> None:
        try:
            words = _content(f"/proc/{pid}/task/{tid}/syscall").split()
        except OSError as error:
            # Another user's process or a kernel without the file: do not try again. Or the thread has just ended.
            self.is_refused = error.errno in _REFUSED and os.path.exists(f"/proc/{pid}/task/{tid}")
            return
        if not words or words[0] == b"running":
            return
        number = int(words[0])
        arguments = [int(word, 16) for word in words[1:3]] if number >= 0 else []
        first, second = (*arguments, 0, 0)[:2]
        where = proc_files.read_bytes(f"/proc/{pid}/task/{tid}/wchan") or b""
        text = ""
        if number >= 0 and first < 1 << 20:
            # Most waiting calls have a descriptor as first argument; other values have no such link.
            try:
                text = os.readlink(f"/proc/{pid}/fd/{first}")
            except OSError:
                text = ""
        string = self._writer.string
        packed = _STANDSTILL.pack(
            since_ns,
            now,
            first,
            pid,
            tid,
            number,
            string(where.decode("ascii", "replace").strip("\0\n")),
            string(text),
            second & 0xFFFF_FFFF,
        )
        self._writer.append_packed(records.STANDSTILL, packed)


def _content(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 512)
    finally:
        os.close(descriptor)
