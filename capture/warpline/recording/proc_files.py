"""Reads /proc files of cores, processes and threads. Linux only; any process may end between two reads."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

# Systems without sysconf have no /proc, but they can finish captures that were recorded elsewhere.
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 10_000_000
# Two readings this close count as simultaneous.
_CLOSE_NS = 20_000
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


@dataclass(frozen=True)
class TaskStat:
    """Fields of /proc/…/stat (proc(5)). ``start_ns`` is CLOCK_MONOTONIC, exact to a tick."""

    name: str
    state: int
    parent_pid: int
    start_ns: int
    cpu: int


def read_bytes(path: str) -> bytes | None:
    """Up to 64 KiB of a file; None when it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def parse_stat(raw: bytes) -> TaskStat | None:
    """Fields of a stat line; the name may hold blanks and parentheses. None when it is cut off."""
    first, last = raw.find(b"("), raw.rfind(b")")
    fields = raw[last + 2 :].split()
    if first < 0 or last < first or len(fields) < 37:
        return None
    return TaskStat(
        raw[first + 1 : last].decode("utf-8", "replace"),
        fields[0][0],
        int(fields[1]),
        int(fields[19]) * _TICK_NS - _boot_minus_monotonic_ns(),
        int(fields[36]),
    )


def _boot_minus_monotonic_ns() -> int:
    # Start times count from boot including suspends, CLOCK_MONOTONIC does not.
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()


def process_stat(pid: int) -> TaskStat | None:
    """/proc/PID/stat, None when the process is gone."""
    raw = read_bytes(f"/proc/{pid}/stat")
    return parse_stat(raw) if raw else None


def thread_stat(pid: int, tid: int) -> TaskStat | None:
    """/proc/PID/task/TID/stat, None when the thread is gone."""
    raw = read_bytes(f"/proc/{pid}/task/{tid}/stat")
    return parse_stat(raw) if raw else None


def command_line(pid: int) -> str:
    """A process's arguments separated by NUL, empty when it is gone or a kernel thread."""
    return (read_bytes(f"/proc/{pid}/cmdline") or b"").rstrip(b"\0").decode("utf-8", "replace")


def thread_ids(pid: int) -> list[int]:
    """Threads of a process, empty when it is gone."""
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def children(pids: set[int]) -> set[int]:
    """Child processes of ``pids`` that are not in ``pids`` themselves."""
    child_pids: set[int] = set()
    for pid in pids:
        for tid in thread_ids(pid):
            raw = read_bytes(f"/proc/{pid}/task/{tid}/children")
            if raw is None and tid == pid and os.path.exists(f"/proc/{pid}/stat"):
                return _children_by_parent(pids)
            child_pids.update(int(word) for word in (raw or b"").split())
    return child_pids - pids


def _children_by_parent(pids: set[int]) -> set[int]:
    """`children` for kernels without CONFIG_PROC_CHILDREN: checks the parent of every process."""
    child_pids: set[int] = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            stat = process_stat(int(name))
            if stat is not None and stat.parent_pid in pids:
                child_pids.add(int(name))
    return child_pids - pids


def parse_core_times(raw: bytes) -> list[tuple[int, int, int]]:
    """(core, busy ticks, total ticks) of each core in /proc/stat; user time includes guest time."""
    result = []
    for line in raw.split(b"\n")[1:]:
        if not line.startswith(b"cpu"):
            break
        words = line.split()
        ticks = [int(word) for word in words[1:9]]
        total = sum(ticks)
        result.append((int(words[0][3:]), total - ticks[3] - ticks[4], total))
    return result


def process_cpu_ns(pid: int) -> tuple[int, int, int] | None:
    """CPU time of all threads a process ever had: (CLOCK_MONOTONIC ns, its error in ns, CPU time in ns).

    It misses what a thread on another core used since the kernel's last tick. None when the process is gone.
    """
    # The clock of another process: MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED) of the kernel's posix-timers.h.
    clock = (~pid << 3) | 2
    best: tuple[int, int, int] | None = None
    # We may lose the core between the readings: use the closest pair of a few.
    for _ in range(4):
        try:
            before, used, after = time.monotonic_ns(), time.clock_gettime_ns(clock), time.monotonic_ns()
        except OSError:
            return None
        if best is None or after - before < best[1] - best[0]:
            best = (before, after, used)
        if best[1] - best[0] < _CLOSE_NS:
            break
    assert best is not None
    before, after, used = best
    return (before + after) // 2, (after - before + 1) // 2, used


def resident_bytes(statm: bytes) -> int:
    """Resident memory from the content of /proc/PID/statm."""
    words = statm.split()
    return int(words[1]) * _PAGE_BYTES if len(words) > 1 else 0


def read_whole(path: str) -> bytes | None:
    """The whole file; None when it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def page_faults(stat: bytes) -> tuple[int, int] | None:
    """Minor and major page faults of all threads a process ever had, from the content of /proc/PID/stat (fields 10 and
    12 of proc(5)). None when it is cut off.
    """
    fields = stat[stat.rfind(b")") + 2 :].split()
    return (int(fields[7]), int(fields[9])) if len(fields) > 9 else None
