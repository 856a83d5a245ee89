"""Samples page faults of processes and the cores on which they may run."""

from __future__ import annotations

import mmap
import os
import struct
import time

from warpline.recording import proc_files
from warpline.recording.sources.procfs import records
from warpline.recording.spool.writer import SpoolWriter

_FAULTS = struct.Struct("<QQQII")
_CORES = struct.Struct("<QII")
_TRIED_PAGES = 64
_TRIES = 4


class ProcessWatch:
    """Records page faults of processes, and changes of the cores on which each may run."""

    def __init__(self, writer: SpoolWriter) -> None:
        self._writer = writer
        self._each_ns = page_fault_ns()
        self._cores: dict[int, frozenset[int]] = {}

    def sample(self, pid: int) -> None:
        """Sample a process; writes nothing if it has ended."""
        raw = proc_files.read_bytes(f"/proc/{pid}/stat")
        faults = proc_files.page_faults(raw) if raw else None
        if faults is None:
            return
        now = time.monotonic_ns()
        self._writer.append_packed(records.PAGE_FAULTS, _FAULTS.pack(now, *faults, pid, self._each_ns))
        try:
            cores = frozenset(os.sched_getaffinity(pid))
        except OSError:
            return
        if cores != self._cores.get(pid):
            self._cores[pid] = cores
            text = self._writer.string(" ".join(map(str, sorted(cores))))
            self._writer.append_packed(records.ALLOWED_CORES, _CORES.pack(now, pid, text))

    def forget(self, pid: int) -> None:
        """Forget a process that has ended, because its id may be reused."""
        self._cores.pop(pid, None)


def page_fault_ns() -> int:
    """CPU time of the first access to a page of fresh memory on this machine, in ns: the minimum of a few tries."""
    pages = b"\1" * (_TRIED_PAGES * mmap.PAGESIZE)
    costs = []
    for _ in range(_TRIES):
        with mmap.mmap(-1, len(pages)) as memory:
            begin = time.thread_time_ns()
            memory[:] = pages
            faulted = time.thread_time_ns()
            memory[:] = pages
            costs.append(2 * faulted - begin - time.thread_time_ns())
    return max(min(costs) // _TRIED_PAGES, 0)
