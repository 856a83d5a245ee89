"""Finds the thread and process of each record, although the kernel reuses ids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]

_AT_ONCE_NS = 5_000_000
BEFORE = -(1 << 62)
"""Birth time of a thread that existed before the recording."""


@dataclass(kw_only=True)
class ProcessLife:
    """One process; times are CLOCK_MONOTONIC ns, None while unknown. ``generation`` counts uses of the pid from 1."""

    pid: int
    generation: int
    parent_pid: int | None = None
    name: str = ""
    command: str = ""
    start_ns: int | None = None
    stop_ns: int | None = None
    alive: int = 0
    cpu_ns: int = 0
    """CPU time of all its threads at its end; 0 while unknown."""
    last_thread: int | None = None
    """Index of the thread that ended last."""


@dataclass(kw_only=True)
class ThreadLife:
    """One thread; ``process`` is an index into the table's processes. ``names`` are (since when, name), by time."""

    process: int
    tid: int
    generation: int
    birth_ns: int = BEFORE
    death_ns: int | None = None
    names: list[tuple[int, str]] = field(default_factory=list)
    exit_ns: int | None = None
    """When it began to exit, if that is known: until its death the kernel freed its memory."""
    announced: bool = False
    """Whether the kernel recorded its birth; otherwise ``birth_ns`` is rounded to a clock tick or unknown."""

    @property
    def name(self) -> str:
        """Its last name."""
        return self.names[-1][1] if self.names else ""


