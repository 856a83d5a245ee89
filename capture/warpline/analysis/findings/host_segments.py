"""The time of threads as segments: from recorded states, else from the first to the last event of a thread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.event_segments import event_segments
from warpline.analysis.findings.finding import Where
from warpline.analysis.findings.lock_holders import with_holders
from warpline.analysis.findings.segments import (
    NOBODY,
    Index,
    IntArray,
    Segments,
    chain_segments,
    distinct,
    join_segments,
    make_segments,
    one_of,
    split_at,
    tile,
)
from warpline.analysis.findings.thread_time import BLOCKED, RUNNABLE, Threads
from warpline.analysis.findings.wait_kinds import is_importing, refine, sampled_wait
from warpline.model.waits import OWN_THREAD

Int64Array = npt.NDArray[np.int64]
_THREAD_ENDS_NS = 1_000_000
"""The end of a thread and that of the wait for it may be seen this far apart."""
_CHILD_ENDS_NS = 5_000_000
"""A wait for a child may end up to this long before the child's last recorded state."""
_ASLEEP = tuple(
    map(
        int,
        (
            Cause.LOCK, Cause.SEMAPHORE, Cause.CONDITION, Cause.EVENT, Cause.SLEEP, Cause.JOIN, Cause.BARRIER,
            Cause.CHILD, Cause.POLL, Cause.QUEUE_EMPTY, Cause.QUEUE_FULL, Cause.RESULT,
        ),
    )
)  # fmt: skip
"""Waits whose calls hardly run themselves."""
_RUNS = (int(Cause.RUNNING), int(Cause.RUNNABLE))
_FOR_CORE = (int(Cause.RUNNABLE), int(Cause.GIL))
_BESIDE, _BRIEF_NS = 12, 100_000
"""How many segments lie between a wait and a sample of its call at most, and how long those that run may be."""
_SAMPLE_NS = 25_000_000
"""A sample explains running time up to this far away."""
_AWAKE_NS = 250_000_000
"""Samples of one place explain the running time between them up to this long; one of running code explains it up to
this far away where a nearer one was taken in a wait."""


def host_segments(threads: Threads) -> Segments:
    """The segments of all threads except Warpline's own."""
    view = threads.view
    wanted = np.array(
        [i for i, thread in enumerate(view.capture.threads) if thread.name != OWN_THREAD], np.int64
    )
    parts: list[Segments] = []
    ends: dict[int, int] = {}
    for part in threads.parts() if threads.has_states else ():
        states = _state_segments(part)
        ends |= _ends(part)
        own = np.intersect1d(states.actor, wanted)
        parts.append(_tiled(threads, states.take(one_of(states.actor, wanted)), own))
    rest = np.setdiff1d(wanted, [*ends])
    parts.append(_tiled(threads, event_segments(view, rest), rest))
    joined = with_holders(threads, join_segments([chain_segments(parts)]))
    return _with_births(threads, _with_ended_threads(threads, _with_children(threads, joined, ends), ends))


def _tiled(threads: Threads, segments: Segments, own: IntArray) -> Segments:
    """Segments of some threads, extended to fill the range, with sampled places."""
    view = threads.view
    return _with_samples(threads, tile(segments, own, view.start_ns, view.stop_ns))


def _state_segments(threads: Threads) -> Segments:
    activity = threads.activity
    cause = np.full(len(activity), int(Cause.RUNNING), np.int8)
    cause[activity.state == RUNNABLE] = Cause.RUNNABLE
    blocked = np.flatnonzero(activity.state >= BLOCKED)
    waits = activity.take(blocked)
    kind = _refined(threads, waits.wait, waits.stack)
    cause[blocked] = kind
    by = np.full(len(activity), NOBODY, np.int32)
    at = threads.calls_around(waits)
    if len(threads.calls.by):
        by[blocked] = np.where(at >= 0, threads.calls.by[np.maximum(at, 0)], NOBODY)
    # The thread that wakes a parent need not be its child, so `_with_children` looks for the child.
    is_unknown = (by[blocked] == NOBODY) & (kind != Cause.CHILD)
    by[blocked] = np.where(is_unknown, threads.woken_by(waits), by[blocked])
    by[by == activity.thread] = NOBODY
    by[cause >= Cause.RUNNABLE] = NOBODY
    return make_segments(
        activity.thread, activity.start, activity.stop, cause, by, activity.stack, activity.row
    )


