"""GPU work of host ranges: the work launched inside a range on its thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nested_events import nested_events
from warpline.analysis.framework.nesting import (
    LaneEvents,
    NestedEvents,
    places_by_value,
    window_extremes,
    window_pairs,
    window_sums,
    windows,
)
from warpline.analysis.framework.selection import View
from warpline.analysis.structure.launches import (
    Launches,
    is_work_launched_once,
    launch_of_rows,
    launches_from,
    threads_of_tracks,
)

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Projection:
    """GPU work launched inside each of some host ranges; one int64 entry per range.

    ``count`` operations, ``total_ns`` the sum of their durations, ``start`` the first start and ``stop`` the last end
    in capture ns (both 0 where count is 0). ``first``/``last`` bound the range's part of ``launches``.
    """

    launches: Launches
    first: Int64Array
    last: Int64Array
    count: Int64Array
    total_ns: Int64Array
    start: Int64Array
    stop: Int64Array

    def pairs(self) -> tuple[Int64Array, Int64Array]:
        """All pairs of (range, index into ``launches``)."""
        return window_pairs(self.first, self.last)


def project(launches: Launches, starts: Int64Array, stops: Int64Array) -> Projection:
    """The projection of ranges [start, stop) (capture ns) of a thread on its launches.

    A call belongs to the ranges in which it begins.
    """
    first, last = windows(launches.call_start, starts, stops)
    low, high = window_extremes(launches.work_start, launches.work_stop, first, last)
    total = window_sums(launches.work_ns, first, last)
    return Projection(
        launches=launches, first=first, last=last, count=last - first, total_ns=total, start=low, stop=high
    )


@dataclass(frozen=True)
class ThreadLanes:
    """The events of all range tracks (domains) of one thread and the thread's launches.

    ``thread`` is −2 − track for a track without a thread.
    """

    thread: int
    events: NestedEvents
    launches: Launches


def tracks_holding(view: View, kinds: Sequence[str]) -> dict[int, list[int]]:
    """The selected tracks that hold these kinds, by thread as in `threads_of_tracks`."""
    capture = view.capture
    tables = [capture.kinds[kind] for kind in kinds if kind in capture.kinds]
    threads = threads_of_tracks(view)
    tracks_of: dict[int, list[int]] = {}
    for track in capture.tracks:
        rows = capture.rows_of_track(track.index)
        holds_any = any(table.count_between(rows.start, rows.stop) for table in tables)
        if holds_any and track.index in view.tracks:
            tracks_of.setdefault(int(threads[track.index]), []).append(track.index)
    return tracks_of


def lanes_by_thread(view: View, kinds: Sequence[str]) -> Iterator[ThreadLanes]:
    """The lanes that hold these kinds, thread by thread, with the GPU work that each thread launched.

    Calls lie in the selected range; their work may run later.
    """
    launches: LaunchesByThread | None = None
    for thread, tracks in tracks_holding(view, kinds).items():
        events = nested_events(view, tracks, kinds)
        if not len(events):
            continue
        launches = launches or LaunchesByThread(view)
        yield ThreadLanes(thread, events, launches.of_thread(thread))


def launches_of_host(view: View) -> Launches:
    """GPU work launched from the threads of the selected tracks in the selected range.

    Calls usually lie on another track of the thread than ranges, so that track need not be selected.
    """
    return launches_from(_with_neighbours(view))


def _with_neighbours(view: View) -> View:
    if view.selection.tracks is None:
        return view
    threads = threads_of_tracks(view)
    wanted = {int(threads[index]) for index in view.tracks}
    neighbours = frozenset(t.index for t in view.capture.tracks if int(threads[t.index]) in wanted)
    return view.other(replace(view.selection, tracks=neighbours))


class LaunchesByThread:
    """`launches_of_host`, loaded for one thread at a time; with ``of_selected``, only from the selected tracks."""

    def __init__(self, view: View, of_selected: bool = False) -> None:
        self._view = view if of_selected else _with_neighbours(view)
        # If two calls claim the same work, only a search over all threads finds the one that launched it.
        self._all = None if is_work_launched_once(view) else launches_from(self._view)

    def of_thread(self, thread: int) -> Launches:
        """The launches of one thread, ordered by time."""
        if self._all is not None:
            return self._all.of_thread(thread)
        if thread < 0:
            tracks = frozenset({-2 - thread})
        else:
            tracks = frozenset(track.index for track in self._view.tracks_of_thread(thread))
        return launches_from(self._view, tracks, is_launched_once=True)


def ranges_on_stream(view: View, stream: int, kind: str = "range") -> list[LaneEvents]:
    """The ranges that launched work of a stream (track index), by depth, outermost first.

    ``start`` and ``stop`` are those of the work, ``row`` that of the range. Ordered by start; may overlap. Raises
    Cancelled like the view.
    """
    part = view.capture.rows_of_track(stream)
    launches, _ = launch_of_rows(view, np.arange(part.start, part.stop))
    tracks_of = places_by_value(threads_of_tracks(view))
    depth, start, stop, row = ([np.empty(0, np.int64)] for _ in range(4))
    for thread in np.unique(launches.thread).tolist():
        view.check_cancelled()
        events = nested_events(view, tracks_of.get(thread, ()), [kind])
        projection = project(launches.of_thread(thread), events.start, events.stop)
        has_work = np.flatnonzero(projection.count > 0)
        depth.append(events.lane[has_work])
        start.append(projection.start[has_work])
        stop.append(projection.stop[has_work])
        row.append(events.row[has_work])
    level = np.concatenate(depth)
    times = np.concatenate(start)
    order = np.lexsort((times, level))
    borders = np.flatnonzero(np.diff(level[order])) + 1
    columns = (
        np.split(column[order], borders) for column in (times, np.concatenate(stop), np.concatenate(row))
    )
    return [LaneEvents(*lane) for lane in zip(*columns, strict=True) if len(lane[0])]
