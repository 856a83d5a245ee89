"""Samples /proc into a spool file: cores, processes, and the scheduler's accounting of threads.

Where perf is refused, the accounting is sampled at a higher rate to estimate thread states.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from warpline.i18n import english, joined
from warpline.model.tracks import Source
from warpline.recording import proc_files
from warpline.recording.agent.records import CLOSED_PROGRAM, Closed
from warpline.recording.sources.collector import Collector, Watched
from warpline.recording.sources.facts import THREAD_STATES
from warpline.recording.sources.procfs import records as procfs_records
from warpline.recording.sources.procfs.closed_programs import why_closed
from warpline.recording.sources.procfs.ended_processes import EndWatch
from warpline.recording.sources.procfs.process_watch import ProcessWatch
from warpline.recording.sources.procfs.standstill import StandstillWatch
from warpline.recording.spool import records
from warpline.recording.spool.records import Sighting
from warpline.recording.spool.secrets import masked

CORE_PERIOD_NS = 100_000_000
ACCOUNTING_PERIOD_NS = 100_000_000
THREADS_PERIOD_NS = 500_000_000
SAMPLE_COST_NS = 1_000_000
"""CPU budget per sample: with many threads or processes, the period is at least this times their number."""
STATE_PERIOD_NS = 10_000_000
DISCOVERY_PERIOD_NS = 50_000_000

_TORN_NS = 500_000
_MOST_READINGS = 4

_THREAD_SAMPLE = struct.Struct("<QQQQIIHB5x")
_CORE_TIMES = struct.Struct("<QIIQQ")
_PROCESS_SAMPLE = struct.Struct("<QQQII")
_PROCESS_SEEN = struct.Struct("<QQIIII")
_CLOSED = struct.Struct("<IIII")
_THREAD_SEEN = struct.Struct("<QQIIIHBB")


@dataclass
class _Process:
    statm: int
    threads: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Open schedstat and stat (or -1) by thread id."""


