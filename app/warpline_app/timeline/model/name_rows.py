"""Events of a track grouped by name: a row per kernel name, and per copy direction. Built on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.i18n import tr, translated
from warpline.model.communication import is_communication
from warpline.untrusted import places_of
from warpline_app.timeline.model.group_columns import GroupColumns

if TYPE_CHECKING:
    from warpline.analysis.framework.nesting import LaneEvents
    from warpline.storage import Capture, NameIndex
    from warpline.storage.columns.kind_table import KindTable

Int64Array = npt.NDArray[np.int64]

OWN_INDEX_UP_TO = 5_000_000
"""Tracks up to this size are indexed in memory; larger ones use the index in the user's cache."""

_NOT_SHOWN = {"sync", "overhead"}
_TO_DEVICE = {1, 3, 11}
_TO_HOST = {2, 4, 12}


def copy_family(copy_kind: int) -> str:
    """Colour family of a copy by direction (`warpline.model.COPY_KINDS`)."""
    if copy_kind in _TO_DEVICE:
        return "copy_to_device"
    return "copy_to_host" if copy_kind in _TO_HOST else "copy_on_device"


@dataclass(eq=False, kw_only=True)
class NameGroup:
    """Some events of a track. Columns are read on first use, so that invisible rows cost nothing.

    ``count`` events take ``total_ns`` in total; ``name`` is their common string id, else -1. ``is_mixed``: of several
    kinds, each in its own colour.
    """

    key: str
    title: str
    family: str
    count: int
    total_ns: int
    load: Callable[[], Int64Array]
    name: int = -1
    is_mixed: bool = False
    _columns: GroupColumns | None = field(default=None, repr=False)

    @cached_property
    def rows(self) -> Int64Array:
        """Rows of the events (int64), by start."""
        return self.load()

    def columns(self, capture: Capture) -> GroupColumns:
        """Their columns, in capture times."""
        if self._columns is None:
            start, stop = capture.event_times(self.rows)
            self._columns = GroupColumns.of(self.rows, start, stop - start)
        return self._columns

    def busy_ns(self, capture: Capture, start_ns: int, stop_ns: int) -> int:
        """Busy time in ``[start_ns, stop_ns)``; concurrent events count each."""
        columns = self.columns(capture)
        start, duration, prefix, longest = columns.start, columns.duration, columns.before, columns.longest
        low = int(np.searchsorted(start, start_ns - longest, "left"))
        head = int(np.searchsorted(start, start_ns, "left"))
        high = int(np.searchsorted(start, stop_ns, "left"))
        total = int(prefix[high] - prefix[head])
        reach = start[low:head] + duration[low:head]
        total += int(np.maximum(np.minimum(reach, stop_ns) - start_ns, 0).sum())
        tail = int(np.searchsorted(start, max(start_ns, stop_ns - longest), "left"))
        total -= int(np.maximum(start[tail:high] + duration[tail:high] - stop_ns, 0).sum())
        return total


def nearest_of(group: NameGroup, capture: Capture, time_ns: int, reach_ns: int) -> int | None:
    """The row of a group's event at a time, or the nearest one within ``reach_ns``."""
    columns = group.columns(capture)
    start, duration = columns.start, columns.duration
    index = int(np.searchsorted(start, time_ns, "right")) - 1
    best, distance = None, reach_ns + 1
    for candidate in (index, index + 1):
        if 0 <= candidate < len(start):
            # Python integers: times of a damaged file may exceed 64 bits.
            begin = int(start[candidate])
            end = begin + int(duration[candidate])
            away = max(begin - time_ns, time_ns - end, 0)
            if away < distance:
                best, distance = int(group.rows[candidate]), away
    return best


