"""Host events of each thread with Paddle type, nesting and launched GPU work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nested_events import nested_events
from warpline.analysis.framework.nesting import (
    NestedEvents,
    enclosing,
    flat_parents,
    self_times,
    window_sums,
    windows,
)
from warpline.analysis.framework.selected.selected_events import SelectedEvents
from warpline.analysis.framework.selection import View
from warpline.analysis.structure.event_types import HOST_KINDS, event_types
from warpline.analysis.structure.launches import Launches, threads_of_tracks
from warpline.analysis.structure.projection import LaunchesByThread
from warpline.model import Track

Int64Array = npt.NDArray[np.int64]
TREE_KINDS = ("phase", "range", "operator", "other")
"""Kinds that nest and have names chosen by people, unlike API and Python calls."""


@dataclass(frozen=True, eq=False, kw_only=True)
class HostEvents:
    """Columns of equal length, ordered by row.

    ``kind`` int16 code, ``type`` index into `HOST_TYPES`, ``name`` string id, ``start``/``stop`` capture ns, ``cpu_ns``
    time inside the selected range, ``thread`` as in `Launches`, ``gpu_ns`` GPU time launched inside, ``parent`` index
    of the enclosing event (−1: none), ``self_cpu_ns`` and ``self_gpu_ns`` the times without children.
    """

    row: Int64Array
    index: Int64Array
    kind: npt.NDArray[np.int16]
    type: Int64Array
    name: npt.NDArray[np.uint32]
    start: Int64Array
    stop: Int64Array
    cpu_ns: Int64Array
    thread: Int64Array
    gpu_ns: Int64Array
    parent: Int64Array
    self_cpu_ns: Int64Array
    self_gpu_ns: Int64Array

    def __len__(self) -> int:
        return len(self.row)

    def take(self, index: npt.NDArray[Any]) -> HostEvents:
        """The events at ``index``; ``parent`` still refers to the original indices."""
        return HostEvents(**{item.name: getattr(self, item.name)[index] for item in fields(self)})


@dataclass(frozen=True, eq=False)
class ThreadEvents:
    """The host events and launches of one thread; ``owner`` is the index of the innermost event around each launch."""

    thread: int
    events: HostEvents
    launches: Launches
    owner: Int64Array


def host_tracks(view: View) -> list[Track]:
    """The selected host tracks.

    The profiler's own track counts only if nothing else is selected: its events span those of other tracks.
    """
    chosen = [track for track in view.capture.tracks if track.index in view.tracks and track.device is None]
    return [track for track in chosen if not _is_of_profiler(track)] or chosen


def _is_of_profiler(track: Track) -> bool:
    """Whether a track is `TrackFactory.profiler`, of a rank or of all."""
    return track.process is None and track.thread is None and track.uri.rpartition("/")[2] == "profiler"


def tracks_by_thread(view: View) -> dict[int, list[int]]:
    """`host_tracks` by thread, as in `threads_of_tracks`."""
    threads = threads_of_tracks(view)
    of_thread: dict[int, list[int]] = {}
    for track in host_tracks(view):
        of_thread.setdefault(int(threads[track.index]), []).append(track.index)
    return of_thread


def threads_with_events(view: View, kinds: tuple[str, ...] = TREE_KINDS) -> Iterator[ThreadEvents]:
    """The host events, thread by thread."""
    capture = view.capture
    launches = LaunchesByThread(view)
    for thread, tracks in tracks_by_thread(view).items():
        chosen = frozenset(tracks)
        if not any(view.count(kind, chosen) for kind in kinds if kind in capture.kinds):
            continue
        nested = nested_events(view, tracks, kinds)
        if len(nested):
            calls = nested_events(view, neighbours(view, thread), ("cuda_api",))
            yield _assembled(view, thread, nested, launches.of_thread(thread), calls)


def neighbours(view: View, thread: int) -> list[int]:
    """All tracks of a thread, selected or not."""
    return [track.index for track in view.tracks_of_thread(thread)]


def _inside(view: View, start: Int64Array, stop: Int64Array) -> Int64Array:
    """The part of each interval inside the selected range (ns)."""
    if view.is_whole:
        return stop - start
    inside: Int64Array = np.maximum(np.minimum(stop, view.stop_ns) - np.maximum(start, view.start_ns), 0)
    return inside


def _calls_inside(view: View, nested: NestedEvents, calls: NestedEvents) -> Int64Array:
    """Time of the outermost API calls for which each event is the innermost enclosing one."""
    outermost = slice(0, int(calls.first[min(1, len(calls.first) - 1)]))
    start, stop = calls.start[outermost], calls.stop[outermost]
    owner = enclosing(nested, start)
    owned = np.flatnonzero(owner >= 0)
    time = _inside(view, start[owned], stop[owned])
    return np.bincount(owner[owned], weights=time, minlength=len(nested)).astype(np.int64)


def _assembled(
    view: View, thread: int, nested: NestedEvents, launches: Launches, calls: NestedEvents
) -> ThreadEvents:
    capture = view.capture
    row, start, stop = nested.row, nested.start, nested.stop
    parent = flat_parents(nested)
    first, last = windows(launches.call_start, start, stop)
    gpu_ns = window_sums(launches.work_ns, first, last)
    owner = enclosing(nested, launches.call_start)
    owned = np.flatnonzero(owner >= 0)
    self_gpu = np.bincount(owner[owned], weights=launches.work_ns[owned], minlength=len(row)).astype(np.int64)
    cpu = _inside(view, start, stop)
    name = view.names(row)
    code = capture.events.kind[row]
    kind_type = np.full(len(row), -1, np.int64)
    index = np.full(len(row), -1, np.int64)
    for kind in HOST_KINDS:
        table = capture.kinds.get(kind)
        here = np.flatnonzero(code == table.code) if table is not None else np.empty(0, np.int64)
        if table is None or not len(here):
            continue
        index[here] = table.indices_of(row[here])
        zeros = np.zeros(len(here), np.int64)
        kind_type[here] = event_types(
            view,
            kind,
            SelectedEvents(
                row=row[here], index=index[here], start=zeros, duration=zeros, inside=zeros, name=name[here]
            ),
        )
    events = HostEvents(
        row=row,
        index=index,
        kind=code.astype(np.int16),
        type=kind_type,
        name=name,
        start=start,
        stop=stop,
        cpu_ns=cpu,
        thread=np.full(len(row), thread, np.int64),
        gpu_ns=gpu_ns,
        parent=parent,
        self_cpu_ns=self_times(cpu, parent) - _calls_inside(view, nested, calls),
        self_gpu_ns=self_gpu,
    )
    wanted = view.selection.names
    if wanted is not None:
        events = _only_names(events, wanted)
    return ThreadEvents(thread, events, launches, owner)


def merge_recursion(events: HostEvents) -> Int64Array:
    """For each event, the outermost of the events of its name that directly contain each other; usually itself.

    An operator that calls an overload of itself counts as one call, as in torch_tb_profiler.
    """
    above = np.maximum(events.parent, 0)
    repeats = (events.parent >= 0) & (events.name == events.name[above]) & (events.type == events.type[above])
    outer = np.where(repeats, above, np.arange(len(events)))
    while True:
        # Each turn goes twice as far.
        further = outer[outer]
        if np.array_equal(further, outer):
            return outer
        outer = further


def _only_names(events: HostEvents, names: frozenset[int]) -> HostEvents:
    """Removes the type of events with other names, so that no table lists them; keeps the nesting."""
    keep = np.isin(events.name, np.fromiter(names, np.uint32, len(names)))
    return replace(events, type=np.where(keep, events.type, -1))
