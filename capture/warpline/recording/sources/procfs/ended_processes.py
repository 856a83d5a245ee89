"""When processes are really gone: the kernel tells of their exit before it takes their memory apart."""

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
    """Watches processes by descriptors that become readable when they are gone (Linux 5.3), and writes down when."""

    def __init__(self, writer: SpoolWriter) -> None:
        """Raises OSError when there are no descriptors left."""
        self._writer = writer
        self._poll = select.epoll()
        self._watched: dict[int, tuple[int, int]] = {}
        """Process and since when (CLOCK_MONOTONIC ns), by descriptor."""
        self._pids: set[int] = set()

    @property
    def descriptor(self) -> int:
        """Readable when `drain` has something to do."""
        return self._poll.fileno()

    def add(self, pid: int) -> None:
        """Watch a process, if it is there and the kernel can."""
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
        """Write down who is gone; cheap when nobody is."""
        for descriptor, _event in self._poll.poll(0):
            pid, since_ns = self._watched.pop(descriptor)
            now = time.monotonic_ns()
            used = proc_files.process_cpu_ns(pid)  # as long as nobody has waited for it
            packed = _ENDED.pack(now, since_ns, used[2] if used else 0, pid, 0)
            self._writer.append_packed(records.PROCESS_ENDED, packed)
            self._pids.discard(pid)
            self._poll.unregister(descriptor)
            os.close(descriptor)

    def close(self) -> None:
        """Let go of all."""
        self.drain()
        for descriptor in self._watched:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._watched.clear()
        self._poll.close()