class NameGroups:
    """Event groups of tracks, cached by track."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._cache: dict[int, tuple[list[NameGroup], list[NameGroup]]] = {}
        self._projected: dict[int, list[NameGroup]] = {}
        self._joined: dict[tuple[int, ...], list[NameGroup]] = {}

    def has(self, track: int) -> bool:
        """Whether a track is indexed."""
        return track in self._cache

    def groups(
        self, track: int, is_cancelled: Callable[[], bool] | None = None, ready: int = 0
    ) -> tuple[list[NameGroup], list[NameGroup]]:
        """Kernels (and graphs) by name, largest total first; copies and sets by direction.

        Indexes the track, or uses the capture's index if the track is most of it. Call it in a thread for large tracks;
        it also reads the columns of the first ``ready`` groups of both lists. Raises Cancelled.
        """
        if track not in self._cache:
            kernels, copies = groups = _TrackNames(self._capture, track, is_cancelled).groups()
            for group in (*kernels[:ready], *copies[:ready]):
                group.columns(self._capture)
            self._cache[track] = groups
        return self._cache[track]

    def has_projected(self, stream: int) -> bool:
        """Whether the projection of host ranges onto a stream is computed."""
        return stream in self._projected

    def projected(self, stream: int, is_cancelled: Callable[[], bool] | None = None) -> list[NameGroup]:
        """Host ranges projected onto a stream, a group per depth. Call it in a thread. Raises Cancelled."""
        if stream not in self._projected:
            from warpline.analysis.framework.selection import View
            from warpline.analysis.structure.projection import ranges_on_stream

            view = View(self._capture) if is_cancelled is None else View(self._capture, None, is_cancelled)
            lanes = ranges_on_stream(view, stream)
            self._projected[stream] = [
                _projected_group(stream, depth, lane) for depth, lane in enumerate(lanes)
            ]
        return self._projected[stream]

    def has_joined(self, streams: tuple[int, ...]) -> bool:
        """Whether the events of some streams are joined."""
        return streams in self._joined

    def joined(
        self, streams: tuple[int, ...], is_cancelled: Callable[[], bool] | None = None
    ) -> list[NameGroup]:
        """All events of some streams, in as many groups as run at once. Call it in a thread. Raises Cancelled."""
        if streams not in self._joined:
            self._joined[streams] = _joined_groups(self._capture, streams, is_cancelled)
        return self._joined[streams]


def _joined_groups(
    capture: Capture, streams: tuple[int, ...], is_cancelled: Callable[[], bool] | None
) -> list[NameGroup]:
    # Imported on demand: only this packs events outside of a file.
    from warpline.model import Packing
    from warpline.model.progress import check_cancelled
    from warpline.storage.write.packing import Packer

    parts = [capture.rows_of_track(stream) for stream in streams]
    row = np.concatenate([np.arange(part.start, part.stop) for part in parts])
    hidden = [capture.kinds[kind].code for kind in _NOT_SHOWN if kind in capture.kinds]
    row = row[~np.isin(capture.events.kind[row], hidden)]
    check_cancelled(is_cancelled)
    start, stop = capture.event_times(row)
    order = np.lexsort((-stop, start))
    row, start, stop = row[order], start[order], stop[order]
    check_cancelled(is_cancelled)
    line = Packer(Packing.PACK).assign(start, stop)
    groups = []
    for number in range(int(line.max(initial=-1)) + 1):
        mine = line == number
        columns = GroupColumns.of(row[mine], start[mine], stop[mine] - start[mine])
        groups.append(
            NameGroup(
                key=f"line={number}",
                title="",
                family="kernel",
                count=len(columns.row),
                total_ns=int(columns.duration.sum()),
                load=partial(_rows_of, columns),
                is_mixed=True,
                _columns=columns,
            )
        )
    return groups


def _rows_of(columns: GroupColumns) -> Int64Array:
    return columns.row


def _projected_group(stream: int, depth: int, lane: LaneEvents) -> NameGroup:
    """A group with the times of the launched work instead of the ranges' own."""
    length = lane.stop - lane.start
    columns = GroupColumns.of(lane.row, lane.start, length)
    key = f"nvtx={stream}.{depth}"
    return NameGroup(
        key=key,
        title="",
        family="range",
        count=len(lane.row),
        total_ns=int(length.sum()),
        load=lambda: lane.row,
        _columns=columns,
    )


