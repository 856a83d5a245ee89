"""The selection a report is about (time range, tracks, threads, streams, ranks, names) and its events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.report import unrecorded
from warpline.analysis.framework.selected.selected_events import SelectedEvents, join_events
from warpline.analysis.framework.selected.spans import LaneSpans, rows_of
from warpline.i18n import tr
from warpline.model import Track
from warpline.model.progress import IsCancelled, check_cancelled

if TYPE_CHECKING:
    from warpline.storage import Capture
    from warpline.storage.columns.kind_table import KindTable

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
GPU_KINDS = ("kernel", "memcpy", "memset", "graph", "gpu_event")
"""Kinds whose events occupy a GPU."""
BATCH_EVENTS = 1 << 18
_OF_CAPTURE = ("thread_of_track", "_lanes_by_track", "_lane_order")
_FARTHEST_NS = 1 << 61


@dataclass(frozen=True)
class Selection:
    """What is selected; None selects everything.

    ``start_ns``/``stop_ns`` bound a half-open range of capture times. ``tracks`` are track indices; a track includes
    everything below it. ``threads`` and ``processes`` are indices into the capture's lists, ``streams`` track indices
    of streams, ``ranks`` rank numbers, ``names`` string ids. ``threads`` limits host tracks and the GPU work they
    launched; ``streams`` limits GPU tracks.
    """

    start_ns: int | None = None
    stop_ns: int | None = None
    _: KW_ONLY
    tracks: frozenset[int] | None = None
    threads: frozenset[int] | None = None
    processes: frozenset[int] | None = None
    streams: frozenset[int] | None = None
    ranks: frozenset[int] | None = None
    names: frozenset[int] | None = None


def _places(table: KindTable, spans: LaneSpans) -> LaneSpans:
    """Non-empty ranges of a kind's table that lie in spans of rows."""
    first, stop = table.places_of(spans.first), table.places_of(spans.stop)
    places = replace(spans, first=first, stop=stop)
    return places.take(np.flatnonzero(stop > first))


def is_exported_range(capture: Capture) -> bool:
    """Whether the capture is a range exported from a longer one."""
    source = capture.meta.get("exported_from")
    return isinstance(source, dict) and bool(source.get("is_range"))


def own_kinds(capture: Capture) -> frozenset[str]:
    """The kinds of which the capture holds events."""
    return frozenset(name for name, table in capture.kinds.items() if len(table))


def recorded_kinds(capture: Capture) -> frozenset[str]:
    """The kinds of which events were recorded; for an exported range, also those of the whole capture it comes from."""
    source = capture.meta.get("exported_from")
    kinds = source.get("kinds") if isinstance(source, dict) else None
    return own_kinds(capture) | frozenset(map(str, kinds if isinstance(kinds, list) else ()))