class ProcfsSampler(Collector):
    """Samples the processes of one tree, and thread states if no other source records them."""

    def __init__(self, watched: Watched) -> None:
        """Raises OSError when the spool file cannot be made."""
        self.writer = watched.writer("procfs")
        self.states = THREAD_STATES not in watched.provided
        self._watched = watched
        self._processes: dict[int, _Process] = {}
        self._stat = os.open("/proc/stat", os.O_RDONLY | os.O_CLOEXEC)
        self._due = {"core": 0, "accounting": 0, "discovery": 0, "process": 0}
        self._programs: set[str] = set()
        self._still = StandstillWatch(self.writer)
        self._ends = EndWatch(self.writer)
        self._whole = ProcessWatch(self.writer)
        self._paused = False
        watched.on_process.append(self.add_process)
        watched.on_threads.append(self._look_for_threads)
        self._names: dict[int, bytes] = {}

    def begin(self, *, paused: bool) -> None:
        """Start to sample the program."""
        self._paused = paused
        self.add_process(self._watched.root_pid)
        if self._watched.is_running and not paused:
            self._snapshot()
        self.tick()

    @property
    def descriptors(self) -> Sequence[int]:
        return (self._ends.descriptor,)

    def drain(self) -> None:
        """Record processes that have ended."""
        self._ends.drain()

    @property
    def period_ns(self) -> int:
        return STATE_PERIOD_NS if self.states and not self._paused else CORE_PERIOD_NS

    def add_process(self, pid: int) -> None:
        """Start to sample a process, or record that it runs another program."""
        stat = proc_files.process_stat(pid)
        if stat is None:
            return
        self._note_process(pid, stat)
        self._note_program(pid)
        self._ends.add(pid)
        if pid not in self._processes:
            try:
                statm = os.open(f"/proc/{pid}/statm", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                return
            self._processes[pid] = _Process(statm)
            if not self._paused:
                self._whole.sample(pid)
        if self.states:
            self._find_threads(pid)

    def _look_for_threads(self, _tids: Sequence[int]) -> None:
        """Find new threads before the next sample."""
        self._due["discovery"] = min(self._due["discovery"], self._due["accounting"])

    def tick(self) -> None:
        """Take all samples that are due."""
        if self._paused:
            return
        now = time.monotonic_ns()
        if now >= self._due["discovery"]:
            self._due["discovery"] = now + (DISCOVERY_PERIOD_NS if self.states else THREADS_PERIOD_NS)
            if self.states:
                for pid in proc_files.children(set(self._processes)) - {os.getpid()}:
                    self.add_process(pid)
            for pid in list(self._processes):
                self._find_threads(pid)
        if now >= self._due["accounting"]:
            threads = sum(len(process.threads) for process in self._processes.values())
            pause = max(ACCOUNTING_PERIOD_NS, threads * SAMPLE_COST_NS)
            self._due["accounting"] = now + (STATE_PERIOD_NS if self.states else pause)
            self._sample_threads()
        if now >= self._due["core"]:
            self._due["core"] = now + CORE_PERIOD_NS
            self._sample_cores()
            self._sample_processes()
        if now >= self._due["process"]:
            self._due["process"] = now + max(CORE_PERIOD_NS, len(self._processes) * SAMPLE_COST_NS)
            self._sample_whole()

    def pause(self) -> None:
        """Stop sampling until ``resume``."""
        self._paused = True

    def resume(self) -> None:
        """Sample again."""
        self._paused = False
        self._snapshot()

    def _snapshot(self) -> None:
        """Record all processes and threads of the tree with their states, as needed after a pause."""
        tids: list[int] = []
        seen: set[int] = set()
        while fresh := proc_files.children(set(self._processes)) - seen - {os.getpid()}:
            seen |= fresh
            for pid in fresh:
                self.add_process(pid)
        now = time.monotonic_ns()
        for pid in list(self._processes):
            for tid in proc_files.thread_ids(pid):
                stat = proc_files.thread_stat(pid, tid)
                if stat is not None and stat.state not in b"ZX":
                    self._note_thread(now, pid, tid, stat, Sighting.SNAPSHOT)
                    tids.append(tid)
        self._watched.threads_appeared(tids)

    def close(self) -> None:
        """Sample once more and close everything."""
        if not self._paused:
            self._sample_threads()
            self._sample_cores()
            self._sample_processes()
            self._sample_whole()
        for pid in list(self._processes):
            self._drop(pid)
        self._ends.close()
        os.close(self._stat)
        self.writer.close()

    def report(self) -> Source:
        """The state of the source, with records lost in the spool."""
        estimated = (
            english("thread states are estimated from samples, because perf is refused")
            if self.states
            else ""
        )
        refused = (
            english("waits are known only from the agent: /proc/PID/syscall cannot be read")
            if self._still.is_refused
            else ""
        )
        reason = joined("; ", (text for text in (estimated, refused) if text))
        return Source("procfs", True, self.writer.trouble or reason, self.writer.lost)

    def _note_process(self, pid: int, stat: proc_files.TaskStat) -> None:
        words: Sequence[str] = proc_files.command_line(pid).split("\0")
        if not self._watched.options.keeps_arguments:
            words = masked(words)
        name, command = self.writer.string(stat.name), self.writer.string("\0".join(words))
        packed = _PROCESS_SEEN.pack(
            time.monotonic_ns(), max(0, stat.start_ns), pid, max(0, stat.parent_pid), name, command
        )
        self.writer.append_packed(records.PROCESS_SEEN, packed)

    def _note_program(self, pid: int) -> None:
        """Record once for each program if the agent cannot enter it."""
        closed = why_closed(pid)
        if closed is None or closed[0] in self._programs:
            return
        path, why = closed
        self._programs.add(path)
        if why is not Closed.OPEN:
            packed = _CLOSED.pack(pid, why, self.writer.string(path), 0)
            self.writer.append_packed(CLOSED_PROGRAM, packed)

    def _note_thread(self, now: int, pid: int, tid: int, stat: proc_files.TaskStat, event: int) -> None:
        packed = _THREAD_SEEN.pack(
            now,
            max(0, stat.start_ns),
            pid,
            tid,
            self.writer.string(stat.name),
            stat.cpu & 0xFFFF,
            stat.state,
            event,
        )
        self.writer.append_packed(records.THREAD_SEEN, packed)

    def _find_threads(self, pid: int) -> None:
        process = self._processes.get(pid)
        if process is None:
            return
        tids = set(proc_files.thread_ids(pid))
        if not tids:
            self._drop(pid)
            return
        for tid in process.threads.keys() - tids:
            self._drop_thread(pid, process, tid)
        for tid in tids - process.threads.keys():
            folder = f"/proc/{pid}/task/{tid}"
            try:
                schedstat = os.open(f"{folder}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                continue
            state_file = -1
            if self.states:
                try:
                    state_file = os.open(f"{folder}/stat", os.O_RDONLY | os.O_CLOEXEC)
                except OSError:
                    os.close(schedstat)
                    continue
                self._names.pop(tid, None)
            process.threads[tid] = (schedstat, state_file)

    def _sample_threads(self) -> None:
        for pid, process in list(self._processes.items()):
            for tid, (schedstat, state_file) in list(process.threads.items()):
                try:
                    now, accounting, stat = _read_thread(schedstat, state_file)
                    run, wait, slices = accounting.split()[:3]
                except (OSError, ValueError):
                    self._drop_thread(pid, process, tid)
                    continue
                state, cpu = ord("?"), 0xFFFF
                if stat:
                    self._check_name(now, pid, tid, stat)
                    fields = stat[stat.rfind(b")") + 2 :].split()
                    state, cpu = fields[0][0], int(fields[36])
                packed = _THREAD_SAMPLE.pack(
                    now, int(run), int(wait), int(slices), pid, tid, cpu & 0xFFFF, state
                )
                self.writer.append_packed(procfs_records.THREAD_SAMPLE, packed)
                self._still.add_sample(now, pid, tid, accounting)
                self.events += 1

    def _check_name(self, now: int, pid: int, tid: int, stat: bytes) -> None:
        """Record a changed name of a thread. Only needed without perf, which records names itself."""
        name = stat[stat.find(b"(") : stat.rfind(b")")]
        if self._names.get(tid) != name:
            self._names[tid] = name
            parsed = proc_files.parse_stat(stat)
            if parsed is not None:
                self._note_thread(now, pid, tid, parsed, Sighting.SEEN)

    def _sample_cores(self) -> None:
        now = time.monotonic_ns()
        # A single read: several could mix data of different times.
        for cpu, busy, total in proc_files.parse_core_times(os.pread(self._stat, 1 << 18, 0)):
            self.writer.append_packed(procfs_records.CORE_TIMES, _CORE_TIMES.pack(now, cpu, 0, busy, total))

    def _sample_processes(self) -> None:
        for pid, process in list(self._processes.items()):
            used = proc_files.process_cpu_ns(pid)
            try:
                rss = proc_files.resident_bytes(os.pread(process.statm, 128, 0))
            except OSError:
                used = None
            if used is None:
                self._drop(pid)
                continue
            now, within_ns, cpu_ns = used
            packed = _PROCESS_SAMPLE.pack(now, cpu_ns, rss, pid, min(within_ns, 0xFFFF_FFFF))
            self.writer.append_packed(procfs_records.PROCESS_SAMPLE, packed)

    def _sample_whole(self) -> None:
        for pid in self._processes:
            self._whole.sample(pid)

    def _drop_thread(self, pid: int, process: _Process, tid: int) -> None:
        schedstat, state_file = process.threads.pop(tid)
        self._still.forget(tid)
        os.close(schedstat)
        if state_file >= 0:
            os.close(state_file)
            packed = _THREAD_SEEN.pack(time.monotonic_ns(), 0, pid, tid, 0, 0, 0, Sighting.GONE)
            self.writer.append_packed(records.THREAD_SEEN, packed)

    def _drop(self, pid: int) -> None:
        process = self._processes.pop(pid, None)
        if process is None:
            return
        self._whole.forget(pid)
        for tid in list(process.threads):
            self._drop_thread(pid, process, tid)
        os.close(process.statm)


def _read_thread(schedstat: int, state_file: int) -> tuple[int, bytes, bytes]:
    """CLOCK_MONOTONIC ns, accounting and, if its file is open, state of a thread at that time.

    Raises OSError when the thread has ended.
    """
    for _ in range(_MOST_READINGS):
        now = time.monotonic_ns()
        accounting = os.pread(schedstat, 128, 0)
        stat = os.pread(state_file, 1024, 0) if state_file >= 0 else b""
        # If we lost the core in between, the accounting belongs to another time.
        if time.monotonic_ns() - now < _TORN_NS:
            break
    return now, accounting, stat
