"""Adds wake-ups: when a blocked thread could run again, and a link from the thread that woke it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.model.links import WAKEUP
from warpline.recording.sources.wakeups import records
from warpline.recording.spool.reader import SpoolFile, rows_of
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.recording.states.refinement import Refinement
from warpline.recording.states.state import State
from warpline.recording.states.thread_states import NO_CPU, Mark, Marks, States
from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]

NOBODY = -1


@dataclass(frozen=True)
class Wakeups:
    """Wake-ups of the program's threads, int64 [n], sorted by woken thread, then time.

    ``thread`` and ``waker`` are indexes of threads; ``waker`` is NOBODY if it does not belong to the program;
    ``waker_tid`` is 0 for an interrupt. Times are CLOCK_MONOTONIC ns.
    """

    thread: Int64Array
    time_ns: Int64Array
    waker: Int64Array
    waker_tid: Int64Array

    def __len__(self) -> int:
        return len(self.thread)

    @property
    def marks(self) -> Marks:
        """The wake-ups as marks of thread states."""
        return Marks.of(self.thread, self.time_ns, NO_CPU, Mark.WAKING)


NO_WAKEUPS = Wakeups(*(np.empty(0, np.int64) for _ in range(4)))


class WakeupRefinement(Refinement):
    """Makes blocked threads runnable from their wake-up on."""

    def __init__(self, translation: Translation, spools: Sequence[SpoolFile]) -> None:
        self._translation = translation
        self._spools = spools
        self._wakeups = NO_WAKEUPS

    def read(self) -> Marks:
        self._wakeups = read_wakeups(self._translation, self._spools)
        return self._wakeups.marks

    @property
    def splits_blocked(self) -> bool:
        return len(self._wakeups) > 0

    def columns(self, states: States) -> Mapping[str, npt.ArrayLike]:
        """The waker of each state, if wake-ups were traced."""
        return {"woken_by": waker_column(states, self._wakeups)} if len(self._wakeups) else {}

    def add_links(self, builder: CaptureBuilder, states: States, first_id: int) -> None:
        add_links(builder, states, self._wakeups, first_id)


def read_wakeups(translation: Translation, spools: Sequence[SpoolFile]) -> Wakeups:
    """All wake-ups of known threads."""
    rows = rows_of(spools, records.WAKING, records.waking)
    known = np.array(sorted({life.tid for life in translation.threads.threads}), np.uint32)
    rows = rows[np.isin(rows["tid"], known)]
    time_ns = rows["time_ns"].astype(np.int64)
    thread = translation.threads.lookup(0, rows["tid"], time_ns)
    waker = np.full(len(rows), NOBODY, np.int64)
    own = np.isin(rows["waker_tid"], known)
    waker[own] = translation.threads.lookup(0, rows["waker_tid"][own], time_ns[own])
    order = np.lexsort((time_ns, thread))
    return Wakeups(thread[order], time_ns[order], waker[order], rows["waker_tid"][order].astype(np.int64))


def match_wakeups(states: States, wakeups: Wakeups) -> tuple[Int64Array, Int64Array]:
    """The runnable states that began with a wake-up: indexes of states and of wake-ups, int64 [m] each."""
    at = find_state(states, wakeups.thread, wakeups.time_ns)
    matched = at >= 0
    matched[matched] = (states.state[at[matched]] == State.RUNNABLE) & (
        states.start_ns[at[matched]] == wakeups.time_ns[matched]
    )
    return at[matched], np.flatnonzero(matched)


def find_state(states: States, thread: Int64Array, time_ns: Int64Array) -> Int64Array:
    """The index of each thread's state at a time: int64 [n], −1 for none.

    ``thread`` int64 [n] indexes of threads, ``time_ns`` CLOCK_MONOTONIC int64 [n].
    """
    result = np.full(len(thread), -1, np.int64)
    first = np.searchsorted(states.thread, thread, "left")
    last = np.searchsorted(states.thread, thread, "right")
    for number in np.unique(thread).tolist():
        where = np.flatnonzero(thread == number)
        low, high = int(first[where[0]]), int(last[where[0]])
        if low == high:
            continue
        at = low + np.searchsorted(states.start_ns[low:high], time_ns[where], "right") - 1
        inside = at >= low
        inside[inside] = states.stop_ns[at[inside]] > time_ns[where][inside]
        result[where[inside]] = at[inside]
    return result


def add_links(builder: CaptureBuilder, states: States, wakeups: Wakeups, first_id: int) -> None:
    """Add a link ``wakeup`` from the waker's state to the state that it began; the first state has ``first_id``."""
    target, which = match_wakeups(states, wakeups)
    known = wakeups.waker[which] != NOBODY
    target, which = target[known], which[known]
    source = find_state(states, wakeups.waker[which], wakeups.time_ns[which])
    runs = source >= 0
    runs[runs] = states.state[source[runs]] == State.RUNNING
    if runs.any():
        builder.add_links(WAKEUP, first_id + source[runs], first_id + target[runs])


def waker_column(states: States, wakeups: Wakeups) -> np.ma.MaskedArray[tuple[int], np.dtype[np.int64]]:
    """The id of the thread whose wake-up began each state, int64 [n]; masked where there was none."""
    values = np.zeros(len(states.thread), np.int64)
    target, which = match_wakeups(states, wakeups)
    values[target] = wakeups.waker_tid[which]
    return np.ma.MaskedArray(values, values == 0)
