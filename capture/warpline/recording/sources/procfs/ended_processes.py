"""Records when processes have really ended: the kernel reports an exit before it frees the memory."""

from __future__ import annotations

import contextlib
import os
import select
import struct
import time

from warpline.recording import proc_files
from warpline.recording.spool import records
from warpline.recording.spool.writer import SpoolWriter

_ENDED = struct.Struct("<QQQII")
_MOST = 4096


class EndWatch:
    """Records the end of processes through pidfds, which become readable then (Linux 5.3)."""

    def __init__(self, writer: SpoolWriter) -> None:
        """Raises OSError when there are no descriptors left."""
        self._writer = writer
        self._poll = select.epoll()
        self._watched: dict[int, tuple[int, int]] = {}
        """Process and start of watching (CLOCK_MONOTONIC ns), by descriptor."""
        self._pids: set[int] = set()

    @property
    def descriptor(self) -> int:
        """Readable when `drain` has something to do."""
        return self._poll.fileno()

    def add(self, pid: int) -> None:
        """Watch a process, if it exists and the kernel supports it."""
        if pid in self._pids or len(self._pids) >= _MOST or not hasattr(os, "pidfd_open"):
            return
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            return
        self._poll.register(descriptor, select.EPOLLIN)
        self._watched[descriptor] = (pid, time.monotonic_ns())
        self._pids.add(pid)

    def drain(self) -> None:
        """Record the processes that have ended; cheap if there are none."""
        for descriptor, _event in self._poll.poll(0):
            pid, since_ns = self._watched.pop(descriptor)
            now = time.monotonic_ns()
            used = proc_files.process_cpu_ns(pid)  # possible until its parent waits for it
            packed = _ENDED.pack(now, since_ns, used[2] if used else 0, pid, 0)
            self._writer.append_packed(records.PROCESS_ENDED, packed)
            self._pids.discard(pid)
            self._poll.unregister(descriptor)
            os.close(descriptor)

    def close(self) -> None:
        """Record the last ends and close all descriptors."""
        self.drain()
        for descriptor in self._watched:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._watched.clear()
        self._poll.close()