def _with_children(threads: Threads, segments: Segments, ends: dict[int, int]) -> Segments:
    """The segments with the child that ended each wait for a child, where the call did not record it.

    A wait of unknown kind is for a child that lived during it and ended with it, as in ``system``.
    """
    by, cause = segments.by.copy(), segments.cause.copy()
    waits = np.flatnonzero((cause == Cause.CHILD) & (by == NOBODY))
    if len(waits):
        children = _children_of(threads, segments.take(waits), ends)
        by[waits] = np.where(children == segments.actor[waits], NOBODY, children)
    unknown = np.flatnonzero((cause == Cause.BLOCKED) & (by == NOBODY))
    for wait, child in _children_alive(threads, segments, unknown, ends):
        by[wait], cause[wait] = child, Cause.CHILD
    return replace(segments, by=by, cause=cause)


def _children_alive(
    threads: Threads, segments: Segments, waits: Int64Array, ends: dict[int, int]
) -> Iterator[tuple[int, int]]:
    """(wait, child) for each wait that ends when a child ends that was alive during it."""
    capture = threads.view.capture
    first_of: dict[int, int] = {}
    for index, process in enumerate(capture.processes):
        first_of.setdefault(process.pid, index)
    by_stop = waits[np.argsort(segments.stop[waits], kind="stable")]
    stop = segments.stop[by_stop]
    for index, known in enumerate(capture.threads):
        process = capture.processes[known.process]
        if index not in ends or process.pid != known.tid or process.parent_pid not in first_of:
            continue
        parent = first_of[process.parent_pid]
        end = ends[index]
        low, high = np.searchsorted(stop, (end - _THREAD_ENDS_NS + 1, end + _THREAD_ENDS_NS)).tolist()
        for wait in np.sort(by_stop[low:high]).tolist():
            if capture.threads[int(segments.actor[wait])].process == parent:
                yield wait, index


def _with_ended_threads(threads: Threads, segments: Segments, ends: dict[int, int]) -> Segments:
    """The segments with the thread that ended each wait for a thread, where the call did not record it."""
    waits = np.flatnonzero((segments.cause == Cause.JOIN) & (segments.by == NOBODY))
    if not len(waits):
        return segments
    known = threads.view.capture.threads
    by = segments.by.copy()
    ended = sorted((end, index) for index, end in ends.items() if known[index].name != OWN_THREAD)
    times, indices = np.array(ended or [(0, NOBODY)], np.int64).T
    process = np.array([thread.process for thread in known], np.int64)
    for wait in waits.tolist():
        actor, start, stop = int(segments.actor[wait]), int(segments.start[wait]), int(segments.stop[wait])
        low, high = np.searchsorted(times, (start - _THREAD_ENDS_NS, stop + _THREAD_ENDS_NS)).tolist()
        own = [
            index
            for index in indices[low:high].tolist()
            if process[index] == process[actor] and index != actor
        ]
        if own:
            by[wait] = own[-1]
    return replace(segments, by=by)


