"""Assigns each piece of time to a category of the budget."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.blame import Pieces
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.gpu_segments import waiting_calls
from warpline.analysis.findings.scope import WaitedFor
from warpline.analysis.findings.segments import Segments, one_of
from warpline.analysis.findings.wait_kinds import is_idle, is_importing
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.selected.selected_events import join_events
from warpline.analysis.framework.selection import View
from warpline.analysis.structure.gpu_gaps import DATA_LOADING
from warpline.i18n import english
from warpline.model.intervals import merge_intervals

Int64Array = npt.NDArray[np.int64]
Int8Array = npt.NDArray[np.int8]
_IMPORT_CAUSES = (int(Cause.IMPORTING), int(Cause.FILE), int(Cause.BLOCKED), int(Cause.OTHER))
_GARBAGE = re.compile(
    r"^(CPython |Python )?GC\b|\bgc\.collect|built-in (function|method) collect\b|garbage.?collect",
    re.IGNORECASE,
)
_MAY_BE_GARBAGE = (
    "running",
    "active",
    "operators",
    "ranges",
    "between_ranges",
    "host",
    "synchronization",
    "other_threads",
    "data_loading",
)
"""Categories that garbage collection replaces."""
RANGE_KINDS = ("range", "phase", "other", "python")
"""Kinds of named host events that tell where the time of a thread went when nothing else does."""
_LOADING_KINDS = ("phase", "range", "operator", "python", "other")


class Category(NamedTuple):
    """A category of the budget: its key, and its title for people."""

    key: str
    title: str
    """May hold the field ``{device}``, the accelerator: GPU or NPU."""


CATEGORIES = (
    Category("running", english("running")),
    Category("operators", english("operators")),
    Category("ranges", english("named ranges")),
    Category("between_ranges", english("outside all ranges")),
    Category("active", english("running or waiting (thread states not recorded)")),
    Category("sampled", english("sampled code (waits were not recorded)")),
    Category("idle", english("idle, as sampled")),
    Category("imports", english("importing modules")),
    Category("gc", english("garbage collection")),
    Category("runnable", english("waiting for a core")),
    Category("data_loading", english("data loading")),
    Category("gil", english("waiting for the GIL")),
    Category("lock", english("waiting for a lock")),
    Category("semaphore", english("waiting for a semaphore")),
    Category("sleep", english("sleeping")),
    Category("file", english("waiting for files")),
    Category("pipe", english("waiting for a pipe")),
    Category("network", english("waiting for the network")),
    Category("poll", english("waiting for file descriptors")),
    Category("child", english("waiting for child processes")),
    Category("other_threads", english("work in other threads and processes")),
    Category("one_at_a_time", english("tasks run one after another")),
    Category("uneven", english("one worker working alone")),
    Category("condition", english("waiting for a condition, event, queue or result")),
    Category("join", english("waiting for a thread to end")),
    Category("thread_start", english("waiting for a thread to start")),
    Category("barrier", english("waiting at a barrier")),
    Category("signal", english("waiting for a signal")),
    Category("terminal", english("waiting for the terminal")),
    Category("gpu", english("waiting for the {device}")),
    Category("computation", english("computation")),
    Category("communication", english("exposed communication")),
    Category("copies", english("exposed copies")),
    Category("page_migrations", english("page migrations of unified memory")),
    Category("synchronization", english("idle: the CPU waited for the {device}")),
    Category("host", english("idle: the CPU launches too late")),
    Category("allocation", english("idle: {device} memory allocation")),
    Category("compilation", english("idle: {device} code loading or compilation")),
    Category("launch_latency", english("idle: launch latency")),
    Category("stream", english("idle: launched work does not start")),
    Category("no_launch", english("idle: launch not recorded")),
    Category("start", english("before the first operation")),
    Category("end", english("after the last operation")),
    Category("other", english("other waits")),
    Category("blocked", english("blocked for an unknown reason")),
    Category("not_alive", english("before the thread started or after it ended")),
    Category("not_recorded", english("not recorded")),
)
NUMBER = {category.key: number for number, category in enumerate(CATEGORIES)}
_CATEGORY_OF_LEAF = {
    Cause.BLOCKED: "blocked",
    Cause.LOCK: "lock",
    Cause.CONDITION: "condition",
    Cause.GIL: "gil",
    Cause.SLEEP: "sleep",
    Cause.FILE: "file",
    Cause.PIPE: "pipe",
    Cause.NETWORK: "network",
    Cause.POLL: "poll",
    Cause.CHILD: "child",
    Cause.JOIN: "join",
    Cause.BARRIER: "barrier",
    Cause.SIGNAL: "signal",
    Cause.TERMINAL: "terminal",
    Cause.GPU: "gpu",
    Cause.OTHER: "other",
    Cause.QUEUE_EMPTY: "condition",
    Cause.QUEUE_FULL: "condition",
    Cause.RESULT: "condition",
    Cause.EVENT: "condition",
    Cause.SEMAPHORE: "semaphore",
    Cause.START: "thread_start",
    Cause.LAUNCH: "host",
    Cause.RUNNABLE: "runnable",
    Cause.RUNNING: "running",
    Cause.IMPORTING: "imports",
    Cause.NOT_RECORDED: "not_recorded",
    Cause.ALLOCATING: "running",
    Cause.COMPILING: "running",
    Cause.COMPUTATION: "computation",
    Cause.COMMUNICATION: "communication",
    Cause.COPY: "copies",
    Cause.MIGRATION: "page_migrations",
    Cause.LAUNCH_LATENCY: "launch_latency",
    Cause.STREAM: "stream",
    Cause.NO_LAUNCH: "no_launch",
    Cause.GPU_END: "end",
}


def categories(view: View, segments: Segments, pieces: Pieces, target: WaitedFor) -> Int8Array:
    """The index into `CATEGORIES` of each piece."""
    table = np.full(64, NUMBER["other"], np.int8)
    for cause, key in _CATEGORY_OF_LEAF.items():
        table[cause] = NUMBER[key]
    leaf = segments.cause[pieces.leaf]
    category = table[leaf]
    category[(leaf == Cause.RUNNING) & (pieces.depth > 0)] = NUMBER["other_threads"]
    category[_importing(view, segments)[pieces.leaf]] = NUMBER["imports"]
    # A child process without known lines is the cause, whatever it did.
    is_child, *contended = _passes(segments, pieces, (Cause.CHILD, Cause.SEMAPHORE, Cause.LOCK, Cause.GIL))
    category[is_child & (pieces.depth > 0) & (segments.place[pieces.leaf] < 0)] = NUMBER["child"]
    if target.gpu is None and not view.were_recorded("thread_state"):
        category[category == NUMBER["running"]] = NUMBER["active"]
        _categorize_samples(view, segments, pieces, category)
        category[(category == NUMBER["active"]) & _inside(*operator_intervals(view, target), pieces)] = (
            NUMBER["operators"]
        )
        named = range_intervals(view, target)
        if len(named[0]):
            category[category == NUMBER["sampled"]] = NUMBER["active"]
            between = np.where(
                _inside(*named, pieces), np.int8(NUMBER["ranges"]), np.int8(NUMBER["between_ranges"])
            )
            category = np.where(category == NUMBER["active"], between, category)
    if target.gpu is None:
        on_gpu = (leaf >= Cause.COMPUTATION) & (pieces.depth > 0)
        category[on_gpu] = NUMBER["gpu"]
    # The end of the chain counts, except for contended locks; but a holder without a core counts as that.
    for is_contended, key in zip(contended, ("semaphore", "lock", "gil"), strict=True):
        category[is_contended & (leaf != Cause.RUNNABLE)] = NUMBER[key]
    if target.gpu is not None:
        _categorize_gpu_idle(view, segments, pieces, category)
    category[_not_alive(view, segments, pieces, target)] = NUMBER["not_alive"]
    loading = _inside_loading(view, target, segments, pieces)
    category[loading] = NUMBER["data_loading"]
    collected = one_of(category, [NUMBER[key] for key in _MAY_BE_GARBAGE]) & _inside(
        *garbage_intervals(view, target), pieces
    )
    category[collected] = NUMBER["gc"]
    return category


def _categorize_samples(view: View, segments: Segments, pieces: Pieces, category: Int8Array) -> None:
    """Split time without states into time with a sampled stack, time that the sampler calls idle, and the rest."""
    if view.were_recorded("operator"):
        return
    place = segments.place[pieces.leaf]
    sampled = np.flatnonzero((category == NUMBER["active"]) & (place >= 0))
    stacks = np.unique(place[sampled]).tolist()
    idle = [stack for stack in stacks if is_idle(view.capture.stack_frames(stack))]
    is_at_rest = np.isin(place[sampled], idle)
    category[sampled] = np.where(is_at_rest, np.int8(NUMBER["idle"]), np.int8(NUMBER["sampled"]))


def _not_alive(view: View, segments: Segments, pieces: Pieces, target: WaitedFor) -> npt.NDArray[np.bool_]:
    """Which pieces lie before the target thread started or after it ended; they are no gap of the recording."""
    none = one_of(segments.cause[pieces.root], (int(Cause.NOT_RECORDED), int(Cause.START)))
    if target.thread is None or not none.any():
        return np.zeros(len(pieces), bool)
    thread = view.capture.threads[target.thread]
    early = pieces.stop <= (view.start_ns if thread.start_ns is None else thread.start_ns)
    late = pieces.start >= (view.stop_ns if thread.stop_ns is None else thread.stop_ns)
    outside: npt.NDArray[np.bool_] = none & (early | late)
    return outside


def _passes(
    segments: Segments, pieces: Pieces, causes: tuple[Cause, ...]
) -> tuple[npt.NDArray[np.bool_], ...]:
    """For each cause, which pieces have a segment of it in their chain."""
    bits = np.zeros(64, np.uint8)
    bits[list(causes)] = 1 << np.arange(len(causes), dtype=np.uint8)
    seen = bits[segments.cause[pieces.root]]
    for column in range(1, pieces.path.shape[1]):
        deep = np.flatnonzero(pieces.path[:, column] >= 0)
        seen[deep] |= bits[segments.cause[pieces.path[deep, column]]]
    return tuple((seen & bits[cause]) != 0 for cause in causes)


def _importing(view: View, segments: Segments) -> npt.NDArray[np.bool_]:
    """Which segments import modules or wait for their files."""
    can_be = one_of(segments.cause, _IMPORT_CAUSES)
    stacks = np.unique(segments.place[can_be])
    importing = [
        stack for stack in stacks.tolist() if stack >= 0 and is_importing(view.capture.stack_frames(stack))
    ]
    imports: npt.NDArray[np.bool_] = can_be & np.isin(segments.place, importing)
    return imports


def _categorize_gpu_idle(view: View, segments: Segments, pieces: Pieces, category: Int8Array) -> None:
    """Split the GPU's idle time before launches into late launches, synchronization, allocation and compilation."""
    launch = segments.cause[pieces.root] == Cause.LAUNCH
    leaf = segments.cause[pieces.leaf]
    at_work = one_of(leaf, (int(Cause.RUNNING), int(Cause.LAUNCH), int(Cause.IMPORTING), int(Cause.GPU)))
    at_work |= leaf >= Cause.COMPUTATION
    category[launch & at_work] = NUMBER["host"]
    category[launch & (leaf == Cause.ALLOCATING)] = NUMBER["allocation"]
    category[launch & (leaf == Cause.COMPILING)] = NUMBER["compilation"]
    own = np.flatnonzero(launch & at_work)
    category[own[_could_be_done_before(view, segments, pieces, own)]] = NUMBER["synchronization"]
    if view.is_whole:
        before = launch | one_of(segments.cause[pieces.root], (int(Cause.STREAM), int(Cause.NO_LAUNCH)))
        category[before & (segments.start[pieces.root] == view.start_ns)] = NUMBER["start"]