class View:
    """A capture seen through a selection. Finds rows by binary search in lanes, so cost grows with the selection.

    Creating a view reads nothing. Threads must not share one while it fills its caches. ``cancelled`` is called
    regularly while events are read; returning True stops a computation in the background.
    """

    def __init__(
        self,
        capture: Capture,
        selection: Selection | None = None,
        cancelled: IsCancelled | None = None,
    ) -> None:
        self.capture = capture
        self.selection = selection or Selection()
        self.cancelled = cancelled
        first, last = capture.span
        given = self.selection
        self.start_ns = first if given.start_ns is None else given.start_ns
        self.stop_ns = last if given.stop_ns is None else max(given.stop_ns, self.start_ns)
        # An exported range counts as a range, not as a whole capture: events may cross its borders.
        self.is_whole = given.start_ns is None and given.stop_ns is None and not is_exported_range(capture)
        self._tracks_of_threads: dict[int, tuple[Track, ...]] | None = None
        self._spans: dict[frozenset[int], LaneSpans] = {}
        self._lane_places: dict[str, LaneSpans] = {}

    def restrict(self, start_ns: int, stop_ns: int) -> View:
        """The same selection in another time range (capture ns)."""
        return self.other(replace(self.selection, start_ns=start_ns, stop_ns=stop_ns))

    def everything(self) -> View:
        """The same tracks over the whole capture."""
        return self.other(replace(self.selection, start_ns=None, stop_ns=None))

    def other(self, selection: Selection) -> View:
        """Another selection of the same capture, cancelled with this one."""
        view = View(self.capture, selection, self.cancelled)
        # What does not depend on the selection takes some bytes for each lane.
        vars(view).update({name: vars(self)[name] for name in _OF_CAPTURE if name in vars(self)})
        return view

    def check_cancelled(self) -> None:
        """Raise Cancelled if the computation was cancelled."""
        check_cancelled(self.cancelled, tr("{path}: the summary was cancelled", path=self.capture.path))

    @property
    def duration_ns(self) -> int:
        """Length of the selected range."""
        return self.stop_ns - self.start_ns

    @cached_property
    def tracks(self) -> frozenset[int]:
        """Indices of all selected tracks."""
        return frozenset(track.index for track in self.capture.tracks if self._selects(track))

    def tracks_of_thread(self, thread: int) -> tuple[Track, ...]:
        """All tracks of a thread, of the whole capture, in their order."""
        if self._tracks_of_threads is None:
            by_thread: dict[int, list[Track]] = {}
            for track in self.capture.tracks:
                if track.thread is not None:
                    by_thread.setdefault(track.thread, []).append(track)
            self._tracks_of_threads = {number: tuple(tracks) for number, tracks in by_thread.items()}
        return self._tracks_of_threads.get(thread, ())

    def _selects(self, track: Track) -> bool:
        wanted = self.selection
        if wanted.ranks is not None and track.rank not in wanted.ranks:
            return False
        if (
            wanted.processes is not None
            and track.process is not None
            and track.process not in wanted.processes
        ):
            return False
        if wanted.threads is not None and track.thread is not None and track.thread not in wanted.threads:
            return False
        if wanted.streams is not None and track.device is not None and not self._below(track, wanted.streams):
            return False
        return wanted.tracks is None or self._below(track, wanted.tracks)

    def _below(self, track: Track, tops: frozenset[int]) -> bool:
        index = track.index
        for _ in range(64):
            if index in tops:
                return True
            if index < 0:
                return False
            index = self.capture.tracks[index].parent
        return False

    def tracks_of_role(self, *roles: str) -> list[Track]:
        """Selected tracks of these roles, in the capture's order."""
        return [t for t in self.capture.tracks if t.role in roles and t.index in self.tracks]

    def spans(self, tracks: frozenset[int] | None = None) -> LaneSpans:
        """Row spans of the selected events on ``tracks`` (default: every selected track); neighbours are joined."""
        self.check_cancelled()
        tracks = self.tracks if tracks is None else tracks & self.tracks
        spans = self._spans.get(tracks)
        if spans is None:
            spans = self._spans[tracks] = self.lane_spans(tracks).joined()
        return spans

    def lane_spans(self, tracks: Iterable[int]) -> LaneSpans:
        """The rows that overlap the range of each lane of ``tracks``, in lane order; without empty ones."""
        return self._spans_of_lanes(self._lanes_of(tracks))

    def nested_spans(self, tracks: Iterable[int]) -> LaneSpans:
        """`lane_spans`, the outermost depth first."""
        self.check_cancelled()
        lanes = self._lanes_of(tracks)
        return self._spans_of_lanes(lanes[np.argsort(self.capture.lanes.depth[lanes], kind="stable")])

    def _lanes_of(self, tracks: Iterable[int]) -> Int64Array:
        """The lanes of tracks, ascending."""
        order, track_column = self._lanes_by_track
        wanted = np.unique(np.fromiter(tracks, track_column.dtype))
        begins, ends = (np.searchsorted(track_column, wanted, side) for side in ("left", "right"))
        lanes = order[rows_of(begins.astype(np.int64), ends.astype(np.int64))]
        lanes.sort()
        return lanes

    def _spans_of_lanes(self, lanes: Int64Array) -> LaneSpans:
        capture = self.capture
        if self.is_whole:
            first = capture.lanes.first[lanes].astype(np.int64)
            stop = first + capture.lanes.count[lanes].astype(np.int64)
        else:
            first, stop = capture.lane_borders(lanes, self.start_ns, self.stop_ns)
        spans = LaneSpans(
            track=capture.lanes.track[lanes].astype(np.int64),
            first=first,
            stop=stop,
            offset_ns=capture.lane_offset_ns[lanes].astype(np.int64),
        )
        return spans if bool((stop > first).all()) else spans.take(np.flatnonzero(stop > first))

    def has(self, *kinds: str) -> bool:
        """Whether the capture holds any event of these kinds, selected or not."""
        return any(kind in self.capture.kinds and len(self.capture.kinds[kind]) for kind in kinds)

    def were_recorded(self, *kinds: str) -> bool:
        """`has`, for an exported range of the whole capture: a range without an operator does not show that operators
        were not recorded.
        """
        return not self._recorded_kinds.isdisjoint(kinds)

    @cached_property
    def _recorded_kinds(self) -> frozenset[str]:
        return recorded_kinds(self.capture)

    def count(self, kind: str, tracks: frozenset[int] | None = None) -> int:
        """Number of selected events of a kind, ignoring the name filter."""
        return int(self.kind_places(kind, tracks).counts.sum())

    def kind_places(self, kind: str, tracks: frozenset[int] | None = None) -> LaneSpans:
        """Ranges of the kind's table on ``tracks``."""
        spans = self.spans(tracks)
        table = self.capture.kinds.get(kind)
        return spans.take(np.empty(0, np.int64)) if table is None else _places(table, spans)

    def lane_places(self, kind: str) -> LaneSpans:
        """`kind_places` lane by lane: only the first and last event of each can extend beyond the selected range."""
        places = self._lane_places.get(kind)
        if places is None:
            spans = self.lane_spans(self.tracks)
            places = self._lane_places[kind] = _places(self.capture.kinds[kind], spans)
        return places

    def selected_names(self, size: int) -> BoolArray:
        """For each of ``size`` string ids, whether the name filter selects it; all without a filter."""
        names = self.selection.names
        is_selected = np.full(size, names is None)
        is_selected[[name for name in names or () if name < size]] = True
        return is_selected

    def batches(
        self,
        kind: str,
        tracks: frozenset[int] | None = None,
        size: int = BATCH_EVENTS,
        named: BoolArray | None = None,
    ) -> Iterator[SelectedEvents]:
        """The selected events of a kind, at most ``size`` at a time; joins small neighbours.

        ``named`` (flags by string id) keeps only events of those names; of others only the name is read.
        """
        waiting: list[SelectedEvents] = []
        filled = 0
        for span in self.kind_places(kind, tracks):
            for begin in range(span.first, span.stop, size):
                part = self._read(kind, begin, min(begin + size, span.stop), span.offset_ns, named)
                if filled + len(part) > size and waiting:
                    yield join_events(waiting)
                    waiting, filled = [], 0
                waiting.append(part)
                filled += len(part)
        if waiting:
            yield join_events(waiting)

    def places(self, kind: str, first: int, stop: int) -> slice | Int64Array:
        """Event rows of a part of a kind's table as an index into columns; a slice if they are consecutive."""
        table = self.capture.kinds[kind]
        low, high = int(table.stored_rows[first]), int(table.stored_rows[stop - 1])
        if high - low == stop - first - 1 and low >= 0 and high < len(self.capture.events):
            return slice(low, high + 1)
        return table.rows_at(slice(first, stop))

    def names(self, place: slice | Int64Array) -> npt.NDArray[np.uint32]:
        """String ids of events, limited to the capture's strings even in a damaged file."""
        names: npt.NDArray[np.uint32] = self.capture.events.name[place]
        last = max(len(self.capture.strings) - 1, 0)
        return np.minimum(names, np.uint32(last)) if len(names) and names.max() > last else names

    def starts(self, place: slice | Int64Array, offset: int) -> Int64Array:
        """Starts of events in capture ns, limited so that adding a duration cannot overflow."""
        starts: Int64Array = np.clip(self.capture.events.start[place], -_FARTHEST_NS, _FARTHEST_NS)
        starts -= offset
        return starts

    def durations(self, place: slice | Int64Array) -> Int64Array:
        """Durations of events in ns, at least 0 even in a damaged file."""
        durations: Int64Array = self.capture.events.duration[place]
        is_sound = not len(durations) or (int(durations.min()) >= 0 and int(durations.max()) <= _FARTHEST_NS)
        return durations if is_sound else np.clip(durations, 0, _FARTHEST_NS)

    def events(
        self, kind: str, tracks: frozenset[int] | None = None, named: BoolArray | None = None
    ) -> SelectedEvents:
        """All selected events of a kind, or those of some names (see `batches`), ordered by row."""
        return join_events(list(self.batches(kind, tracks, named=named)))

    def _read(
        self, kind: str, first: int, stop: int, offset: int, named: BoolArray | None = None
    ) -> SelectedEvents:
        self.check_cancelled()
        place = self.places(kind, first, stop)
        name, index = self.names(place), np.arange(first, stop)
        wanted = self.selection.names
        if named is not None or wanted is not None:
            is_match = np.True_ if named is None else named[name]
            if wanted is not None:
                is_match = is_match & np.isin(name, np.fromiter(wanted, np.uint32, len(wanted)))
            matches = np.flatnonzero(is_match)
            name, index = name[matches], index[matches]
            place = matches + place.start if isinstance(place, slice) else place[matches]
        row = np.arange(place.start, place.stop) if isinstance(place, slice) else place
        start = self.starts(place, offset)
        duration = self.durations(place)
        inside = duration
        if not self.is_whole:
            end = np.minimum(start + duration, self.stop_ns)
            inside = np.maximum(end - np.maximum(start, self.start_ns), 0)
        return SelectedEvents(row=row, index=index, start=start, duration=duration, inside=inside, name=name)

    def column(self, kind: str, name: str, index: Int64Array) -> npt.NDArray[Any]:
        """An attribute at indices of the kind's table as a masked array; fully masked if the kind lacks it."""
        table = self.capture.kinds[kind]
        if name not in table.attributes:
            return unrecorded(len(index), np.int64)
        values, valid = table.taken(name, index)
        return np.ma.MaskedArray(values, ~valid)

    def track_values(self, attribute: str) -> Int64Array:
        """An integer attribute of each track, −1 for None; has a last entry of −1 more."""
        values = (getattr(track, attribute) for track in self.capture.tracks)
        return np.array([*(-1 if value is None else value for value in values), -1], np.int64)

    def thread_of(self, rows: Int64Array) -> Int64Array:
        """Thread index of each event row, −2 − track for a track without a thread."""
        track = self.track_of(rows) if len(rows) else np.empty(0, np.int64)
        thread = self.track_values("thread")[track]
        return np.where(thread < 0, -2 - track, thread)

    def track_of(self, rows: Int64Array) -> npt.NDArray[np.int64]:
        """Track index of each event row."""
        return self.capture.lanes.track[self._lane_of(rows)].astype(np.int64)

    @cached_property
    def thread_of_track(self) -> Int64Array:
        """The thread of each track of the capture, −2 − track for none: [tracks]."""
        tracks = self.capture.tracks
        return np.array([-2 - t.index if t.thread is None else t.thread for t in tracks] or [-2], np.int64)

    @cached_property
    def _lanes_by_track(self) -> tuple[Int64Array, npt.NDArray[np.uint32]]:
        """Lane numbers by their track, and those tracks: [lanes] each."""
        track: npt.NDArray[np.uint32] = np.asarray(self.capture.lanes.track)
        order: Int64Array = np.argsort(track, kind="stable")
        return order, track[order]

    @cached_property
    def _lane_order(self) -> tuple[Int64Array, Int64Array]:
        first = np.asarray(self.capture.lanes.first).astype(np.int64)
        used = np.flatnonzero(np.asarray(self.capture.lanes.count) > 0)
        order = used[np.argsort(first[used], kind="stable")]
        return order, first[order]

    def _lane_of(self, rows: Int64Array) -> Int64Array:
        order, first = self._lane_order
        return order[np.maximum(np.searchsorted(first, rows, "right") - 1, 0)]

    @cached_property
    def _track_offsets(self) -> Int64Array:
        tracks = self.capture.tracks
        return np.array(
            [self.capture.clock_offset_of_track(track.index) for track in tracks] or [0], np.int64
        )

    def times_of(self, rows: Int64Array) -> tuple[Int64Array, Int64Array]:
        """(start, stop) in capture ns of event rows on any tracks."""
        start = self.starts(rows, 0) - self._track_offsets[self.track_of(rows)]
        return start, start + self.durations(rows)