class ThreadTable:
    """All threads and processes of a recording. It is filled in order of time and then queried for whole columns.

    Life records (fork, exit, names, /proc) are few and handled one by one; ``lookup`` serves millions.
    """

    def __init__(self, *, has_all: bool = True) -> None:
        """With ``has_all`` False the records of a thread's creator may be missing (a ring)."""
        self._has_all = has_all
        self.processes: list[ProcessLife] = []
        self.threads: list[ThreadLife] = []
        self._process_now: dict[int, int] = {}
        self._thread_now: dict[int, int] = {}
        self._process_uses: dict[int, int] = {}
        self._by_tid: dict[int, list[int]] = {}

    def add_fork(self, time_ns: int, pid: int, tid: int, parent_pid: int, parent_tid: int) -> None:
        """Add the thread ``tid`` of process ``pid``, created by ``parent_tid`` of ``parent_pid``."""
        parent = self._thread_now.get(parent_tid)
        if pid != parent_pid:
            creator = self._process_now.get(parent_pid)
            child = self._new_process(pid, time_ns)
            child.parent_pid = parent_pid
            if creator is not None:
                child.name, child.command = self.processes[creator].name, self.processes[creator].command
        elif parent is None and parent_tid != tid and self._has_all:
            # The creator's own birth record was lost, but it must exist.
            parent = self._find_or_make(parent_pid, parent_tid)
        elif pid not in self._process_now:
            self._new_process(pid, None)
        thread = self._new_thread(pid, tid, time_ns)
        thread.announced = True
        if parent is not None and self.threads[parent].names:
            thread.names.append((time_ns, self.threads[parent].name))

    def add_name(self, time_ns: int, pid: int, tid: int, name: str, is_exec: bool) -> None:
        """Add a new name of a thread; with ``is_exec`` the process started another program."""
        index = self._find_or_make(pid, tid)
        thread = self.threads[index]
        thread.names.append((time_ns, name))
        if is_exec:
            process = self.processes[thread.process]
            process.command = ""
            # An exec ends all other threads. The kernel records each end, except when a thread takes over the id of
            # the main thread.
            for other, number in list(self._thread_now.items()):
                if self.threads[number].process == thread.process and other != tid:
                    self._end_thread(number, time_ns)
        if pid == tid:
            self.processes[thread.process].name = name

    def add_exit(self, time_ns: int, pid: int, tid: int) -> None:
        """Add the end of a thread; the process ends with its last thread."""
        index = self._thread_now.get(tid)
        if index is None:
            if self._by_tid.get(tid):
                return
            index = self._find_or_make(pid, tid)
        self._end_thread(index, time_ns)

    def add_process_end(self, time_ns: int, since_ns: int, pid: int, cpu_ns: int) -> None:
        """Add the end of a process that existed at ``since_ns``."""
        index = self._process_now.get(pid)
        if index is not None:
            start = self.processes[index].start_ns
            if start is not None and start > since_ns:
                index = None  # the id has been reused
            else:
                for number in [n for n in self._thread_now.values() if self.threads[n].process == index]:
                    self._end_thread(number, time_ns)
        if index is None:
            uses = [
                number
                for number, process in enumerate(self.processes)
                if process.pid == pid
                and process.stop_ns is not None
                and since_ns <= process.stop_ns <= time_ns
            ]
            if not uses:
                return
            index = uses[-1]
        process = self.processes[index]
        process.cpu_ns = cpu_ns
        last = None if process.last_thread is None else self.threads[process.last_thread]
        if last is None or last.death_ns is None or last.death_ns >= time_ns:
            return
        # When all threads are killed at once, the main thread stays until the process is gone, whatever the order of
        # records.
        for number in self._by_tid.get(pid, []):
            first = self.threads[number]
            if (
                first.process == index
                and first.death_ns is not None
                and last.death_ns - first.death_ns < _AT_ONCE_NS
            ):
                last = first
        assert last.death_ns is not None
        process.stop_ns, last.exit_ns, last.death_ns = time_ns, last.death_ns, time_ns

    def add_process(self, start_ns: int, pid: int, parent_pid: int, name: str, command: str) -> None:
        """Add a process from /proc that started at ``start_ns`` (to a clock tick)."""
        index = self._process_now.get(pid)
        if index is None:
            uses = [process for process in self.processes if process.pid == pid]
            if uses and uses[-1].stop_ns is not None and start_ns <= uses[-1].stop_ns:
                process = uses[-1]  # a zombie
            else:
                process = self._new_process(pid, start_ns)
        else:
            process = self.processes[index]
        if process.parent_pid is None:
            process.parent_pid = parent_pid
        if process.start_ns is None:
            process.start_ns = start_ns
        process.name = name or process.name
        process.command = command or process.command

    def add_thread(self, time_ns: int, start_ns: int, pid: int, tid: int, name: str) -> None:
        """Add a thread from /proc that started at ``start_ns`` (to a clock tick)."""
        index = self._thread_now.get(tid)
        if index is None:
            uses = self._by_tid.get(tid)
            death = self.threads[uses[-1]].death_ns if uses else None
            if death is not None and start_ns <= death:
                return  # a zombie
            if pid not in self._process_now:
                self._new_process(pid, None)
            thread = self._new_thread(pid, tid, start_ns)
        else:
            thread = self.threads[index]
        if name and thread.name != name:
            thread.names.append((time_ns, name))

    def keep_only(self, time_ns: int, tids: set[int], since_ns: int) -> None:
        """End at ``since_ns`` all threads that were not among ``tids`` in a snapshot of /proc at ``time_ns``."""
        for tid, index in list(self._thread_now.items()):
            if tid not in tids and self.threads[index].birth_ns < time_ns:
                self._end_thread(index, since_ns)

    def forget_before(self, start_ns: int) -> None:
        """Forget threads and processes that ended before ``start_ns`` (CLOCK_MONOTONIC); indices change."""
        stays = [
            index
            for index, process in enumerate(self.processes)
            if process.stop_ns is None or process.stop_ns >= start_ns
        ]
        process_now = {old: new for new, old in enumerate(stays)}
        threads = [
            index
            for index, thread in enumerate(self.threads)
            if thread.process in process_now and (thread.death_ns is None or thread.death_ns >= start_ns)
        ]
        thread_now = {old: new for new, old in enumerate(threads)}
        self.processes = [self.processes[index] for index in stays]
        self.threads = [self.threads[index] for index in threads]
        for process in self.processes:
            last = process.last_thread
            process.last_thread = None if last is None else thread_now.get(last)
        for thread in self.threads:
            thread.process = process_now[thread.process]
        self._process_now = _moved(self._process_now, process_now)
        self._thread_now = _moved(self._thread_now, thread_now)
        uses = {
            tid: [thread_now[use] for use in old if use in thread_now] for tid, old in self._by_tid.items()
        }
        self._by_tid = {tid: indexes for tid, indexes in uses.items() if indexes}

    @property
    def thread_ids(self) -> Int64Array:
        """All thread ids of the recording: int64 [n], sorted."""
        return np.array(sorted(self._by_tid), np.int64)

    def has_process(self, pid: int) -> bool:
        """Whether any process of the recording had this id."""
        return any(process.pid == pid for process in self.processes)

    def lookup(self, pid: npt.ArrayLike, tid: npt.ArrayLike, time_ns: npt.ArrayLike) -> Int64Array:
        """Index of the thread of each record: int64 [n]; ids are integers [n], times CLOCK_MONOTONIC ns [n].

        Of several threads with one id, it is the one that existed at the time. Unknown threads are added.
        """
        pids, tids = np.atleast_1d(np.asarray(pid)), np.atleast_1d(np.asarray(tid))
        times = np.atleast_1d(np.asarray(time_ns)).astype(np.int64, copy=False)
        shape = np.broadcast_shapes(pids.shape, tids.shape, times.shape)
        if len(tids) == 1 and shape[0]:
            only = self._by_tid.get(int(tids[0]), [])
            if len(only) == 1:
                return np.full(shape, only[0])
        pids, tids, times = (np.broadcast_to(column, shape) for column in (pids, tids, times))
        ids, first, inverse = _unique_ids(tids)
        single = np.empty(len(ids), np.int64)
        several: list[int] = []
        for code, number in enumerate(ids.tolist()):
            uses = self._by_tid.get(number)
            if not uses:
                index = self._find_or_make(int(pids[first[code]]), number)
                self._thread_now.pop(number, None)
                uses = [index]
            single[code] = uses[0]
            if len(uses) > 1:
                several.append(code)
        result = single[inverse]
        for code in several:
            uses = self._by_tid[int(ids[code])]
            births = np.array([self.threads[index].birth_ns for index in uses])
            where = np.flatnonzero(inverse == code)
            which = np.searchsorted(births, times[where], "right") - 1
            result[where] = np.array(uses)[np.maximum(which, 0)]
        return result

    def process_of(self, pid: int, time_ns: int) -> int:
        """Index of the process with this pid at a CLOCK_MONOTONIC time; an unknown one is added."""
        uses = [index for index, process in enumerate(self.processes) if process.pid == pid]
        if not uses:
            self._new_process(pid, None)
            return len(self.processes) - 1
        for index in reversed(uses):
            start = self.processes[index].start_ns
            if start is None or start <= time_ns:
                return index
        return uses[0]

    def names_at(self, threads: Int64Array, times: Int64Array) -> tuple[list[str], npt.NDArray[np.int64]]:
        """The name of each thread at a time: distinct names, and the index of each pair's name.

        ``threads`` int64 [n] sorted, ``times`` CLOCK_MONOTONIC ns [n].
        """
        texts: dict[str, int] = {}
        last = np.zeros(len(self.threads), np.int64)
        changed: list[int] = []
        for index in np.flatnonzero(np.bincount(threads, minlength=len(self.threads))).tolist():
            names = [name for _time, name in self.threads[index].names]
            for name in names or [f"thread {self.threads[index].tid}"]:
                last[index] = texts.setdefault(name, len(texts))
            if len(names) > 1:
                changed.append(index)
        result = last[threads]
        for index in changed:
            names_and_times = self.threads[index].names
            start, stop = np.searchsorted(threads, (index, index + 1)).tolist()
            numbers = np.array([texts[name] for _time, name in names_and_times])
            since = np.maximum.accumulate(np.array([time for time, _name in names_and_times]))
            which = np.searchsorted(since, times[start:stop], "right") - 1
            result[start:stop] = numbers[np.maximum(which, 0)]
        return list(texts), result

    def _find_or_make(self, pid: int, tid: int) -> int:
        index = self._thread_now.get(tid)
        if index is not None:
            return index
        if pid not in self._process_now:
            self._new_process(pid, None)
        self._new_thread(pid, tid, BEFORE)
        return len(self.threads) - 1

    def _new_process(self, pid: int, start_ns: int | None) -> ProcessLife:
        old = self._process_now.get(pid)
        if old is not None and self.processes[old].stop_ns is None:
            self.processes[old].stop_ns = start_ns
        generation = self._process_uses.get(pid, 0) + 1
        self._process_uses[pid] = generation
        self._process_now[pid] = len(self.processes)
        process = ProcessLife(pid=pid, generation=generation, start_ns=start_ns)
        self.processes.append(process)
        return process

    def _new_thread(self, pid: int, tid: int, birth_ns: int) -> ThreadLife:
        old = self._thread_now.get(tid)
        if old is not None:
            self._end_thread(old, birth_ns)
            if pid not in self._process_now:
                self._new_process(pid, birth_ns)
        uses = self._by_tid.setdefault(tid, [])
        if uses:
            # It cannot start before the previous thread of its id ended: ``lookup`` searches births in order.
            birth_ns = max(birth_ns, self.threads[uses[-1]].death_ns or BEFORE)
        process = self._process_now[pid]
        generation = self.threads[uses[-1]].generation + 1 if uses else 1
        thread = ThreadLife(process=process, tid=tid, generation=generation, birth_ns=birth_ns)
        self._thread_now[tid] = len(self.threads)
        uses.append(len(self.threads))
        self.threads.append(thread)
        self.processes[process].alive += 1
        return thread

    def _end_thread(self, index: int, time_ns: int) -> None:
        thread = self.threads[index]
        self._thread_now.pop(thread.tid, None)
        if thread.death_ns is not None:
            return
        thread.death_ns = time_ns
        process = self.processes[thread.process]
        process.last_thread = index
        process.alive -= 1
        if process.alive <= 0:
            process.stop_ns = time_ns
            if self._process_now.get(process.pid) == thread.process:
                del self._process_now[process.pid]