class _TrackNames:
    """The events of a track by kind and name."""

    def __init__(self, capture: Capture, track: int, is_cancelled: Callable[[], bool] | None) -> None:
        self._capture = capture
        self._part = capture.rows_of_track(track)
        self._kind = capture.events.kind[self._part]
        self._lanes = np.asarray(list(capture.track_lanes(track)), np.int64)
        self._is_cancelled = is_cancelled

    def groups(self) -> tuple[list[NameGroup], list[NameGroup]]:
        """Kernels by name; copies and sets by direction."""
        counts = np.bincount(self._kind, minlength=1)
        kernels: dict[str, KindTable] = {}
        moves: list[NameGroup] = []
        for name, table in self._capture.kinds.items():
            if table.code >= len(counts) or not counts[table.code]:
                continue
            if name == "memcpy":
                moves += self._copies(table)
            elif name == "memset":
                moves.append(
                    self._fixed(
                        self._rows_of_kind(table.code), "kind=memset", tr("Memory sets", "timeline"), "set"
                    )
                )
            elif name not in _NOT_SHOWN:
                kernels[name] = table
        return sorted(self._by_name(kernels), key=lambda group: -group.total_ns), moves

    def _rows_of_kind(self, code: int) -> Int64Array:
        rows: Int64Array = np.flatnonzero(self._kind == code) + self._part.start
        return rows

    def _in_time_order(self, rows: Int64Array) -> Int64Array:
        if len(self._lanes) < 2:
            return rows
        return rows[np.argsort(self._capture.events.start[rows], kind="stable")]

    def _fixed(self, rows: Int64Array, key: str, title: str, family: str) -> NameGroup:
        total = int(np.asarray(self._capture.events.duration[rows]).sum())
        return NameGroup(
            key=key,
            title=title,
            family=family,
            count=len(rows),
            total_ns=total,
            load=lambda: self._in_time_order(rows),
        )

    def _by_name(self, kinds: Mapping[str, KindTable]) -> list[NameGroup]:
        """A group for each name of these kinds.

        The index counts all kinds together. Counting the smaller kinds separately and subtracting them avoids visiting
        the events of the largest kind, usually all kernels of a stream.
        """
        if not kinds:
            return []
        events = self._capture.events
        if self._part.stop - self._part.start > OWN_INDEX_UP_TO:
            index = self._capture.name_index(cancelled=self._is_cancelled)
        else:
            index = self._capture.index_lanes(self._lanes.tolist(), self._is_cancelled)
        totals = index.totals(self._lanes)
        counts = np.bincount(self._kind)
        codes = [int(code) for code in np.flatnonzero(counts)]
        largest = max(codes, key=lambda code: int(counts[code]))
        count, busy = totals.count.copy(), totals.busy_ns.copy()
        of_kind: dict[int, tuple[Int64Array, Int64Array]] = {}
        for code in codes:
            if code != largest:
                rows = self._rows_of_kind(code)
                place = places_of(totals.name, events.name[rows])
                is_known = place >= 0  # a damaged index may lack names
                rows, place = rows[is_known], place[is_known]
                mine = np.bincount(place, minlength=len(count))
                time = np.zeros_like(busy)
                np.add.at(time, place, events.duration[rows])
                of_kind[code] = mine, time
                count -= mine
                busy -= time
        of_kind[largest] = count, busy
        groups = []
        for kind, table in kinds.items():
            count, busy = of_kind[table.code]
            for at in np.flatnonzero(count > 0).tolist():
                name = int(totals.name[at])
                text = self._capture.strings[name]
                is_talk = table.spec.color == "kernel" and is_communication(text)
                is_only = count[at] == totals.count[at]
                groups.append(
                    NameGroup(
                        key=f"{kind}={name}",
                        title=text or tr("(no name)", "timeline"),
                        family="communication" if is_talk else table.spec.color,
                        count=int(count[at]),
                        total_ns=int(busy[at]),
                        load=self._loader(index, name, None if is_only else table.code),
                        name=name,
                    )
                )
        return groups

    def _loader(self, index: NameIndex, name: int, code: int | None) -> Callable[[], Int64Array]:
        def load() -> Int64Array:
            rows = index.rows([name], self._lanes)
            if code is not None:
                rows = rows[self._capture.events.kind[rows] == code]
            return self._in_time_order(rows)

        return load

    def _copies(self, table: KindTable) -> list[NameGroup]:
        rows = self._rows_of_kind(table.code)
        if "copy_kind" not in table.attributes:
            return [self._fixed(rows, "kind=memcpy", tr("Copies", "timeline"), "copy_on_device")]
        values, valid = table.taken("copy_kind", table.indices_of(rows))
        direction = np.where(valid, values, 0)
        enum: Mapping[int, str] = next(
            (spec.enum for spec in table.spec.attributes if spec.name == "copy_kind"), {}
        )
        result = []
        # Asked for values alone, numpy first imports its masked arrays.
        for code in np.unique(direction, return_counts=True)[0].tolist():
            text = translated(str(enum.get(code, "unknown"))).replace(" to ", " → ")
            title = tr("Copies {direction}", "timeline", direction=text)
            result.append(self._fixed(rows[direction == code], f"copies={code}", title, copy_family(code)))
        return result