def _could_be_done_before(
    view: View, segments: Segments, pieces: Pieces, gaps: Int64Array
) -> npt.NDArray[np.bool_]:
    """Which pieces of gaps are due to a CPU wait for the GPU: during it, or as long after it as the wait lasted.

    While it waited, the CPU could have done that much work ahead, and no more.
    """
    calls = waiting_calls(segments)
    if not len(calls):
        return np.zeros(len(gaps), bool)
    span = 2 * view.duration_ns + 2
    base = calls.thread * span - view.start_ns
    reach = np.maximum.accumulate(base + calls.stop + calls.waited_ns)
    key = segments.by[pieces.root[gaps]].astype(np.int64) * span + (pieces.start[gaps] - view.start_ns)
    at = np.searchsorted(base + calls.start, key, "right") - 1
    could: npt.NDArray[np.bool_] = (at >= 0) & (key < reach[np.maximum(at, 0)])
    return could


def _inside_loading(
    view: View, target: WaitedFor, segments: Segments, pieces: Pieces
) -> npt.NDArray[np.bool_]:
    """Which pieces of the waiting actor lie in a range of data loading."""
    # A loading thread that is ready without a core waits for that core, like any other code.
    waits: npt.NDArray[np.bool_] = segments.cause[pieces.root] != Cause.RUNNABLE
    if target.gpu is not None:
        waits = segments.cause[pieces.root] == Cause.LAUNCH
    if not matching_names(view.capture, DATA_LOADING).any():
        return np.zeros(len(pieces), bool)
    return _inside(*loading_intervals(view, target), pieces) & waits