def _moved(index_of: dict[int, int], now: dict[int, int]) -> dict[int, int]:
    return {key: now[index] for key, index in index_of.items() if index in now}


def _unique_ids(ids: npt.NDArray[np.integer]) -> tuple[Int64Array, Int64Array, Int64Array]:
    """``np.unique`` with first index and inverse, by counting: kernel ids are small, and sorting millions is slow."""
    if not len(ids):
        empty = np.empty(0, np.int64)
        return empty, empty, empty
    low, high = int(ids.min()), int(ids.max())
    if high - low > 1 << 23:
        values, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
        return values.astype(np.int64), first.astype(np.int64), inverse.astype(np.int64).reshape(-1)
    places = (ids - low).astype(np.int32) if low else ids.astype(np.int32)
    seen_at = np.full(high - low + 1, -1, np.int64)
    seen_at[places[::-1]] = np.arange(len(ids) - 1, -1, -1)
    present = np.flatnonzero(seen_at >= 0)
    code = np.zeros(high - low + 1, np.int64)
    code[present] = np.arange(len(present))
    return present + low, seen_at[present], code[places]


def command_title(command: str, name: str, pid: int) -> str:
    """A short title of a process: ``python train.py [71]``."""
    words: Iterable[str] = command.split("\0") if "\0" in command else command.split()
    parts = [word for word in words if word]
    # Drop the folders of the program and its script.
    for index in range(min(2, len(parts))):
        if index == 0 or parts[index].endswith(".py"):
            parts[index] = parts[index].rsplit("/", 1)[-1] or parts[index]
    text = " ".join(" ".join(parts).split()) or name or "process"
    if len(text) > 60:
        text = f"{text[:59]}…"
    return f"{text} [{pid}]"
