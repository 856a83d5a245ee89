"""What each thread did when, as columns that can be asked about any stretch of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.finding import Where
from warpline.analysis.findings.segments import NOBODY, IntArray, in_order
from warpline.analysis.findings.wait_kinds import FRAME, is_library
from warpline.analysis.framework.selection import SelectedEvents, View
from warpline.analysis.structure.thread_states import STATES, state_codes

Int64Array = npt.NDArray[np.int64]
_AT_ONCE = 1 << 19
"""Events of threads that are read together, unless one has more."""
RUNNING, RUNNABLE, BLOCKED = (STATES.index(name) for name in ("running", "runnable", "blocked"))


@dataclass(frozen=True)
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
        """Some of them."""
        return ThreadTime(
            *(
                getattr(self, name)[index]
                for name in ("thread", "start", "stop", "state", "wait", "stack", "row")
            )
        )

    def __len__(self) -> int:
        return len(self.thread)


@dataclass(frozen=True)
class BlockingCalls:
    """Blocking calls [n], sorted by thread, then start; ``by`` is the thread that ended the wait or held the lock, as
    an index, `NOBODY` where not known; ``object`` string id of what was waited for, −1 for none.
    """

    thread: Int64Array
    start: Int64Array
    stop: Int64Array
    by: Int64Array
    object: Int64Array


class Threads:
    """The threads of a view: their states, calls and samples, read when they are first asked for."""

    def __init__(self, view: View) -> None:
        self.view = view
        capture = view.capture
        self._thread_of_track = np.array(
            [NOBODY if t.thread is None else t.thread for t in capture.tracks] or [NOBODY], np.int64
        )
        self._places: dict[int, Where] = {}

    @cached_property
    def activity(self) -> ThreadTime:
        """All states, cut to the range; empty where they were not recorded."""
        view = self.view
        if not view.has("thread_state"):
            none = np.empty(0, np.int64)
            return ThreadTime(none, none, none, none, none, none, none)
        events = view.events("thread_state")
        order_thread = self._threads(events.row)
        start = np.maximum(events.start, view.start_ns)
        stop = np.minimum(events.stop, view.stop_ns)
        found = ThreadTime(
            order_thread,
            start,
            np.maximum(stop, start),
            state_codes(view, events.row, events.name),
            np.ma.filled(view.column("thread_state", "wait", events.index).astype(np.int64), 0),
            self._stacks("thread_state", events),
            events.row,
        )
        order = in_order(found.thread, found.start)
        return found if order is None else found.take(order)

    def parts(self) -> Iterator[Threads]:
        """The threads that have states, some at a time, ascending: so many that their events need little memory."""
        capture, lanes = self.view.capture, self.view.capture.lanes
        thread = self._thread_of_track[np.asarray(lanes.track).astype(np.int64)]
        known = thread >= 0
        counts = np.bincount(thread[known], np.asarray(lanes.count)[known], len(capture.threads))
        group: list[int] = []
        filled = 0.0
        for one, count in enumerate(counts.tolist()):
            if group and filled + count > _AT_ONCE:
                yield self._only(group)
                group, filled = [], 0.0
            group.append(one)
            filled += count
        if group:
            yield self._only(group)

    def _only(self, group: list[int]) -> Threads:
        if len(group) == len(self.view.capture.threads):
            return Threads(self.view)
        chosen = self.view.selection
        wanted = frozenset(group) if chosen.threads is None else chosen.threads & frozenset(group)
        # What a selection leaves open is as it is: a part has the range of the whole.
        return Threads(self.view.other(replace(chosen, threads=wanted)))

    @property
    def has_states(self) -> bool:
        """Whether it was recorded when threads ran."""
        return self.view.has("thread_state")

    @cached_property
    def calls(self) -> BlockingCalls:
        """All blocking calls; empty where they were not recorded."""
        view = self.view
        if not view.has("osrt") or "wait" not in view.capture.kinds["osrt"].attributes:
            none = np.empty(0, np.int64)
            return BlockingCalls(none, none, none, none, none)
        events = view.events("osrt")
        by = np.full(len(events), NOBODY, np.int64)
        for name in ("holder", "ended_by"):
            values = np.ma.filled(view.column("osrt", name, events.index).astype(np.int64), 0)
            by = np.where(by == NOBODY, self._of_tids(values), by)
        thread = self._threads(events.row)
        about = np.ma.filled(view.column("osrt", "object", events.index).astype(np.int64), -1)
        order = in_order(thread, events.start)
        if order is None:
            return BlockingCalls(thread, events.start, events.stop, by, about)
        return BlockingCalls(thread[order], events.start[order], events.stop[order], by[order], about[order])

    @cached_property
    def samples(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """(thread, time, stack) of stack samples, sorted by thread, then time."""
        view = self.view
        if not view.has("sample"):
            none = np.empty(0, np.int64)
            return none, none, none
        events = view.events("sample")
        thread = self._threads(events.row)
        stack = self._stacks("sample", events)
        order = np.lexsort((events.start, thread))
        return thread[order], events.start[order], stack[order]

    def _stacks(self, kind: str, events: SelectedEvents) -> Int64Array:
        """The stack of each event, −1 for those that have none, or one that the capture has not."""
        stack = np.ma.filled(self.view.column(kind, "stack", events.index).astype(np.int64), -1)
        is_known = (stack >= 0) & (stack < len(self.view.capture.stacks[0]))
        return stack if is_known.all() else np.where(is_known, stack, -1)

    def samples_of(self, thread: int) -> tuple[Int64Array, Int64Array]:
        """(time, stack) of the stack samples of a thread, sorted by time."""
        threads, times, stacks = self.samples
        low, high = np.searchsorted(threads, (thread, thread + 1)).tolist()
        return times[low:high], stacks[low:high]

    def _threads(self, rows: Int64Array) -> Int64Array:
        return self._thread_of_track[self.view.track_of(rows)] if len(rows) else np.empty(0, np.int64)

    def name(self, thread: int) -> str:
        """``loader (490)``; ``Thread 490``, as its row is called, where it has no name."""
        found = self.view.capture.threads[thread]
        return f"{found.name} ({found.tid})" if found.name else f"Thread {found.tid}"

    def during(self, thread: int, spans: Sequence[tuple[int, int]]) -> ThreadTime:
        """What a thread did in some stretches of time, cut to them."""
        activity = self.activity
        low, high = np.searchsorted(activity.thread, (thread, thread + 1)).tolist()
        parts = []
        for start, stop in spans:
            first = low + int(np.searchsorted(activity.stop[low:high], start, "right"))
            last = low + int(np.searchsorted(activity.start[low:high], stop, "left"))
            part = activity.take(np.arange(first, max(last, first)))
            cut = np.maximum(part.start, start)
            until = np.maximum(np.minimum(part.stop, stop), cut)
            parts.append(ThreadTime(part.thread, cut, until, part.state, part.wait, part.stack, part.row))
        if not parts:
            return activity.take(np.empty(0, np.int64))
        names = ThreadTime.__dataclass_fields__
        return ThreadTime(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def calls_around(self, activity: ThreadTime) -> Int64Array:
        """For each blocked state the call it lies in: index into `calls`, −1 for none."""
        calls = self.calls
        if not len(calls.thread):
            return np.full(len(activity), -1, np.int64)
        keys = (calls.thread << 48) + (calls.start - self.view.start_ns + (1 << 40))
        wanted = (activity.thread << 48) + (activity.start - self.view.start_ns + (1 << 40) + 2_000)
        at = np.searchsorted(keys, wanted, "right") - 1
        found = at >= 0
        found[found] = (calls.thread[at[found]] == activity.thread[found]) & (
            calls.stop[at[found]] > activity.start[found]
        )
        return np.where(found, at, -1)

    def woken_by(self, waits: ThreadTime) -> Int64Array:
        """The thread, as an index, whose doing woke each waiting one; `NOBODY` where wake-ups were not recorded."""
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
        found, inverse = np.unique(values, return_inverse=True)
        index = np.array([tids.get(tid, NOBODY) for tid in found.tolist()] or [NOBODY], np.int64)
        return index[inverse.reshape(-1)]

    def place(self, stack: int) -> Where:
        """The innermost frame of the user's own code on a stack; of any code where there is none of his."""
        known = self._places.get(stack)
        if known is None:
            frames = self.view.capture.stack_frames(stack) if stack >= 0 else []
            parsed = [match for match in map(FRAME.match, frames) if match is not None]
            own = next((match for match in parsed if not is_library(match["file"])), None)
            best = own or (parsed[0] if parsed else None)
            known = (
                Where()
                if best is None
                else Where(best["file"], int(best["line"]), best["function"].rpartition(".")[2])
            )
            self._places[stack] = known
        return known

    def where(self, stack: int, thread: int) -> Where:
        """`place`, with the thread and its process."""
        known = self.place(stack)
        capture = self.view.capture
        process = capture.threads[thread].process
        pid = capture.processes[process].pid if 0 <= process < len(capture.processes) else None
        return Where(known.file, known.line, known.function, pid, self.name(thread))
