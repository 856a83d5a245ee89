"""Estimates thread states from samples of /proc where perf is refused; known waits cut and explain them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.model.flags import Flag
from warpline.model.track_titles import ESTIMATED_STATE
from warpline.recording.spool.columns import join
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.recording.states.refinement import Refinement, overlay
from warpline.recording.states.state import STATE_NAMES, State
from warpline.recording.states.thread_states import NO_CPU, States
from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]
Float64Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.void]

_KIND_FLAGS = np.array([0, 0, Flag.WAITING, Flag.IDLE], np.uint8) | np.uint8(Flag.ESTIMATED)
_RATIO_COUNTERS = (
    (State.RUNNING, english("Running")),
    (State.RUNNABLE, english("Runnable")),
    (State.BLOCKED, english("Blocked")),
)
_SHORT_NS = 1_000_000
"""Shorter waits are ignored: states are sampled every 10 ms."""


def add_estimates(
    translation: Translation, builder: CaptureBuilder, samples: Rows, thread: Int64Array
) -> None:
    """Add a state for each interval between samples of a thread: the one with the largest share.

    ``samples`` are sorted by ``thread`` [n], then time. Known waits cut and explain the states.
    """
    refinements = translation.given(Refinement)
    for refinement in refinements:
        refinement.read()
    states = _sampled(translation, builder, samples, thread)
    if not len(states.thread):
        return
    waits = [refinement.waits() for refinement in refinements]
    states = (
        cut_by_waits(states, *(np.concatenate(part) for part in zip(*waits, strict=True)))
        if waits
        else states
    )
    _add_states(translation, builder, states, refinements)


def _sampled(translation: Translation, builder: CaptureBuilder, samples: Rows, thread: Int64Array) -> States:
    """The estimated states; adds counters of the shares."""
    times = samples["time_ns"].astype(np.int64)
    run_ns, wait_ns = samples["run_ns"].astype(np.int64), samples["wait_ns"].astype(np.int64)
    pauses = (translation.pauses + translation.start_ns).tolist()
    borders = np.flatnonzero(np.diff(thread)) + 1
    starts, stops = np.r_[0, borders], np.r_[borders, len(thread)]
    parts: list[States] = []
    for first, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        if stop - first < 2:
            continue
        moments = times[first:stop]
        shares = state_ratios(moments, run_ns[first:stop], wait_ns[first:stop])
        crossing = np.zeros(len(shares), bool)
        for pause_start, pause_stop in pauses:
            crossing |= (moments[:-1] < pause_stop) & (moments[1:] > pause_start)
        start, end, state, row = dominant_states(moments, shares, ~crossing)
        cpu = samples["cpu"][first:stop][row].astype(np.int32)
        cpu[(state != State.RUNNING) | (cpu == 0xFFFF)] = NO_CPU
        index = int(thread[first])
        parts.append(
            States(
                thread=np.full(len(start), index),
                start_ns=start,
                stop_ns=end,
                state=state,
                cpu=cpu,
                flags=_KIND_FLAGS[state],
            )
        )
        for number, (_state, title) in enumerate(_RATIO_COUNTERS):
            counter = translation.below_thread(index, f"counters/{title.lower()}")
            values = np.where(crossing, np.nan, shares[:, number])
            builder.add_counter(
                counter, title, "ratio", translation.capture_time(moments), np.r_[values, np.nan]
            )
    return _joined(parts)


def _joined(parts: Sequence[States]) -> States:
    none = np.empty(0, np.int64)
    empty = States(
        thread=none,
        start_ns=none,
        stop_ns=none,
        state=none.astype(np.uint8),
        cpu=none.astype(np.int32),
        flags=none.astype(np.uint8),
    )
    return join(States, (empty, *parts))


def cut_by_waits(states: States, thread: Int64Array, start_ns: Int64Array, stop_ns: Int64Array) -> States:
    """The states, with blocked ones cut at the starts and ends of waits [m].

    A short gap beside a wait or between two becomes running: the thread made the next call.
    """
    long = stop_ns - start_ns >= _SHORT_NS
    thread, start_ns, stop_ns = thread[long], start_ns[long], stop_ns[long]
    parts: list[States] = []
    for number in np.unique(states.thread).tolist():
        mine, waits = np.flatnonzero(states.thread == number), thread == number
        borders = np.unique(np.concatenate((start_ns[waits], stop_ns[waits])))
        start, stop, state = states.start_ns[mine], states.stop_ns[mine], states.state[mine]
        at = np.maximum(np.searchsorted(start, borders, "right") - 1, 0)
        inside = (start[at] < borders) & (borders < stop[at]) & (state[at] == State.BLOCKED)
        cuts = borders[inside]
        edges = np.sort(np.concatenate((start, cuts)))
        row = np.searchsorted(start, edges, "right") - 1
        ends = np.minimum(np.append(edges[1:], stop[-1]), stop[row])
        is_blocked = state[row] == State.BLOCKED
        is_between = (
            is_blocked & (ends - edges < _SHORT_NS) & ~_covered(edges, ends, start_ns[waits], stop_ns[waits])
        )
        is_cut = np.isin(edges, cuts) | np.isin(ends, cuts)
        kind = np.where(is_between & is_cut, np.uint8(State.RUNNING), state[row])
        parts.append(
            States(
                thread=np.full(len(edges), number),
                start_ns=edges,
                stop_ns=ends,
                state=kind,
                cpu=states.cpu[mine][row],
                flags=_KIND_FLAGS[kind],
            )
        )
    return _joined(parts)


def _covered(
    start: Int64Array, stop: Int64Array, wait_start: Int64Array, wait_stop: Int64Array
) -> npt.NDArray[np.bool_]:
    """Whether intervals [n] are inside any of the waits [m]."""
    if not len(wait_start):
        return np.zeros(len(start), bool)
    order = np.argsort(wait_start, kind="stable")
    # Waits nest in signal handlers: use the latest end so far.
    reach = np.maximum.accumulate(wait_stop[order])
    at = np.searchsorted(wait_start[order], start, "right") - 1
    return np.asarray((at >= 0) & (reach[np.maximum(at, 0)] >= stop))


def _add_states(
    translation: Translation, builder: CaptureBuilder, states: States, refinements: Sequence[Refinement]
) -> None:
    reason = builder.string(english("estimated from samples of /proc: the state with the largest share"))
    columns: dict[str, npt.ArrayLike] = {
        "cpu": np.ma.MaskedArray(states.cpu, states.cpu == NO_CPU),
        "reason": np.full(len(states.thread), reason),
    }
    for refinement in refinements:
        for name, column in refinement.columns(states).items():
            if name != "core_wait_ns":  # waits for a core are separate states here
                columns[name] = overlay(columns.get(name), column)
    names = builder.strings(STATE_NAMES)
    track = np.zeros(int(states.thread.max()) + 1, np.int64)
    for number in np.unique(states.thread).tolist():
        track[number] = translation.below_thread(number, "state", title=ESTIMATED_STATE)
    builder.add_events(
        track[states.thread],
        "thread_state",
        translation.capture_time(states.start_ns),
        states.stop_ns - states.start_ns,
        names[states.state],
        flags=states.flags,
        attributes=columns,
    )


def state_ratios(times: Int64Array, run_ns: Int64Array, wait_ns: Int64Array) -> Float64Array:
    """Shares of running, runnable and blocked between samples of a thread: float64 [n - 1, 3]; each row sums to 1.

    ``times`` and the cumulative ``run_ns`` and ``wait_ns`` are int64 [n]. The kernel counts a wait for a core at its
    end, so a wait longer than its interval also fills the intervals before.
    """
    elapsed = np.maximum(np.diff(times), 1)
    run = np.clip(np.diff(run_ns), 0, elapsed)
    wait = np.maximum(np.diff(wait_ns), 0)
    # Cumulative blocked time. A wait that does not fit makes it decrease; the minimum of all later values removes that.
    blocked = np.r_[0, np.cumsum(elapsed - run - wait)]
    blocked = np.maximum(np.minimum.accumulate(blocked[::-1])[::-1], 0)
    shares = np.stack((run, elapsed - run - np.diff(blocked), np.diff(blocked)), axis=1)
    return shares / elapsed[:, None]


def dominant_states(
    times: Int64Array, ratios: Float64Array, valid: npt.NDArray[np.bool_]
) -> tuple[Int64Array, Int64Array, npt.NDArray[np.uint8], Int64Array]:
    """States with the largest share: start, stop, state, and the sample before each; equal neighbours are merged.

    ``times`` int64 [n]; ``ratios`` float64 [n − 1, 3]; ``valid`` bool [n − 1]: False for intervals to leave out.
    """
    state = (ratios.argmax(axis=1) + 1).astype(np.uint8)
    state[~valid] = State.NONE
    head = np.flatnonzero(np.r_[True, np.diff(state) != 0])
    tail = np.r_[head[1:], len(state)]
    keep = state[head] != State.NONE
    head, tail = head[keep], tail[keep]
    return times[head], times[tail], state[head], tail
