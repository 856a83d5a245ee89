"""Launch links between host calls and GPU work as columns, limited to a selection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.selected.selected_events import SelectedEvents
from warpline.analysis.framework.selection import BATCH_EVENTS, GPU_KINDS, View
from warpline.model.links import LAUNCH

Int64Array = npt.NDArray[np.int64]
_AT_ONCE = 1 << 18
"""Launches read together: some 200 bytes each."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Launches:
    """Launch links as columns of equal length. Rows are event rows, times capture ns, all int64.

    Ordered by ``call_start``. ``thread`` is the index of the calling thread, or −2 − track for a track without one.
    """

    call: Int64Array
    call_start: Int64Array
    call_stop: Int64Array
    thread: Int64Array
    work: Int64Array
    work_start: Int64Array
    work_stop: Int64Array

    def __len__(self) -> int:
        return len(self.call)

    def take(self, index: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Launches:
        """The launches at an index or mask."""
        return Launches(**{item.name: getattr(self, item.name)[index] for item in fields(self)})

    def of_thread(self, thread: int) -> Launches:
        """The launches of one thread, ordered by time."""
        return self.take(self.thread == thread)

    @property
    def work_ns(self) -> Int64Array:
        """Duration of the GPU work."""
        return self.work_stop - self.work_start


def has_launches(view: View) -> bool:
    """Whether the capture links any host call with GPU work."""
    return LAUNCH in view.capture.links.kinds and view.capture.links.counts().get(LAUNCH, 0) > 0


def is_work_launched_once(view: View) -> bool:
    """Whether no GPU work has two launch links; reads all links of the capture in portions."""
    links = view.capture.links
    code = links.kinds.index(LAUNCH) if LAUNCH in links.kinds else -1
    is_launched = np.zeros(len(view.capture.events) + 1, bool)
    count = 0
    for first in range(0, len(links), BATCH_EVENTS):
        view.check_cancelled()
        part = slice(first, first + BATCH_EVENTS)
        work = links.to_row[part][links.kind[part] == code]
        work = work[work >= 0]
        is_launched[work] = True
        count += len(work)
    return int(np.count_nonzero(is_launched)) == count


def launches_from(
    view: View, tracks: frozenset[int] | None = None, is_launched_once: bool = False
) -> Launches:
    """GPU work launched by host calls that begin in the selected range on the selected (or given) tracks.

    The work counts in full, even if it ran after the range. ``is_launched_once``: `is_work_launched_once` is known.
    """
    links = view.capture.links
    indices = [links.leaving_between(span.first, span.stop) for span in view.spans(tracks)]
    return _in_range(
        view, _columns(view, np.concatenate([np.empty(0, np.int64), *indices]), is_launched_once)
    )


def launch_portions(view: View, tracks: frozenset[int] | None = None) -> Iterator[Launches]:
    """`launches_from` in portions, each ordered by time; in a single one if two calls claim the same work."""
    if not is_work_launched_once(view):
        yield launches_from(view, tracks)
        return
    for span in view.spans(tracks):
        indices = view.capture.links.leaving_between(span.first, span.stop)
        for first in range(0, len(indices), _AT_ONCE):
            view.check_cancelled()
            part = _columns(view, indices[first : first + _AT_ONCE], is_launched_once=True)
            yield _in_range(view, part)


def _in_range(view: View, launches: Launches) -> Launches:
    if view.is_whole:
        return launches
    return launches.take((launches.call_start >= view.start_ns) & (launches.call_start < view.stop_ns))


def _launches_of(view: View, rows: Int64Array) -> Launches:
    """The launches of GPU events (rows, ascending), wherever the calls lie."""
    launches = _columns(view, _arriving(view, rows))
    if len(launches) and len(rows):
        index = np.minimum(np.searchsorted(rows, launches.work), len(rows) - 1)
        is_wanted = rows[index] == launches.work
        launches = launches if is_wanted.all() else launches.take(is_wanted)
    return launches


def launch_of_each(view: View, events: SelectedEvents) -> tuple[Launches, Int64Array]:
    """The launches of GPU events, and the index of each event's launch (−1: none)."""
    return launch_of_rows(view, events.row)


def launch_of_rows(view: View, rows: Int64Array) -> tuple[Launches, Int64Array]:
    """`launch_of_each` for ascending event rows."""
    launches = _launches_of(view, rows)
    place = np.full(len(rows), -1, np.int64)
    if len(launches):
        place[np.searchsorted(rows, launches.work)] = np.arange(len(launches))
    return launches, place


def calls_of_rows(view: View, rows: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """(row; thread, start and row of its launching call) of the GPU events that have one, by row.

    Cheaper than `launch_of_rows`. ``rows`` ascend.
    """
    links = view.capture.links
    index = _arriving(view, rows)
    code = links.kinds.index(LAUNCH) if LAUNCH in links.kinds else -1
    call, work = links.from_row[index], links.to_row[index]
    place = np.minimum(np.searchsorted(rows, work), max(len(rows) - 1, 0))
    n_events = len(view.capture.events)
    is_launch = (links.kind[index] == code) & (call >= 0) & (call < n_events)
    if len(rows):
        is_launch &= rows[place] == work
    if not is_launch.all():
        call, work = call[is_launch], work[is_launch]
    offsets = np.array(
        [view.capture.clock_offset_of_track(t.index) for t in view.capture.tracks] or [0], np.int64
    )
    track = view.track_of(call)
    start = view.starts(call, 0) - offsets[track]
    thread = threads_of_tracks(view)[track]
    if not (work[1:] > work[:-1]).all():
        # If two calls claim the same work, the one that began last launched it.
        order = np.lexsort((start, work))
        is_last = np.append(work[order][1:] != work[order][:-1], True)
        order = order[is_last[: len(order)]]
        work, thread, start, call = work[order], thread[order], start[order], call[order]
    return work, thread, start, call


@dataclass(frozen=True, eq=False, kw_only=True)
class LaunchedBatch:
    """GPU events that have a launching call, and these calls: int64 arrays of the events' length.

    ``call`` is the row, ``call_start``/``call_stop`` capture ns, ``thread`` as in `Launches`.
    """

    events: SelectedEvents
    call: Int64Array
    call_start: Int64Array
    call_stop: Int64Array
    thread: Int64Array


def launched_batches(view: View, kind: str) -> Iterator[LaunchedBatch]:
    """`gpu_events` that have a launching call, by row, in portions, so that memory stays bounded."""
    threads = view.selection.threads
    for events in view.batches(kind, size=_AT_ONCE):
        work, thread, start, call = calls_of_rows(view, events.row)
        if threads is not None:
            wanted = np.isin(thread, list(threads))
            work, thread, start, call = work[wanted], thread[wanted], start[wanted], call[wanted]
        if len(work) < len(events):
            events = events.take(np.searchsorted(events.row, work))
        stop = start + view.durations(call)
        yield LaunchedBatch(events=events, call=call, call_start=start, call_stop=stop, thread=thread)


def launch_starts(view: View, kind: str, track: int) -> tuple[Int64Array, Int64Array]:
    """(start of the launching call, start of the work) of a kind's launched work on a track, capture ns, by row."""
    calls, starts = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for events in view.batches(kind, frozenset({track}), _AT_ONCE):
        work, _, call_start, _ = calls_of_rows(view, events.row)
        calls.append(call_start)
        starts.append(events.start[np.searchsorted(events.row, work)])
    return np.concatenate(calls), np.concatenate(starts)


def gpu_events(view: View, kind: str) -> SelectedEvents:
    """Selected GPU events of a kind; with selected threads, only what those threads launched."""
    events = view.events(kind)
    if view.selection.threads is None or not len(events):
        return events
    launches, place = launch_of_each(view, events)
    wanted = np.zeros(len(events), bool)
    linked = place >= 0
    wanted[linked] = np.isin(launches.thread[place[linked]], list(view.selection.threads))
    return events.take(wanted)


def threads_of_tracks(view: View) -> Int64Array:
    """The thread of each track index, −2 − track for none."""
    return view.thread_of_track


def _arriving(view: View, rows: Int64Array) -> Int64Array:
    """Indices of the links that arrive at ascending rows, and a few others."""
    links = view.capture.links
    indices = (links.arriving_between(first, stop) for first, stop in _runs(rows))
    return np.concatenate([np.empty(0, np.int64), *indices])


def _runs(rows: Int64Array) -> list[tuple[int, int]]:
    """Ranges [first, stop) that cover all given rows, bridging small gaps."""
    if not len(rows):
        return []
    breaks = np.flatnonzero(np.diff(rows) > 1024)
    first = rows[np.concatenate([[0], breaks + 1])]
    stop = rows[np.concatenate([breaks, [len(rows) - 1]])] + 1
    return list(zip(first.tolist(), stop.tolist(), strict=True))


def launched_outside(view: View, rows: Int64Array) -> npt.NDArray[np.bool_]:
    """Which GPU events (rows, ascending) were launched by a call that an exported range left out."""
    links = view.capture.links
    index = _arriving(view, rows)
    code = links.kinds.index(LAUNCH) if LAUNCH in links.kinds else -1
    outside = links.to_row[index][(links.kind[index] == code) & (links.from_row[index] < 0)]
    marked: npt.NDArray[np.bool_] = np.isin(rows, outside)
    return marked


def _columns(view: View, index: Int64Array, is_launched_once: bool = False) -> Launches:
    """The launches among links, by time. ``is_launched_once``: the links hold no two calls of the same work."""
    names = [item.name for item in fields(Launches)]
    columns = {name: np.empty(len(index), np.int64) for name in names}
    filled = 0
    # In portions, as intermediate results take more memory than the columns.
    for first in range(0, len(index), _AT_ONCE):
        part = _unordered(view, index[first : first + _AT_ONCE])
        for name in names:
            columns[name][filled : filled + len(part)] = getattr(part, name)
        filled += len(part)
    columns = {name: column[:filled] for name, column in columns.items()}
    call_start = columns["call_start"]
    if not (call_start[1:] >= call_start[:-1]).all():
        order = np.argsort(call_start, kind="stable")
        for column in columns.values():
            column[:] = column[order]
    launches = Launches(**columns)
    if is_launched_once:
        return launches
    # If two calls claim the same work (a runtime call around its driver call), the one that began last launched it.
    last = last_of_each(launches.work)
    return launches if len(last) == len(launches) else launches.take(last)


def _unordered(view: View, index: Int64Array) -> Launches:
    """The launches among a portion of links, in their order."""
    links = view.capture.links
    index = index[links.kind[index] == links.kinds.index(LAUNCH)] if LAUNCH in links.kinds else index[:0]
    call, work = links.from_row[index], links.to_row[index]
    n_events = len(view.capture.events)
    inside = (call >= 0) & (work >= 0) & (call < n_events) & (work < n_events)
    call, work = call[inside], work[inside]
    kinds = view.capture.kinds
    codes = [kinds[kind].code for kind in GPU_KINDS if kind in kinds]
    on_gpu = np.isin(view.capture.events.kind[work], codes)
    call, work = call[on_gpu], work[on_gpu]
    call_start, call_stop = view.times_of(call)
    work_start, work_stop = view.times_of(work)
    return Launches(
        call=call,
        call_start=call_start,
        call_stop=call_stop,
        thread=threads_of_tracks(view)[view.track_of(call)],
        work=work,
        work_start=work_start,
        work_stop=work_stop,
    )


def last_of_each(rows: Int64Array) -> Int64Array:
    """Index of the last occurrence of each distinct row, ascending."""
    if not len(rows):
        return rows
    low = int(rows.min())
    span = int(rows.max()) - low + 1
    if span > 8 * len(rows) + 65_536:
        _, last = np.unique(rows[::-1], return_index=True)
        return np.sort(len(rows) - 1 - last)
    # The last assignment to an index remains.
    place = np.full(span, -1, np.int64)
    place[rows - low] = np.arange(len(rows))
    return np.flatnonzero(place[rows - low] == np.arange(len(rows)))
