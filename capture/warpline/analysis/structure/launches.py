"""Which host call launched which GPU work: the links of a capture as columns, cut to a selection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.selection import BATCH_EVENTS, GPU_KINDS, SelectedEvents, View
from warpline.model.links import LAUNCH

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Launches:
    """Launch links as columns of equal length. Rows are event rows, times capture ns, all int64.

    Ordered by ``call_start``. ``thread`` is the index of the calling thread, or −2 − track where a track
    names no thread.
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
        """Some of the launches, by index or mask."""
        return Launches(
            self.call[index],
            self.call_start[index],
            self.call_stop[index],
            self.thread[index],
            self.work[index],
            self.work_start[index],
            self.work_stop[index],
        )

    def of_thread(self, thread: int) -> Launches:
        """The launches of one thread, still ordered by time."""
        return self.take(self.thread == thread)

    @property
    def work_ns(self) -> Int64Array:
        """Duration of the GPU work."""
        return self.work_stop - self.work_start


def has_launches(view: View) -> bool:
    """Whether the capture links host calls with GPU work at all."""
    return LAUNCH in view.capture.links.kinds and view.capture.links.counts().get(LAUNCH, 0) > 0


def is_work_launched_once(view: View) -> bool:
    """Whether no two links say what launched the same work; looks at all of the capture, in portions."""
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


def launches_from(view: View, tracks: frozenset[int] | None = None) -> Launches:
    """GPU work launched by host calls that begin in the selected range on the selected (or given) tracks.

    The work counts whole, whenever it ran.
    """
    links = view.capture.links
    found = [links.leaving_between(span.first, span.stop) for span in view.spans(tracks)]
    return _in_range(view, _columns(view, np.concatenate([np.empty(0, np.int64), *found])))


def launch_portions(view: View, tracks: frozenset[int] | None = None) -> Iterator[Launches]:
    """`launches_from` in portions, each ordered by time; in one where two calls claim the same work."""
    if not is_work_launched_once(view):
        yield launches_from(view, tracks)
        return
    for span in view.spans(tracks):
        found = view.capture.links.leaving_between(span.first, span.stop)
        for first in range(0, len(found), BATCH_EVENTS):
            view.check_cancelled()
            yield _in_range(view, _columns(view, found[first : first + BATCH_EVENTS]))


def _in_range(view: View, launches: Launches) -> Launches:
    if view.is_whole:
        return launches
    return launches.take((launches.call_start >= view.start_ns) & (launches.call_start < view.stop_ns))


def launches_to(view: View, events: SelectedEvents) -> Launches:
    """The launches of these GPU events (ordered by row, as a view gives them), wherever the calls lie."""
    return _launches_of(view, events.row)


def _launches_of(view: View, rows: Int64Array) -> Launches:
    links = view.capture.links
    found = [links.arriving_between(first, stop) for first, stop in _runs(rows)]
    launches = _columns(view, np.concatenate([np.empty(0, np.int64), *found]))
    if len(launches) and len(rows):
        index = np.minimum(np.searchsorted(rows, launches.work), len(rows) - 1)
        is_wanted = rows[index] == launches.work
        launches = launches if is_wanted.all() else launches.take(is_wanted)
    return launches


def launch_of_each(view: View, events: SelectedEvents) -> tuple[Launches, Int64Array]:
    """Launches of GPU events, and for each event the index of its launch (−1: none)."""
    return launch_of_rows(view, events.row)


def launch_of_rows(view: View, rows: Int64Array) -> tuple[Launches, Int64Array]:
    """`launch_of_each` of events by their rows, ascending."""
    launches = _launches_of(view, rows)
    place = np.full(len(rows), -1, np.int64)
    if len(launches):
        place[np.searchsorted(rows, launches.work)] = np.arange(len(launches))
    return launches, place


def calls_of_rows(view: View, rows: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """(row; thread, start and row of its launching call) of those GPU events of ascending rows that have one.

    As `launch_of_rows`, in the order of rows, for who needs no more of the launches.
    """
    links = view.capture.links
    index = np.concatenate(
        [np.empty(0, np.int64), *(links.arriving_between(first, stop) for first, stop in _runs(rows))]
    )
    code = links.kinds.index(LAUNCH) if LAUNCH in links.kinds else -1
    call, work = links.from_row[index], links.to_row[index]
    place = np.minimum(np.searchsorted(rows, work), max(len(rows) - 1, 0))
    n_events = len(view.capture.events)
    good = (links.kind[index] == code) & (call >= 0) & (call < n_events)
    if len(rows):
        good &= rows[place] == work
    if not good.all():
        call, work = call[good], work[good]
    offsets = np.array(
        [view.capture.clock_offset_of_track(t.index) for t in view.capture.tracks] or [0], np.int64
    )
    track = view.track_of(call)
    start = view.starts(call, 0) - offsets[track]
    thread = threads_of_tracks(view)[track]
    if not (work[1:] > work[:-1]).all():
        # Where two calls claim the same work, the one that began last did it.
        order = np.lexsort((start, work))
        is_last = np.append(work[order][1:] != work[order][:-1], True)
        order = order[is_last[: len(order)]]
        work, thread, start, call = work[order], thread[order], start[order], call[order]
    return work, thread, start, call


def gpu_events(view: View, kind: str) -> SelectedEvents:
    """Selected GPU events of a kind; where threads are selected, only what these threads launched."""
    events = view.events(kind)
    if view.selection.threads is None or not len(events):
        return events
    launches, place = launch_of_each(view, events)
    wanted = np.zeros(len(events), bool)
    linked = place >= 0
    wanted[linked] = np.isin(launches.thread[place[linked]], list(view.selection.threads))
    return events.take(wanted)


def threads_of_tracks(view: View) -> Int64Array:
    """For each track index the thread it belongs to, −2 − track where it belongs to none."""
    return np.array(
        [-2 - t.index if t.thread is None else t.thread for t in view.capture.tracks] or [-2], np.int64
    )


def _runs(rows: Int64Array) -> list[tuple[int, int]]:
    """Ranges [first, stop) of rows that cover all given rows; gaps of a few rows are bridged."""
    if not len(rows):
        return []
    breaks = np.flatnonzero(np.diff(rows) > 1024)
    first = rows[np.concatenate([[0], breaks + 1])]
    stop = rows[np.concatenate([breaks, [len(rows) - 1]])] + 1
    return list(zip(first.tolist(), stop.tolist(), strict=True))


def _columns(view: View, index: Int64Array) -> Launches:
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
    thread = threads_of_tracks(view)[view.track_of(call)]
    launches = Launches(call, call_start, call_stop, thread, work, work_start, work_stop)
    if not (call_start[1:] >= call_start[:-1]).all():
        launches = launches.take(np.argsort(call_start, kind="stable"))
    # Where two calls claim the same work (a runtime call around its driver call), the one that began last did it.
    last = last_of_each(launches.work)
    return launches if len(last) == len(launches) else launches.take(last)


def last_of_each(rows: Int64Array) -> Int64Array:
    """Where each distinct row occurs last, ascending; by a table where rows are close together, else sorted."""
    if not len(rows):
        return rows
    low = int(rows.min())
    span = int(rows.max()) - low + 1
    if span > 8 * len(rows) + 65_536:
        _, last = np.unique(rows[::-1], return_index=True)
        return np.sort(len(rows) - 1 - last)
    # Of several entries for one place the last one stays.
    place = np.full(span, -1, np.int64)
    place[rows - low] = np.arange(len(rows))
    return np.flatnonzero(place[rows - low] == np.arange(len(rows)))
