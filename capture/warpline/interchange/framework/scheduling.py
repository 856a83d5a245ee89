"""Turns switches and wake-ups of Linux's scheduler into states of threads, slices of cores and wake-up links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.framework.event_sink import EventSink, Holder
from warpline.model import Flag, links

Int64Array = npt.NDArray[np.int64]
ThreadOf = Callable[[int], Holder]
"""The thread of the capture with a tid."""

RUNNABLE, BLOCKED, UNINTERRUPTIBLE, STOPPED, DEAD, IDLE = range(6)
STATES: tuple[tuple[str, Flag], ...] = (
    (english("runnable"), Flag.WAITING),
    (english("blocked"), Flag.IDLE),
    (english("uninterruptible"), Flag.IDLE),
    (english("stopped"), Flag.IDLE),
    (english("ended"), Flag.IDLE),
    (english("blocked"), Flag.IDLE),
)
"""Names and flags of the states that a thread can leave its core in; `IDLE` is a kernel worker without work."""
_RUNNING = len(STATES)
_BITS = (
    (1, BLOCKED),
    (2, UNINTERRUPTIBLE),
    (4, STOPPED),
    (8, STOPPED),
    (16, DEAD),
    (32, DEAD),
)
_PARKED_OR_DEAD, _IDLE_WORKER, _PREEMPTED, _NO_LOAD = 64, 128, 256, 1024
_ONE_BIT = frozenset({0, *(1 << bit for bit in range(9))})
_RAW = 1 << 20
_LETTERS = {"R": RUNNABLE, "S": BLOCKED, "D": UNINTERRUPTIBLE, "T": STOPPED, "t": STOPPED, "X": DEAD, "Z": DEAD,
            "x": DEAD, "P": STOPPED, "I": IDLE}  # fmt: skip


@overload
def raw_state(prev_state: int) -> int: ...
@overload
def raw_state(prev_state: Int64Array) -> Int64Array: ...
def raw_state(prev_state: int | Int64Array) -> int | Int64Array:
    """A ``prev_state`` number of ``sched_switch``, whose state depends on the other numbers of its file."""
    return _RAW | prev_state & 0xFFFF


def states_of(states: Int64Array, are_old: bool | None = None) -> Int64Array:
    """States, with those of `raw_state` read as Linux before 4.14 (``are_old``) or since then writes them.

    None: decided by the numbers. Since 4.14 a number has a single bit, 256 meaning preempted; before, it is the
    kernel's own word: several bits, and 64 for a dead thread where 4.14 has a parked one
    (``include/linux/sched.h`` and ``include/trace/events/sched.h`` of both).
    """
    is_raw = states >= _RAW
    numbers = states[is_raw] & 0xFFFF
    if are_old is None:
        are_old = _look_old(set(np.unique(numbers).tolist()))
    found = np.full(len(numbers), RUNNABLE)
    if are_old:
        # An idle kernel worker, since 4.2. Higher bits are flags, the highest of which means preempted.
        found[numbers & (_NO_LOAD | 2) == _NO_LOAD | 2] = IDLE
        found[numbers & _PARKED_OR_DEAD != 0] = DEAD
    else:
        found[numbers & _IDLE_WORKER != 0] = IDLE
        found[numbers & _PARKED_OR_DEAD != 0] = STOPPED
    for bit, state in reversed(_BITS):
        found[(numbers & bit != 0) & (found != IDLE)] = state
    result = states.astype(np.int64)
    result[is_raw] = found
    return result


def _look_old(numbers: set[int]) -> bool:
    if not numbers <= _ONE_BIT:
        return True
    if numbers & {_IDLE_WORKER, _PREEMPTED}:
        return False
    return _PARKED_OR_DEAD in numbers and not numbers & {16, 32}


def state_of_letters(text: str) -> int:
    """The state of a ``prev_state`` text (``S``, ``R+``, ``D|K``)."""
    return _LETTERS.get(text[:1], BLOCKED)


class SchedulerLog:
    """Collects the scheduler's events of a file, in any order; times in ns of the file's clock.

    ``are_old`` says how to read `raw_state` numbers; see `states_of`.
    """

    def __init__(self, sink: EventSink, thread_of: ThreadOf, are_old: bool | None = None) -> None:
        self._are_old = are_old
        self._sink = sink
        self._thread_of = thread_of
        self._switches: list[tuple[Int64Array, ...]] = []
        self._wakeups: list[tuple[Int64Array, ...]] = []

    def add_switches(
        self,
        time: Int64Array,
        cpu: Int64Array,
        prev: Int64Array,
        prev_state: Int64Array,
        following: Int64Array,
    ) -> None:
        """Switches of cores from a thread, left in a state of `STATES` or a `raw_state`, to the next one.

        The idle thread has tid 0.
        """
        self._switches.append((time, cpu, prev, prev_state.astype(np.int32), following))

    def add_wakeups(self, time: Int64Array, thread: Int64Array, by: Int64Array) -> None:
        """Threads that became runnable, and the threads that woke them; -1 for an unknown one."""
        self._wakeups.append((time, thread, by))

    def finish(self, stop_ns: int | None = None) -> None:
        """Adds everything to the capture; what still lasts ends at ``stop_ns``, by default with the last event."""
        if not any(len(part[0]) for part in self._switches):
            return
        time, cpu, prev, state, following = _joined(self._switches)
        state = states_of(state, self._are_old).astype(np.int8)
        stop = int(time.max()) if stop_ns is None else max(stop_ns, int(time.max()))
        order = np.lexsort((time, cpu))
        time, cpu, prev, state, following = (column[order] for column in (time, cpu, prev, state, following))
        is_last = np.r_[cpu[1:] != cpu[:-1], True]
        ends = np.where(is_last, stop, np.r_[time[1:], stop])
        # The switch that ends a slice tells the state its thread was left in.
        matches = ~is_last & (np.r_[prev[1:], -1] == following)
        left_in = np.where(matches, np.r_[state[1:], 0], np.int8(BLOCKED))
        flags = np.where(is_last, Flag.CUT_END, np.where(matches, 0, Flag.TRUNCATED)).astype(np.uint8)
        firsts = np.flatnonzero(np.r_[True, cpu[1:] != cpu[:-1]])
        begin = int(time.min())
        early = firsts[(prev[firsts] != 0) & (time[firsts] > begin)]
        slices = (
            np.r_[np.full(len(early), begin), time],
            np.r_[time[early], ends],
            np.r_[cpu[early], cpu],
            np.r_[prev[early], following],
            np.r_[state[early], left_in],
            np.r_[np.full(len(early), Flag.CUT_START, np.uint8), flags],
        )
        keep = slices[3] > 0
        self._add(*(column[keep] for column in slices), stop=stop)

    def _add(
        self,
        start: Int64Array,
        end: Int64Array,
        cpu: Int64Array,
        tid: Int64Array,
        left_in: Int64Array,
        flags: npt.NDArray[np.uint8],
        *,
        stop: int,
    ) -> None:
        order = np.lexsort((start, tid))
        start, end, cpu, tid, left_in = (column[order] for column in (start, end, cpu, tid, left_in))
        flags = flags[order]
        threads, places = np.unique(tid, return_inverse=True)
        places = places.reshape(-1)
        # The busiest thread comes first, as far as the order of processes allows.
        busiest = np.argsort(-np.bincount(places, end - start), kind="stable")
        known = {number: self._thread_of(number) for number in threads[busiest].tolist()}
        holders = [known[number] for number in threads.tolist()]
        self._add_cores(start, end, cpu, places, holders, flags)
        running = self._add_states(
            [self._sink.thread_track(holder, "state") for holder in holders],
            places, start, end, np.full(len(start), _RUNNING), flags, {"cpu": cpu.astype(np.int32)},
        )  # fmt: skip
        self._add_waits(threads, holders, places, start, end, left_in, flags, running, stop)

    def _add_cores(
        self,
        start: Int64Array,
        end: Int64Array,
        cpu: Int64Array,
        places: Int64Array,
        holders: list[Holder],
        flags: npt.NDArray[np.uint8],
    ) -> None:
        sink, builder = self._sink, self._sink.builder
        group = sink.track(sink.specs.cores())
        cores, core_of = np.unique(cpu, return_inverse=True)
        tracks = np.array([sink.track(sink.specs.core(core), group) for core in cores.tolist()], np.int64)
        titles = builder.strings([sink.label(holder) for holder in holders])
        process = np.array([(holder.process or holder).index for holder in holders], np.int64)
        thread = np.array([holder.index for holder in holders], np.int64)
        owner = {"process": process[places], "thread": thread[places]}
        sink.add(
            tracks[core_of.reshape(-1)],
            "cpu_slice",
            start,
            end,
            titles[places],
            flags=flags,
            attributes=owner,
        )

    def _add_states(
        self,
        tracks: list[int],
        places: Int64Array,
        start: Int64Array,
        end: Int64Array,
        state: Int64Array,
        flags: npt.NDArray[np.uint8],
        attributes: dict[str, Any],
    ) -> Int64Array:
        names = self._sink.builder.strings([*(name for name, _ in STATES), english("running")])
        marks = np.array([*(int(flag) for _, flag in STATES), 0], np.uint8)
        return self._sink.add(
            np.array(tracks, np.int64)[places],
            "thread_state",
            start,
            end,
            names[state],
            flags=flags | marks[state],
            attributes=attributes,
        )

    def _add_waits(
        self,
        threads: Int64Array,
        holders: list[Holder],
        places: Int64Array,
        start: Int64Array,
        end: Int64Array,
        left_in: Int64Array,
        flags: npt.NDArray[np.uint8],
        running: Int64Array,
        stop: int,
    ) -> None:
        """States between the slices of a thread: blocked until it is woken, then runnable until it runs."""
        is_last = np.r_[places[1:] != places[:-1], True]
        until = np.where(is_last, stop, np.r_[start[1:], stop])
        gap = (until > end) & ~(is_last & ((left_in == DEAD) | (flags & Flag.CUT_END != 0)))
        wake_time, waker = self._wakes(threads, places, end, until)
        woken = gap & (left_in != RUNNABLE) & (wake_time >= 0)
        blocked_until = np.where(woken, wake_time, until)
        cut = np.where(is_last, Flag.CUT_END, 0).astype(np.uint8)
        tracks = [self._sink.thread_track(holder, "state") for holder in holders]
        waits = np.flatnonzero(gap & (blocked_until > end))
        by = np.array([waker[row] for row in waits.tolist()], np.int64)
        known = woken[waits] & (by >= 0)
        numbers = {int(tid): holder.index for tid, holder in zip(threads.tolist(), holders, strict=True)}
        woken_by = np.array([numbers.get(tid, -1) for tid in by.tolist()], np.int64)
        known &= woken_by >= 0
        ids = self._add_states(
            tracks,
            places[waits],
            end[waits],
            blocked_until[waits],
            left_in[waits].astype(np.int64),
            np.where(woken[waits], 0, cut[waits]).astype(np.uint8),
            {"woken_by": np.ma.MaskedArray(woken_by, ~known)} if known.any() else {},
        )
        ready = np.flatnonzero(woken & (until > blocked_until))
        self._add_states(
            tracks,
            places[ready],
            blocked_until[ready],
            until[ready],
            np.full(len(ready), RUNNABLE),
            cut[ready],
            {},
        )
        self._link(threads, places, start, end, running, by[known], wake_time[waits][known], ids[known])

    def _wakes(
        self, threads: Int64Array, places: Int64Array, after: Int64Array, before: Int64Array
    ) -> tuple[Int64Array, Int64Array]:
        """The first wake-up of each thread between two times (-1 without one), and the waker."""
        nothing = np.full(len(places), -1, np.int64)
        if not self._wakeups:
            return nothing, nothing
        time, tid, by = _joined(self._wakeups)
        known = np.isin(tid, threads)
        time, thread, by = time[known], np.searchsorted(threads, tid[known]), by[known]
        order = np.lexsort((time, thread))
        time, thread, by = time[order], thread[order], by[order]
        if not len(time):
            return nothing, nothing
        base = int(min(time.min(), after.min()))
        span = int(max(time.max(), before.max())) - base + 1
        if span > (1 << 62) // (len(threads) + 1):
            return nothing, nothing  # damaged times
        keys = thread * span + (time - base)
        place = np.minimum(np.searchsorted(keys, places * span + (after - base)), len(keys) - 1)
        found = (thread[place] == places) & (time[place] >= after) & (time[place] <= before)
        return np.where(found, time[place], -1), np.where(found, by[place], -1)

    def _link(
        self,
        threads: Int64Array,
        places: Int64Array,
        start: Int64Array,
        end: Int64Array,
        running: Int64Array,
        by: Int64Array,
        time: Int64Array,
        ids: Int64Array,
    ) -> None:
        """Arrows from what a waker ran at the time to the wait that it ended."""
        order = np.lexsort((start, threads[places]))
        starts, ends, tids, events = start[order], end[order], threads[places][order], running[order]
        source = np.full(len(by), -1, np.int64)
        for tid in np.unique(by).tolist():
            low, high = np.searchsorted(tids, tid), np.searchsorted(tids, tid, "right")
            chosen = np.flatnonzero(by == tid)
            if low == high:
                continue
            place = low + np.maximum(np.searchsorted(starts[low:high], time[chosen], "right") - 1, 0)
            inside = (starts[place] <= time[chosen]) & (ends[place] >= time[chosen])
            source[chosen[inside]] = events[place[inside]]
        usable = (source >= 0) & (ids >= 0)
        if usable.any():
            self._sink.builder.add_links(links.WAKEUP, source[usable], ids[usable])


def _joined(parts: list[tuple[Int64Array, ...]]) -> tuple[Int64Array, ...]:
    """The columns of all parts, which are dropped: a single one is not copied."""
    columns = parts[0] if len(parts) == 1 else tuple(map(np.concatenate, zip(*parts, strict=True)))
    parts.clear()
    return columns
