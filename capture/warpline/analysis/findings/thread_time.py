"""Thread states, blocking calls and stack samples of a view as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.finding import Where
from warpline.analysis.findings.segments import NOBODY, IntArray, in_order
from warpline.analysis.findings.wait_kinds import FRAME, own_frame
from warpline.analysis.framework.selected.selected_events import SelectedEvents
from warpline.analysis.framework.selection import View
from warpline.analysis.structure.thread_states import STATES, state_codes

Int64Array = npt.NDArray[np.int64]
_AT_ONCE = 1 << 19
"""How many events of threads are read together, unless one thread has more."""
RUNNING, RUNNABLE, BLOCKED = (STATES.index(name) for name in ("running", "runnable", "blocked"))


@dataclass(frozen=True, kw_only=True)
class ThreadTime:
    """States of threads [n], sorted by thread, then start: ``thread`` index in the capture, ``start``/``stop`` capture
    ns, ``state`` index into `STATES`, ``wait`` code of `WaitKind` (0: not known), ``stack`` id (−1: none), ``row``.
    """

    thread: IntArray
    start: Int64Array
    stop: Int64Array
    state: Int64Array
    wait: IntArray
    stack: IntArray
    row: Int64Array

    def take(self, index: npt.NDArray[np.generic]) -> ThreadTime:
        """A subset of the states."""
        return ThreadTime(**{item.name: getattr(self, item.name)[index] for item in fields(self)})

    def __len__(self) -> int:
        return len(self.thread)


@dataclass(frozen=True)
class BlockingCalls:
    """Blocking calls [n], sorted by thread, then start.

    ``by`` is the index of the thread that held the lock or ended the wait, ``ended_by`` of the one that ended it
    (`NOBODY`: unknown); ``object`` the string id of what was waited for (−1: none).
    """

    thread: Int64Array
    start: Int64Array
    stop: Int64Array
    by: Int64Array
    ended_by: Int64Array
    object: Int64Array


class Threads:
    """The threads of a view: their states, calls and samples, read on first use."""

    def __init__(self, view: View) -> None:
        self.view = view
        capture = view.capture
        self._thread_of_track = np.array(
            [NOBODY if t.thread is None else t.thread for t in capture.tracks] or [NOBODY], np.int64
        )
        self._places: dict[int, Where] = {}

    @cached_property
    def activity(self) -> ThreadTime:
        """All states, cut to the range; empty when not recorded."""
        view = self.view
        if not view.has("thread_state"):
            none = np.empty(0, np.int64)
            return ThreadTime(**{item.name: none for item in fields(ThreadTime)})
        events = view.events("thread_state")
        order_thread = self._threads(events.row)
        start = np.maximum(events.start, view.start_ns)
        stop = np.minimum(events.stop, view.stop_ns)
        states = ThreadTime(
            thread=order_thread,
            start=start,
            stop=np.maximum(stop, start),
            state=state_codes(view, events.row, events.name),
            wait=np.ma.filled(view.column("thread_state", "wait", events.index).astype(np.int64), 0),
            stack=self._stacks("thread_state", events),
            row=events.row,
        )
        order = in_order(states.thread, states.start)
        return states if order is None else states.take(order)

    def parts(self) -> Iterator[Threads]:
        """The threads with states in ascending groups, each small enough to need little memory."""
        capture, lanes = self.view.capture, self.view.capture.lanes
        thread = self._thread_of_track[np.asarray(lanes.track).astype(np.int64)]
        known = thread >= 0
        counts = np.bincount(thread[known], np.asarray(lanes.count)[known], len(capture.threads))
        group: list[int] = []
        filled = 0.0
        for thread_index, count in enumerate(counts.tolist()):
            if group and filled + count > _AT_ONCE:
                yield self._only(group)
                group, filled = [], 0.0
            group.append(thread_index)
            filled += count
        if group:
            yield self._only(group)

    def _only(self, group: list[int]) -> Threads:
        if len(group) == len(self.view.capture.threads):
            return Threads(self.view)
        chosen = self.view.selection
        wanted = frozenset(group) if chosen.threads is None else chosen.threads & frozenset(group)
        # The part keeps the range of the whole.
        return Threads(self.view.other(replace(chosen, threads=wanted)))

    @property
    def has_states(self) -> bool:
        """Whether thread states were recorded."""
        return self.view.were_recorded("thread_state")

    @cached_property
    def calls(self) -> BlockingCalls:
        """All blocking calls; empty when not recorded."""
        view = self.view
        if not view.has("osrt") or "wait" not in view.capture.kinds["osrt"].attributes:
            none = np.empty(0, np.int64)
            return BlockingCalls(none, none, none, none, none, none)
        calls = self.calls_of(view.events("osrt"))
        order = in_order(calls.thread, calls.start)
        if order is None:
            return calls
        return BlockingCalls(*(getattr(calls, item.name)[order] for item in fields(BlockingCalls)))

    def calls_of(self, events: SelectedEvents) -> BlockingCalls:
        """Some events of the kind ``osrt`` as calls, in their own order."""
        view = self.view
        holder, ended_by = (
            self._of_tids(np.ma.filled(view.column("osrt", name, events.index).astype(np.int64), 0))
            for name in ("holder", "ended_by")
        )
        objects = np.ma.filled(view.column("osrt", "object", events.index).astype(np.int64), -1)
        return BlockingCalls(
            self._threads(events.row),
            events.start,
            events.stop,
            np.where(holder == NOBODY, ended_by, holder),
            ended_by,
            objects,
        )

    @property
    def samples(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """(thread, time, stack) of stack samples, sorted by thread, then time.

        Samples of native stacks count for threads without samples of Python.
        """
        return self._sampled[:3]

    @property
    def sample_stops(self) -> Int64Array:
        """Until when each of the `samples` holds, capture ns: its own time, except in profiles with durations."""
        return self._sampled[3]

    @cached_property
    def _sampled(self) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
        none = np.empty(0, np.int64)
        parts = [self._samples_of_kind(kind) for kind in ("sample", "cpu_sample")]
        columns = parts[0] if parts[0] is not None else (none, none, none, none)
        if parts[1] is not None:
            fresh = ~np.isin(parts[1][0], columns[0])
            columns = tuple(
                np.concatenate([column, more[fresh]]) for column, more in zip(columns, parts[1], strict=True)
            )
        order = np.lexsort((columns[1], columns[0]))
        thread, time, stack, stop = (column[order] for column in columns)
        return thread, time, stack, stop

    def _samples_of_kind(self, kind: str) -> tuple[Int64Array, ...] | None:
        if not self.view.has(kind):
            return None
        events = self.view.events(kind)
        return self._threads(events.row), events.start, self._stacks(kind, events), events.stop

    def _stacks(self, kind: str, events: SelectedEvents) -> Int64Array:
        """The stack of each event; −1 without one, or with one that the capture does not hold."""
        stack = np.ma.filled(self.view.column(kind, "stack", events.index).astype(np.int64), -1)
        is_known = (stack >= 0) & (stack < len(self.view.capture.stacks[0]))
        return stack if is_known.all() else np.where(is_known, stack, -1)

    def samples_of(self, thread: int) -> tuple[Int64Array, Int64Array]:
        """(time, stack) of a thread's samples, sorted by time."""
        threads, times, stacks = self.samples
        low, high = np.searchsorted(threads, (thread, thread + 1)).tolist()
        return times[low:high], stacks[low:high]

    def _threads(self, rows: Int64Array) -> Int64Array:
        return self._thread_of_track[self.view.track_of(rows)] if len(rows) else np.empty(0, np.int64)

    def name(self, thread: int) -> str:
        """``loader (490)``, or ``Thread 490`` without a name; as on its row."""
        known = self.view.capture.threads[thread]
        return known.label or f"Thread {known.tid}"

    def during(self, thread: int, spans: Sequence[tuple[int, int]]) -> ThreadTime:
        """The states of a thread in some stretches of time, cut to them."""
        activity = self.activity
        low, high = np.searchsorted(activity.thread, (thread, thread + 1)).tolist()
        parts = []
        for start, stop in spans:
            first = low + int(np.searchsorted(activity.stop[low:high], start, "right"))
            last = low + int(np.searchsorted(activity.start[low:high], stop, "left"))
            part = activity.take(np.arange(first, max(last, first)))
            cut = np.maximum(part.start, start)
            until = np.maximum(np.minimum(part.stop, stop), cut)
            parts.append(replace(part, start=cut, stop=until))
        if not parts:
            return activity.take(np.empty(0, np.int64))
        names = [item.name for item in fields(ThreadTime)]
        return ThreadTime(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})

    def calls_around(self, activity: ThreadTime) -> Int64Array:
        """For each blocked state, the index in `calls` of the call around it; −1 for none."""
        calls = self.calls
        if not len(calls.thread):
            return np.full(len(activity), -1, np.int64)
        keys = (calls.thread << 48) + (calls.start - self.view.start_ns + (1 << 40))
        wanted = (activity.thread << 48) + (activity.start - self.view.start_ns + (1 << 40) + 2_000)
        at = np.searchsorted(keys, wanted, "right") - 1
        inside = at >= 0
        inside[inside] = (calls.thread[at[inside]] == activity.thread[inside]) & (
            calls.stop[at[inside]] > activity.start[inside]
        )
        return np.where(inside, at, -1)

    def woken_by(self, waits: ThreadTime) -> Int64Array:
        """The index of the thread that woke each waiting one; `NOBODY` when unknown."""
        view = self.view
        if not len(waits) or "woken_by" not in view.capture.kinds["thread_state"].attributes:
            return np.full(len(waits), NOBODY, np.int64)
        table = view.capture.kinds["thread_state"]
        values = np.ma.filled(
            view.column("thread_state", "woken_by", table.indices_of(waits.row)).astype(np.int64), 0
        )
        return self._of_tids(values)

    def _of_tids(self, values: Int64Array) -> Int64Array:
        tids = {thread.tid: index for index, thread in enumerate(self.view.capture.threads)}
        distinct_tids, inverse = np.unique(values, return_inverse=True)
        index = np.array([tids.get(tid, NOBODY) for tid in distinct_tids.tolist()] or [NOBODY], np.int64)
        return index[inverse.reshape(-1)]

    def place(self, stack: int) -> Where:
        """The innermost frame of the user's code on a stack, else the innermost frame of any code."""
        known = self._places.get(stack)
        if known is None:
            frames = self.view.capture.stack_frames(stack) if stack >= 0 else []
            parsed = [match for match in map(FRAME.match, frames) if match is not None]
            own = own_frame(parsed)
            best = own or (parsed[0] if parsed else None)
            known = (
                Where()
                if best is None
                else Where(
                    file=best["file"], line=int(best["line"]), function=best["function"].rpartition(".")[2]
                )
            )
            self._places[stack] = known
        return known

    def where(self, stack: int, thread: int) -> Where:
        """`place`, with the thread and its process."""
        known = self.place(stack)
        capture = self.view.capture
        process = capture.threads[thread].process
        pid = capture.processes[process].pid if 0 <= process < len(capture.processes) else None
        return Where(
            file=known.file, line=known.line, function=known.function, process=pid, thread=self.name(thread)
        )
