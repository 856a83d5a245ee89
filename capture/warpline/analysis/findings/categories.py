"""What each piece of the time that is waited for counts as: the causes of a budget."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.blame import Pieces
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.gpu_segments import waiting_calls
from warpline.analysis.findings.scope import WaitedFor
from warpline.analysis.findings.segments import Segments, one_of
from warpline.analysis.findings.wait_kinds import is_importing
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.selection import View, join_events
from warpline.analysis.structure.gpu_gaps import DATA_LOADING
from warpline.i18n import english
from warpline.model.intervals import merge_intervals

Int64Array = npt.NDArray[np.int64]
Int8Array = npt.NDArray[np.int8]
_OF_IMPORTS = (int(Cause.IMPORTING), int(Cause.FILE), int(Cause.BLOCKED), int(Cause.OTHER))
_GARBAGE = re.compile(
    r"^(CPython |Python )?GC\b|\bgc\.collect|built-in (function|method) collect\b|garbage.?collect",
    re.IGNORECASE,
)
_COLLECTS = ("running", "active", "operators", "host", "synchronization", "other_threads", "data_loading")
"""What collecting garbage would count as otherwise."""
_LOADING_KINDS = ("phase", "range", "operator", "python", "other")


class Category(NamedTuple):
    """A cause of a budget: its key, and what a person reads."""

    key: str
    title: str
    """With the word for the accelerator as the field ``{device}``."""


CATEGORIES = (
    Category("running", english("running")),
    Category("operators", english("operators")),
    Category("active", english("running or waiting: states of threads were not recorded")),
    Category("imports", english("importing modules")),
    Category("gc", english("garbage collection")),
    Category("runnable", english("waiting for a core")),
    Category("data_loading", english("data loading")),
    Category("gil", english("waiting for the GIL")),
    Category("lock", english("waiting for a lock")),
    Category("sleep", english("sleeping, here or in what is waited for")),
    Category("file", english("files")),
    Category("pipe", english("pipes")),
    Category("network", english("network")),
    Category("poll", english("descriptors")),
    Category("child", english("child processes")),
    Category("other_threads", english("work of other threads and processes")),
    Category("one_at_a_time", english("tasks one after the other")),
    Category("uneven", english("one worker alone")),
    Category("condition", english("conditions, queues, results: not known what ends them")),
    Category("join", english("the end of a thread")),
    Category("barrier", english("a barrier")),
    Category("signal", english("signals")),
    Category("terminal", english("the terminal")),
    Category("gpu", english("waiting for the {device}")),
    Category("computation", english("computation")),
    Category("communication", english("exposed communication")),
    Category("copies", english("exposed copies")),
    Category("synchronization", english("idle: the host waited for the {device}")),
    Category("host", english("idle: the host is late")),
    Category("allocation", english("idle: memory of the {device} is allocated or given back")),
    Category("compilation", english("idle: code of the {device} is loaded or compiled")),
    Category("launch_latency", english("idle: between launch and start")),
    Category("stream", english("idle: launched, not started")),
    Category("no_launch", english("idle: the launch of what comes next was not recorded")),
    Category("start", english("before the first operation")),
    Category("end", english("after the last operation")),
    Category("other", english("other waits")),
    Category("blocked", english("blocked, not known why")),
    Category("not_recorded", english("not recorded")),
)
NUMBER = {category.key: number for number, category in enumerate(CATEGORIES)}
_OF_LEAF = {
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
    Cause.LAUNCH_LATENCY: "launch_latency",
    Cause.STREAM: "stream",
    Cause.NO_LAUNCH: "no_launch",
    Cause.GPU_END: "end",
}


def categories(view: View, segments: Segments, pieces: Pieces, target: WaitedFor) -> Int8Array:
    """Index into `CATEGORIES` of each piece."""
    table = np.full(64, NUMBER["other"], np.int8)
    for cause, key in _OF_LEAF.items():
        table[cause] = NUMBER[key]
    leaf = segments.cause[pieces.leaf]
    found = table[leaf]
    found[(leaf == Cause.RUNNING) & (pieces.depth > 0)] = NUMBER["other_threads"]
    found[_importing(view, segments)[pieces.leaf]] = NUMBER["imports"]
    # A child whose own lines are not known is what the time went to, whatever it did.
    is_child, *contended = _passes(segments, pieces, (Cause.CHILD, Cause.LOCK, Cause.GIL))
    found[is_child & (pieces.depth > 0) & (segments.place[pieces.leaf] < 0)] = NUMBER["child"]
    if target.gpu is None and not view.has("thread_state"):
        found[found == NUMBER["running"]] = NUMBER["active"]
        found[(found == NUMBER["active"]) & _inside(*operator_intervals(view, target), pieces)] = NUMBER[
            "operators"
        ]
    if target.gpu is None:
        on_gpu = (leaf >= Cause.COMPUTATION) & (pieces.depth > 0)
        found[on_gpu] = NUMBER["gpu"]
    # What is waited for at last counts, unless many wait for a thing that one has; he may have no core for it.
    for is_contended, key in zip(contended, ("lock", "gil"), strict=True):
        found[is_contended & (leaf != Cause.RUNNABLE)] = NUMBER[key]
    if target.gpu is not None:
        _of_gpu(view, segments, pieces, found)
    loading = _inside_loading(view, target, segments, pieces)
    found[loading] = NUMBER["data_loading"]
    collected = one_of(found, [NUMBER[key] for key in _COLLECTS]) & _inside(
        *garbage_intervals(view, target), pieces
    )
    found[collected] = NUMBER["gc"]
    return found


def _passes(
    segments: Segments, pieces: Pieces, causes: tuple[Cause, ...]
) -> tuple[npt.NDArray[np.bool_], ...]:
    """For each cause which pieces have a segment of it in their chain."""
    bits = np.zeros(64, np.uint8)
    bits[list(causes)] = 1 << np.arange(len(causes), dtype=np.uint8)
    found = bits[segments.cause[pieces.root]]
    for column in range(1, pieces.path.shape[1]):
        deep = np.flatnonzero(pieces.path[:, column] >= 0)
        found[deep] |= bits[segments.cause[pieces.path[deep, column]]]
    return tuple((found & bits[cause]) != 0 for cause in causes)


def _importing(view: View, segments: Segments) -> npt.NDArray[np.bool_]:
    """Segments in which modules are imported, and what is read for them is waited for."""
    can_be = one_of(segments.cause, _OF_IMPORTS)
    stacks = np.unique(segments.place[can_be])
    importing = [one for one in stacks.tolist() if one >= 0 and is_importing(view.capture.stack_frames(one))]
    found: npt.NDArray[np.bool_] = can_be & np.isin(segments.place, importing)
    return found


def _of_gpu(view: View, segments: Segments, pieces: Pieces, found: Int8Array) -> None:
    """Idle time of a GPU until the launch of what came next: the host's, or because it had to wait for the GPU."""
    launch = segments.cause[pieces.root] == Cause.LAUNCH
    leaf = segments.cause[pieces.leaf]
    at_work = one_of(leaf, (int(Cause.RUNNING), int(Cause.LAUNCH), int(Cause.IMPORTING), int(Cause.GPU)))
    at_work |= leaf >= Cause.COMPUTATION
    found[launch & at_work] = NUMBER["host"]
    found[launch & (leaf == Cause.ALLOCATING)] = NUMBER["allocation"]
    found[launch & (leaf == Cause.COMPILING)] = NUMBER["compilation"]
    own = np.flatnonzero(launch & at_work)
    found[own[_could_be_done_before(view, segments, pieces, own)]] = NUMBER["synchronization"]
    if view.is_whole:
        before = launch | one_of(segments.cause[pieces.root], (int(Cause.STREAM), int(Cause.NO_LAUNCH)))
        found[before & (segments.start[pieces.root] == view.start_ns)] = NUMBER["start"]