def _inside(start: Int64Array, stop: Int64Array, pieces: Pieces) -> npt.NDArray[np.bool_]:
    """Which pieces lie in sorted disjoint stretches; pieces are cut at the ends of the stretches."""
    if not len(start):
        return np.zeros(len(pieces), bool)
    middle = (pieces.start + pieces.stop) // 2
    at = np.searchsorted(start, middle, "right") - 1
    inside: npt.NDArray[np.bool_] = (at >= 0) & (middle < stop[np.maximum(at, 0)])
    return inside


def operator_intervals(view: View, target: WaitedFor) -> tuple[Int64Array, Int64Array]:
    """When the target thread was inside operators; empty when thread states were recorded."""
    if target.gpu is not None or view.were_recorded("thread_state") or not view.were_recorded("operator"):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return _covered(view, target, ("operator",))


def range_intervals(view: View, target: WaitedFor) -> tuple[Int64Array, Int64Array]:
    """When the target thread was inside named ranges; empty when thread states or operators were recorded."""
    none = np.empty(0, np.int64)
    if target.gpu is not None or view.were_recorded("thread_state", "operator"):
        return none, none
    kinds = [kind for kind in RANGE_KINDS if kind in view.capture.kinds]
    return _covered(view, target, kinds)


_PART_EVENTS = 1 << 17


