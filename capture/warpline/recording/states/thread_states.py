"""Turns context switches into thread states: pure functions over columns, with the rules of the kernel's scheduler.

A thread that is switched in runs. Switched out by preemption it is runnable until it is switched in again; otherwise it
is blocked until then. A new thread is runnable until it first runs. The last switch-out of a thread has no state,
because its exit follows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from warpline.model.flags import Flag
from warpline.recording.spool.columns import take
from warpline.recording.states.state import State

Int64Array = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]
Uint8Array = npt.NDArray[np.uint8]


class Mark(IntEnum):
    """What happened to a thread at a moment in time."""

    BIRTH = 0
    RESUME_UNKNOWN = 1
    RESUME_BLOCKED = 2
    RESUME_READY = 3
    IN = 4
    OUT = 5
    PREEMPTED = 6
    WAKING = 7
    PAUSE = 8
    DEATH = 9
    END = 10


NO_CPU = -1


@dataclass(frozen=True)
class Marks:
    """Marks of all threads, in any order; equal times of one thread must be in the order of events.

    ``thread`` int64 [n] (index of a thread), ``time_ns`` int64 [n], ``cpu`` int32 [n] (NO_CPU if there is none),
    ``mark`` uint8 [n].
    """

    thread: Int64Array
    time_ns: Int64Array
    cpu: Int32Array
    mark: Uint8Array

    def __len__(self) -> int:
        return len(self.thread)

    @staticmethod
    def of(thread: npt.ArrayLike, time_ns: npt.ArrayLike, cpu: npt.ArrayLike, mark: npt.ArrayLike) -> Marks:
        """Marks of columns that broadcast against ``thread``."""
        threads = np.atleast_1d(np.asarray(thread, np.int64))
        n = len(threads)
        return Marks(
            threads,
            np.broadcast_to(np.asarray(time_ns, np.int64), n),
            np.broadcast_to(np.asarray(cpu, np.int32), n),
            np.broadcast_to(np.asarray(mark, np.uint8), n),
        )


@dataclass(frozen=True, kw_only=True)
class States:
    """Thread states, sorted by thread, then time; the states of a thread do not overlap.

    ``thread``, ``start_ns``, ``stop_ns`` int64 [n]; ``state`` uint8 [n] (`State`), ``cpu`` int32 [n] (the core of a
    running thread, NO_CPU if not running or unknown), ``flags`` uint8 [n]. Running states of one core do not overlap.
    """

    thread: Int64Array
    start_ns: Int64Array
    stop_ns: Int64Array
    state: Uint8Array
    cpu: Int32Array
    flags: Uint8Array

    @cached_property
    def by_core(self) -> Int64Array:
        """Indexes of running states with a known core: int64 [m], sorted by core, then start."""
        ran = np.flatnonzero(self.cpu != NO_CPU)
        ran = ran[np.argsort(self.start_ns[ran], kind="stable")]
        return ran[np.argsort(self.cpu[ran].astype(np.uint16), kind="stable")]


def _tables() -> tuple[Uint8Array, Uint8Array]:
    """State and flags of the time between two marks, by left and right mark."""
    state = np.zeros((len(Mark), len(Mark)), np.uint8)
    flags = np.zeros((len(Mark), len(Mark)), np.uint8)
    out = (Mark.OUT, Mark.PREEMPTED)
    cuts = (Mark.PAUSE, Mark.END)
    resumes = (Mark.RESUME_UNKNOWN, Mark.RESUME_BLOCKED, Mark.RESUME_READY)

    def rule(left: Mark, right: Mark, what: State, flag: int = 0) -> None:
        state[left, right] = what
        flags[left, right] = flag

    for right in Mark:
        cut = Flag.CUT_END if right in cuts else 0
        lost_end = Flag.TRUNCATED if right not in {*out, *cuts, Mark.DEATH} else 0
        rule(Mark.IN, right, State.RUNNING, cut | lost_end)
        # After a switch-out only a switch-in, a wake-up or a cut can follow; otherwise the switch-in was lost.
        lost_in = 0 if right in {Mark.IN, Mark.WAKING, *cuts} else Flag.TRUNCATED
        rule(Mark.OUT, right, State.BLOCKED, cut | lost_in)
        for left in (Mark.PREEMPTED, Mark.BIRTH, Mark.WAKING):
            rule(left, right, State.RUNNABLE, cut | lost_in)
    # A thread may be killed before it ever ran.
    rule(Mark.BIRTH, Mark.DEATH, State.RUNNABLE)
    for left in resumes:
        ready = left == Mark.RESUME_READY
        rule(left, Mark.IN, State.RUNNABLE if ready else State.BLOCKED, Flag.CUT_START)
        rule(left, Mark.WAKING, State.BLOCKED, Flag.CUT_START)
        for right in (*out, Mark.DEATH):
            rule(left, right, State.RUNNING, Flag.CUT_START)
    for right in cuts:
        rule(Mark.RESUME_READY, right, State.RUNNING, Flag.CUT_START | Flag.CUT_END | Flag.ESTIMATED)
        rule(Mark.RESUME_BLOCKED, right, State.BLOCKED, Flag.CUT_START | Flag.CUT_END)
    kind = np.array([0, 0, Flag.WAITING, Flag.IDLE], np.uint8)
    return state, flags | kind[state]


_N_MARKS = len(Mark)
_PIECE = 1 << 16
_STATE, _FLAGS = (table.reshape(-1) for table in _tables())


_LEFT, _RIGHT = np.divmod(np.arange(_N_MARKS * _N_MARKS), _N_MARKS)
_CAME_IN = (_LEFT == Mark.IN) | (_LEFT == Mark.RESUME_READY)
_WENT_OUT = (_RIGHT == Mark.OUT) | (_RIGHT == Mark.PREEMPTED)


def order_marks(marks: Marks) -> Marks:
    """The marks sorted by thread, then time; ties keep their order."""
    # Rings are sorted already, and timsort finds their runs. Threads are few, and 16-bit keys use radix sort.
    by_time = np.argsort(marks.time_ns, kind="stable")
    thread = marks.thread[by_time]
    narrow = thread.astype(np.uint16) if len(thread) and int(thread.max()) < 1 << 16 else thread
    order = by_time[np.argsort(narrow, kind="stable")]
    counts = np.bincount(thread)
    sorted_threads = np.repeat(np.arange(len(counts)), counts)
    return Marks(sorted_threads, marks.time_ns[order], marks.cpu[order], marks.mark[order])


def thread_states(marks: Marks) -> States:
    """The states between the marks of each thread; unknown states are left out."""
    ordered = _without_idle_wakings(order_marks(marks))
    n = len(ordered)
    result = States(
        thread=np.empty(n, np.int64),
        start_ns=np.empty(n, np.int64),
        stop_ns=np.empty(n, np.int64),
        state=np.empty(n, np.uint8),
        cpu=np.empty(n, np.int32),
        flags=np.empty(n, np.uint8),
    )
    count = 0
    # In pieces that fit the processor's cache.
    for first in range(0, n - 1, _PIECE):
        count = _states_between(ordered, first, min(first + _PIECE, n - 1), result, count)
    return _without_overlaps(take(result, slice(count)))


def _without_idle_wakings(ordered: Marks) -> Marks:
    """Drop wake-ups of threads that are running or runnable already."""
    woken = np.flatnonzero(ordered.mark == Mark.WAKING)
    if not len(woken):
        return ordered
    keep = np.ones(len(ordered), bool)
    before = ordered.mark[np.maximum(woken - 1, 0)]
    same = (woken > 0) & (ordered.thread[np.maximum(woken - 1, 0)] == ordered.thread[woken])
    sleeping = same & (
        (before == Mark.OUT) | (before == Mark.RESUME_BLOCKED) | (before == Mark.RESUME_UNKNOWN)
    )
    keep[woken[~sleeping]] = False
    return ordered if keep.all() else take(ordered, keep)


def _states_between(ordered: Marks, first: int, last: int, result: States, count: int) -> int:
    """Append to ``result`` the states that begin with the marks ``first`` to ``last``; returns the new count."""
    left, right = slice(first, last), slice(first + 1, last + 1)
    rule: Uint8Array = ordered.mark[left] * np.uint8(_N_MARKS) + ordered.mark[right]
    state: Uint8Array = _STATE.take(rule)
    known = ordered.thread[left] == ordered.thread[right]
    known &= state != State.NONE
    known &= ordered.time_ns[right] > ordered.time_ns[left]
    pick = np.flatnonzero(known)
    state, rule = state[pick], rule[pick]
    # Both marks may know the core; the later one wins.
    cores = ordered.cpu[first : last + 1]
    came_in: Int32Array = np.where(_CAME_IN.take(rule), cores[pick], np.int32(NO_CPU))
    cpu: Int32Array = np.where(_WENT_OUT.take(rule), cores[pick + 1], came_in)
    cpu[state != State.RUNNING] = NO_CPU
    part = slice(count, count + len(pick))
    times = ordered.time_ns[first : last + 1]
    result.thread[part] = ordered.thread[left][pick]
    result.start_ns[part], result.stop_ns[part] = times[pick], times[pick + 1]
    result.state[part], result.cpu[part], result.flags[part] = state, cpu, _FLAGS.take(rule)
    return count + len(pick)


def _without_overlaps(states: States) -> States:
    """End a running state where another thread starts on the same core: its own end was lost."""
    order = states.by_core
    if len(order) < 2:
        return states
    start, cpu = states.start_ns[order], states.cpu[order]
    late = np.flatnonzero((states.stop_ns[order[:-1]] > start[1:]) & (cpu[1:] == cpu[:-1]))
    if not len(late):
        return states
    stop, flags = states.stop_ns.copy(), states.flags.copy()
    stop[order[late]] = start[late + 1]
    flags[order[late]] |= np.uint8(Flag.TRUNCATED)
    return take(replace(states, stop_ns=stop, flags=flags), stop > states.start_ns)