def _could_be_done_before(
    view: View, segments: Segments, pieces: Pieces, gaps: Int64Array
) -> npt.NDArray[np.bool_]:
    """In which pieces of gaps the host waited for the GPU, or did what it could have done while it waited: a wait
    keeps it from working ahead for as long as it lasted, and no longer.
    """
    calls = waiting_calls(segments)
    if not len(calls):
        return np.zeros(len(gaps), bool)
    span = 2 * view.duration_ns + 2
    base = calls.thread * span - view.start_ns
    reach = np.maximum.accumulate(base + calls.stop + calls.waited_ns)
    key = segments.by[pieces.root[gaps]].astype(np.int64) * span + (pieces.start[gaps] - view.start_ns)
    at = np.searchsorted(base + calls.start, key, "right") - 1
    found: npt.NDArray[np.bool_] = (at >= 0) & (key < reach[np.maximum(at, 0)])
    return found


def _inside_loading(
    view: View, target: WaitedFor, segments: Segments, pieces: Pieces
) -> npt.NDArray[np.bool_]:
    """Which pieces lie in a range of data loading, of what waits for it."""
    waits = np.ones(len(pieces), bool)
    if target.gpu is not None:
        waits = segments.cause[pieces.root] == Cause.LAUNCH
    if not matching_names(view.capture, DATA_LOADING).any():
        return np.zeros(len(pieces), bool)
    return _inside(*loading_intervals(view, target), pieces) & waits


def _inside(start: Int64Array, stop: Int64Array, pieces: Pieces) -> npt.NDArray[np.bool_]:
    """Which pieces lie in sorted disjoint stretches; they are cut where these begin and end."""
    if not len(start):
        return np.zeros(len(pieces), bool)
    middle = (pieces.start + pieces.stop) // 2
    at = np.searchsorted(start, middle, "right") - 1
    found: npt.NDArray[np.bool_] = (at >= 0) & (middle < stop[np.maximum(at, 0)])
    return found


def operator_intervals(view: View, target: WaitedFor) -> tuple[Int64Array, Int64Array]:
    """When the thread that is waited for was inside operators, where nothing else tells what it did."""
    if target.gpu is not None or view.has("thread_state") or not view.has("operator"):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    events = view.events("operator", frozenset(target.tracks))
    return merge_intervals(np.maximum(events.start, view.start_ns), np.minimum(events.stop, view.stop_ns))


def loading_intervals(view: View, target: WaitedFor) -> tuple[Int64Array, Int64Array]:
    """When the process that is waited for loaded data, by the names of ranges; sorted and disjoint."""
    _, start, stop = loading_events(view, target)
    return merge_intervals(start, stop)


def garbage_intervals(view: View, target: WaitedFor) -> tuple[Int64Array, Int64Array]:
    """When Python collected garbage there, as a profiler named it; sorted and disjoint."""
    _, start, stop = _named_events(view, target, _GARBAGE)
    return merge_intervals(start, stop)


def loading_events(view: View, target: WaitedFor) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Ranges of data loading: (thread, start, stop), int64 [n] each; of the thread that is waited for, or of all those
    that may launch for a GPU.
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
    of_track = np.array([-1 if t.thread is None else t.thread for t in view.capture.tracks] or [-1], np.int64)
    thread = of_track[view.track_of(events.row)] if len(events) else np.empty(0, np.int64)
    return thread, np.maximum(events.start, view.start_ns), np.minimum(events.stop, view.stop_ns)
