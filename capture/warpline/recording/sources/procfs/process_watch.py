"""What /proc and the scheduler say of whole processes: their page faults, and the cores they may run on."""

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
    """Writes down the page faults of processes, and where each may run whenever that is another than before."""

    def __init__(self, writer: SpoolWriter) -> None:
        self._writer = writer
        self._each_ns = page_fault_ns()
        self._cores: dict[int, frozenset[int]] = {}

    def sample(self, pid: int) -> None:
        """Look at a process; nothing is written of one that is gone."""
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
        """The process is gone: its number may be another's."""
        self._cores.pop(pid, None)


def page_fault_ns() -> int:
    """What a page of fresh memory costs on this machine when it is touched first, in ns of CPU time: the least of a
    few tries.
    """
    pages = b"\1" * (_TRIED_PAGES * mmap.PAGESIZE)
    found = []
    for _ in range(_TRIES):
        with mmap.mmap(-1, len(pages)) as memory:
            begin = time.thread_time_ns()
            memory[:] = pages
            faulted = time.thread_time_ns()
            memory[:] = pages
            found.append(2 * faulted - begin - time.thread_time_ns())
    return max(min(found) // _TRIED_PAGES, 0)