def _refined(threads: Threads, wait: IntArray, stack: IntArray) -> Int64Array:
    """Kinds of waits, refined by their stacks."""
    keys, inverse = distinct((stack.astype(np.int64) + 1) * 256 + wait)
    frames = threads.view.capture.stack_frames
    kinds = [refine(key % 256, frames(key // 256 - 1)) if key >= 256 else key for key in keys.tolist()]
    return np.array(kinds or [0], np.int64)[inverse]


def _children_of(threads: Threads, waits: Segments, ends: dict[int, int]) -> Int64Array:
    """For each wait for a child, the main thread of the child that ended last during the wait."""
    capture = threads.view.capture
    thread, start, stop = waits.actor, waits.start, waits.stop
    by = np.full(len(thread), NOBODY, np.int64)
    children_of: dict[int | None, list[tuple[int, int]]] = {}
    for index, known in enumerate(capture.threads):
        process = capture.processes[known.process]
        if known.name != OWN_THREAD and process.pid == known.tid and index in ends:
            children_of.setdefault(process.parent_pid, []).append((ends[index], index))
    for parent in np.unique(thread).tolist():
        children = children_of.get(capture.processes[capture.threads[parent].process].pid, [])
        here = np.flatnonzero(thread == parent)
        if children:
            times = np.array(sorted(children), np.int64)
            at = np.searchsorted(times[:, 0], stop[here] + _CHILD_ENDS_NS, "right") - 1
            # A child that ended before the wait is not the one waited for; that one was not recorded.
            last, first = times[np.maximum(at, 0)], times[0]
            ended = np.where(last[:, 0] >= start[here] - _CHILD_ENDS_NS, last[:, 1], NOBODY)
            by[here] = np.where(at >= 0, ended, first[1])
    return by


def _ends(threads: Threads) -> dict[int, int]:
    """When the last known state of each thread ended."""
    activity = threads.activity
    last = np.flatnonzero(np.append(activity.thread[1:] != activity.thread[:-1], True)[: len(activity)])
    return dict(zip(activity.thread[last].tolist(), activity.stop[last].tolist(), strict=True))


def _with_samples(threads: Threads, segments: Segments) -> Segments:
    """Running segments cut half-way between stack samples; each part gets the place of its nearest sample.

    A sample with a duration, as in profiles that give each stack a weight, holds for just that long.
    """
    view = threads.view
    actor, time, stack = threads.samples
    until = threads.sample_stops
    if not len(actor) or not len(segments):
        return segments
    first, last = np.searchsorted(actor, [int(segments.actor[0]), int(segments.actor[-1]) + 1]).tolist()
    actor, time, stack, until = (column[first:last] for column in (actor, time, stack, until))
    if not len(actor):
        return segments
    has_durations = bool((until > time).any())
    if has_durations:
        owner, middle = np.repeat(actor, 2), np.column_stack((time, until)).reshape(-1)
        order = np.lexsort((middle, owner))
        owner, middle = owner[order], middle[order]
        same = np.ones(len(owner), bool)
    else:
        owner, same, middle = actor[1:], actor[1:] == actor[:-1], (time[1:] + time[:-1]) // 2
    index = Index(segments, view.start_ns, view.stop_ns)
    inside = same & (middle >= view.start_ns) & (middle < view.stop_ns)
    borders, at = middle[inside], index.at(owner[inside], middle[inside])
    runs = (at >= 0) & (segments.cause[np.maximum(at, 0)] == Cause.RUNNING)
    segments = split_at(segments, index, owner[inside][runs], borders[runs])
    running = np.flatnonzero((segments.cause == Cause.RUNNING) | (segments.place < 0))
    moments = (segments.start[running] + segments.stop[running]) // 2
    if has_durations:
        nearest = _during(actor, time, until, segments.actor[running], moments)
    else:
        nearest = _nearest(actor, time, segments.actor[running], moments)
        awake = _taken_awake(threads, segments, actor, time, stack)
        runs = one_of(segments.cause[running], _RUNS) & (nearest >= 0)
        closest = _nearest(actor[awake], time[awake], segments.actor[running][runs], moments[runs], _AWAKE_NS)
        nearest[runs] = np.where(closest >= 0, np.append(awake, -1)[closest], nearest[runs])
        far = one_of(segments.cause[running], _RUNS) & (nearest < 0)
        nearest[far] = _between(threads, (actor, time, stack), segments.actor[running][far], moments[far])
    known = nearest >= 0
    place = segments.place.copy()
    place[running[known]] = stack[nearest[known]]
    cause = segments.cause.copy()
    runs = np.flatnonzero(cause == Cause.RUNNING)
    cause[runs] = _sampled_causes(threads, place[runs])
    return replace(segments, cause=cause, place=place)


def _taken_awake(
    threads: Threads, segments: Segments, actor: Int64Array, time: Int64Array, stack: Int64Array
) -> Int64Array:
    """Indices of the samples that show what runs: not those taken in a wait, nor just before or after one at its stack.

    A sampler inside the program gets the GIL when the thread releases it to wait, before the thread blocks.
    """
    view = threads.view
    at = Index(segments, view.start_ns, view.stop_ns).at(
        actor, np.clip(time, view.start_ns, view.stop_ns - 1)
    )
    last = max(len(segments) - 1, 0)
    waits = one_of(segments.cause[np.maximum(at, 0)], _ASLEEP)
    for beside in (-1, 1):
        near, is_open = at, at >= 0
        for _ in range(_BESIDE):
            near = np.clip(near + beside, 0, last)
            is_open = is_open & (segments.actor[near] == actor)
            is_wait = one_of(segments.cause[near], _ASLEEP)
            waits |= is_open & is_wait & (segments.place[near] == stack)
            is_brief = one_of(segments.cause[near], _FOR_CORE) | (segments.length[near] < _BRIEF_NS)
            is_open &= is_brief & ~is_wait
    awake: Int64Array = np.flatnonzero((at < 0) | ~waits)
    return awake


def _between(
    threads: Threads,
    samples: tuple[Int64Array, Int64Array, Int64Array],
    wanted: Int64Array,
    moment: Int64Array,
) -> Int64Array:
    """The last sample before each moment where the next one shows the same place; −1 otherwise.

    A call that keeps the GIL for long, or a busy machine, holds the sampler up for longer than samples usually last.
    """
    actor, time, stack = samples
    codes, inverse = np.unique(stack, return_inverse=True)
    seen: dict[Where, int] = {}
    place = np.array([seen.setdefault(threads.place(code), len(seen)) for code in codes.tolist()], np.int64)[
        inverse
    ]
    origin = int(time.min())
    span = max(int(time.max()), int(moment.max(initial=origin))) - origin + 1
    keys = actor * span + (time - origin)
    after = np.searchsorted(keys, wanted.astype(np.int64) * span + np.maximum(moment - origin, 0))
    before, after = np.maximum(after - 1, 0), np.minimum(after, len(actor) - 1)
    same = (actor[before] == wanted) & (actor[after] == wanted) & (place[before] == place[after])
    return np.where(same & (time[after] - time[before] <= _AWAKE_NS), before, -1)


def _sampled_causes(threads: Threads, place: Int64Array) -> npt.NDArray[np.int8]:
    """What threads that run, or whose states were not recorded, do at sampled stacks (−1 for none)."""
    stacks, inverse = np.unique(place, return_inverse=True)
    causes = np.full(len(stacks), int(Cause.RUNNING), np.int8)
    for number, code in enumerate(stacks.tolist()):
        frames = threads.view.capture.stack_frames(code) if code >= 0 else []
        wait = sampled_wait(frames)
        if wait is not None:
            causes[number] = wait
        elif is_importing(frames):
            causes[number] = Cause.IMPORTING
    return causes[inverse.reshape(-1)]


def _during(
    actor: Int64Array, time: Int64Array, until: Int64Array, wanted: Int64Array, moment: Int64Array
) -> Int64Array:
    """The latest sample of actor ``wanted`` that holds at each moment; −1 for none."""
    origin = int(time.min())
    span = max(int(time.max()), int(moment.max(initial=origin))) - origin + 1
    keys = actor * span + (time - origin)
    at = np.searchsorted(keys, wanted.astype(np.int64) * span + np.maximum(moment - origin, 0), "right") - 1
    safe = np.maximum(at, 0)
    holds = (at >= 0) & (actor[safe] == wanted) & (time[safe] <= moment) & (moment < until[safe])
    return np.where(holds, at, -1)


def _nearest(
    actor: Int64Array, time: Int64Array, wanted: Int64Array, moment: Int64Array, reach_ns: int = _SAMPLE_NS
) -> Int64Array:
    """The sample of actor ``wanted`` nearest to each moment; −1 without one within ``reach_ns``."""
    if not len(time):
        return np.full(len(wanted), -1, np.int64)
    origin = int(time.min())
    span = max(int(time.max()), int(moment.max(initial=origin))) - origin + 1
    keys = actor * span + (time - origin)
    after = np.searchsorted(keys, wanted.astype(np.int64) * span + np.maximum(moment - origin, 0))
    best = np.full(len(wanted), -1, np.int64)
    distance = np.full(len(wanted), reach_ns, np.int64)
    for candidate in (after - 1, after):
        safe = np.clip(candidate, 0, len(actor) - 1)
        far = np.abs(time[safe] - moment)
        closer = (candidate >= 0) & (candidate < len(actor)) & (actor[safe] == wanted) & (far < distance)
        best[closer], distance[closer] = safe[closer], far[closer]
    return best


def _with_births(threads: Threads, segments: Segments) -> Segments:
    """Time before a thread began counts as waiting for its creator, where only one thread can be that.

    A wait for a thread that has not started yet, such as the future writer of a pipe, counts as a wait for its creator.
    """
    capture = threads.view.capture
    first = np.flatnonzero(np.insert(segments.actor[1:] != segments.actor[:-1], 0, True)[: len(segments)])
    born = first[(segments.cause[first] == Cause.NOT_RECORDED)]
    by, cause = segments.by.copy(), segments.cause.copy()
    mains = {t.tid: i for i, t in enumerate(capture.threads) if capture.processes[t.process].pid == t.tid}
    for place in born.tolist():
        thread = capture.threads[int(segments.actor[place])]
        process = capture.processes[thread.process]
        maker = mains.get(process.pid if thread.tid != process.pid else process.parent_pid or -1)
        if maker is not None and maker != int(segments.actor[place]):
            by[place] = maker
            if thread.start_ns is not None and thread.start_ns > threads.view.start_ns:
                cause[place] = Cause.START
    return replace(segments, by=by, cause=cause)