def _covered(view: View, target: WaitedFor, kinds: Sequence[str]) -> tuple[Int64Array, Int64Array]:
    """Sorted and disjoint: when the target was inside events of these kinds; some events are in memory at a time."""
    parts = [
        merge_intervals(np.maximum(part.start, view.start_ns), np.minimum(part.stop, view.stop_ns))
        for kind in kinds
        for part in view.batches(kind, frozenset(target.tracks), _PART_EVENTS)
    ]
    none = np.empty(0, np.int64)
    starts, stops = zip((none, none), *parts, strict=True)
    return merge_intervals(np.concatenate(starts), np.concatenate(stops))


def loading_intervals(view: View, target: WaitedFor) -> tuple[Int64Array, Int64Array]:
    """When the target loaded data, by the names of ranges; sorted and disjoint."""
    _, start, stop = loading_events(view, target)
    return merge_intervals(start, stop)


def garbage_intervals(view: View, target: WaitedFor) -> tuple[Int64Array, Int64Array]:
    """When the target's Python collected garbage, by the names of events; sorted and disjoint."""
    _, start, stop = _named_events(view, target, _GARBAGE)
    return merge_intervals(start, stop)


def loading_events(view: View, target: WaitedFor) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(thread, start, stop), int64 [n] each, of ranges of data loading: on the target thread, or on all threads that
    may launch for the target GPU.
    """
    return _named_events(view, target, DATA_LOADING)


def _named_events(
    view: View, target: WaitedFor, pattern: re.Pattern[str]
) -> tuple[Int64Array, Int64Array, Int64Array]:
    wanted = matching_names(view.capture, pattern)
    tracks = frozenset(
        t.index
        for t in view.capture.tracks
        if t.device is None
        and t.thread is not None
        and (target.thread is None or t.thread == target.thread)
        and (target.gpu is None or target.gpu.rank is None or t.rank in (None, target.gpu.rank))
    )
    kinds = [kind for kind in _LOADING_KINDS if kind in view.capture.kinds] if wanted.any() else []
    events = join_events([view.events(kind, tracks, wanted) for kind in kinds])
    thread_of_track = np.array(
        [-1 if t.thread is None else t.thread for t in view.capture.tracks] or [-1], np.int64
    )
    thread = thread_of_track[view.track_of(events.row)] if len(events) else np.empty(0, np.int64)
    return thread, np.maximum(events.start, view.start_ns), np.minimum(events.stop, view.stop_ns)
