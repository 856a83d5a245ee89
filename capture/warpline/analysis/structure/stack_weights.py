"""Weights of stacks: samples on and off the cores, and waiting time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nested_events import nested_events
from warpline.analysis.framework.nesting import LaneEvents
from warpline.analysis.framework.selection import View
from warpline.model.flags import Flag
from warpline.model.waits import OWN_THREAD

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
NO_STACK = -1
_SWITCH_NS = 50_000
"""Upper bound of a context switch."""


@dataclass(frozen=True)
class SampledStacks:
    """Samples [n]: ``stack`` id (`NO_STACK`: none), ``time_ns`` capture time, ``thread`` index (−1: none).

    ``weight`` says for how much each stands: one sample, or what ``unit`` counts (``samples``, ``ns``, ``bytes``).
    ``is_running``: the thread was on a core. ``has_states``: thread states were recorded; otherwise all samples count
    as running.
    """

    stack: Int64Array
    time_ns: Int64Array
    thread: Int64Array
    is_running: BoolArray
    has_states: bool
    weight: Int64Array
    unit: str = "samples"


@dataclass(frozen=True, kw_only=True)
class WaitedStacks:
    """Blocked states [n] with a stack.

    ``stack`` id, ``wait`` code of `WaitKind` (0: unknown), ``start_ns`` and ``time_ns`` of the part inside the range,
    ``thread`` index (−1: none), ``row``.
    """

    stack: Int64Array
    wait: Int64Array
    start_ns: Int64Array
    time_ns: Int64Array
    thread: Int64Array
    row: Int64Array


def sampled_stacks(view: View) -> SampledStacks:
    """All selected samples."""
    events = view.events("sample") if view.has("sample") else None
    if events is None or not len(events):
        none = np.empty(0, np.int64)
        return SampledStacks(none, none, none, np.empty(0, bool), False, none)
    stack = np.ma.filled(view.column("sample", "stack", events.index).astype(np.int64), NO_STACK)
    thread = threads_of_rows(view, events.row)
    times = _before_sampling(view, thread, events.start)
    running = np.ones(len(events), bool)
    has_states = False
    for number in np.unique(thread[thread >= 0]).tolist():
        mine = np.flatnonzero(thread == number)
        is_running = _running_at(view, number, times[mine])
        if is_running is not None:
            running[mine] = is_running
            has_states = True
    weight, unit = _weights(view, events.index)
    return SampledStacks(stack, events.start, thread, running, has_states, weight, unit)


def _weights(view: View, index: Int64Array) -> tuple[Int64Array, str]:
    """The weights of samples and their unit; only importers of weighted profiles write any."""
    spec = next(
        (spec for spec in view.capture.kinds["sample"].spec.attributes if spec.name == "weight"), None
    )
    if spec is None or "weight" not in view.capture.kinds["sample"].attributes:
        return np.ones(len(index), np.int64), "samples"
    weights = np.ma.filled(view.column("sample", "weight", index).astype(np.int64), 1)
    return np.maximum(weights, 0), spec.unit or "samples"


def has_samples(view: View) -> bool:
    """Whether any stack was sampled."""
    return view.has("sample") or view.has("cpu_sample")


def running_stacks(view: View) -> SampledStacks:
    """All selected samples of threads on a core.

    Uses the kernel's samples (with mixed stacks) for threads that have any; for others, Python's samples taken while
    they ran.
    """
    sampled = sampled_stacks(view)
    others = sampled.is_running & ~np.isin(sampled.thread, _threads_on_core(view))
    stack, time_ns, thread = sampled.stack[others], sampled.time_ns[others], sampled.thread[others]
    events = view.events("cpu_sample") if view.has("cpu_sample") else None
    if events is None:
        running = np.ones(len(stack), bool)
        return SampledStacks(
            stack, time_ns, thread, running, sampled.has_states, sampled.weight[others], sampled.unit
        )
    own = np.ma.filled(view.column("cpu_sample", "stack", events.index).astype(np.int64), NO_STACK)
    return SampledStacks(
        np.concatenate((own, stack)),
        np.concatenate((events.start, time_ns)),
        np.concatenate((threads_of_rows(view, events.row), thread)),
        np.ones(len(own) + len(stack), bool),
        True,
        np.ones(len(own) + len(stack), np.int64),
    )


def _threads_on_core(view: View) -> list[int]:
    """Threads with kernel samples at any time."""
    tracks = view.capture.tracks
    return [t.thread for t in tracks if t.role == "cpu_samples" and t.thread is not None]


def _before_sampling(view: View, thread: Int64Array, times: Int64Array) -> Int64Array:
    """The moments just before the sampler got a core, since it may have displaced the sampled thread."""
    capture = view.capture
    process_of = np.array([t.process for t in capture.threads] or [-1], np.int64)
    process = np.where(thread >= 0, process_of[np.maximum(thread, 0)], -1)
    result = times.copy()
    for number, entry in enumerate(capture.threads):
        mine = np.flatnonzero(process == entry.process) if entry.name == OWN_THREAD else ()
        if not len(mine):
            continue
        lane = _states(view, number)
        if lane is not None:
            at = np.maximum(np.searchsorted(lane.start, times[mine], "right") - 1, 0)
            start = lane.start[at]
            is_on = _is_running(view, lane.row[at]) & (start <= times[mine]) & (times[mine] < lane.stop[at])
            result[mine] = np.where(is_on, start - _SWITCH_NS, times[mine])
    return result


def _states(view: View, thread: int) -> LaneEvents | None:
    """The states of a thread over the whole capture, by time."""
    tracks = [track.index for track in view.tracks_of_thread(thread) if track.role == "state"]
    states = nested_events(view.everything(), tracks, ("thread_state",))
    return states.outermost if len(states) else None


def _is_running(view: View, rows: Int64Array) -> BoolArray:
    return np.asarray(view.capture.events.flags[rows] & (Flag.IDLE | Flag.WAITING) == 0)


def _running_at(view: View, thread: int, times: Int64Array) -> BoolArray | None:
    """Whether a thread was on a core at some moments; None if its states were not recorded."""
    lane = _states(view, thread)
    if lane is None:
        return None
    at = np.maximum(np.searchsorted(lane.start, times, "right") - 1, 0)
    is_inside = (lane.start[at] <= times) & (times < lane.stop[at])
    return is_inside & _is_running(view, lane.row[at])


def waited_stacks(view: View) -> WaitedStacks:
    """All selected blocked states with a stack."""
    none = np.empty(0, np.int64)
    if not view.has("thread_state") or "stack" not in view.capture.kinds["thread_state"].attributes:
        return WaitedStacks(stack=none, wait=none, start_ns=none, time_ns=none, thread=none, row=none)
    events = view.events("thread_state")
    flags = view.capture.events.flags[events.row]
    stack = np.ma.filled(view.column("thread_state", "stack", events.index).astype(np.int64), NO_STACK)
    blocked = np.flatnonzero((flags & (Flag.IDLE | Flag.WAITING) == Flag.IDLE) & (stack != NO_STACK))
    events = events.take(blocked)
    return WaitedStacks(
        stack=stack[blocked],
        wait=np.ma.filled(view.column("thread_state", "wait", events.index).astype(np.int64), 0),
        start_ns=np.maximum(events.start, view.start_ns),
        time_ns=events.inside,
        thread=threads_of_rows(view, events.row),
        row=events.row,
    )


def threads_of_rows(view: View, rows: Int64Array) -> Int64Array:
    """The thread of each event, −1 for none."""
    return np.maximum(view.thread_of(rows), -1)
