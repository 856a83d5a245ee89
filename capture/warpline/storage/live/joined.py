"""One capture of consecutive parts of a recording, in memory."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.model import Clock
from warpline.storage.columns.counters import Counter, counter_pyramid
from warpline.storage.columns.events import Events, Lanes
from warpline.storage.columns.file_fate import FileFate
from warpline.storage.columns.kind_table import KindTable
from warpline.storage.columns.schema import LOD_COLUMNS, LOD_DIRECTORY, SKIP
from warpline.storage.index.activity import ActiveTime
from warpline.storage.index.build_levels import build_levels
from warpline.storage.index.exact_queries import ExactQueries
from warpline.storage.index.lane_columns import LaneColumns
from warpline.storage.index.pyramid import Pyramid, skip_rows
from warpline.storage.index.utilization import BusyCurve
from warpline.storage.live.joint_kinds import kind_columns
from warpline.storage.live.joint_links import JointLinks
from warpline.storage.live.memory import MemoryColumns
from warpline.storage.live.pieces import Joint, LivePart, join_lanes, joint_events
from warpline.storage.live.tables import SharedTables
from warpline.storage.read.capture import Capture

_LEAST_EVENTS = 2048
"""Lanes with fewer events are drawn from them: that is quicker than to make levels for every new part."""

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]


class JoinedCapture(Capture):
    """A capture of several parts, whose times count from the recording's start; it begins with the first of them.

    Events that go on across a border are one event. Attributes, links and counters are joined when they are first
    wanted; `make_all` does so at once, and lets go of the parts.
    """

    def __init__(self, parts: Sequence[LivePart], tables: SharedTables, *, is_drawn: bool = True) -> None:
        """One that is not drawn needs no level of detail."""
        latest = parts[-1].places.capture
        self.path = latest.path
        self._name_index = None
        self._name_index_lock = threading.Lock()
        self.uuid = str(uuid.uuid4())
        self.span = (parts[0].base_ns, parts[-1].head_ns)
        begun = latest.meta.get("start_monotonic_ns")
        start = {"start_monotonic_ns": begun - parts[-1].base_ns + parts[0].base_ns} if begun else {}
        self.meta = {**latest.meta, **start}
        self.sources, self.skipped, self.warnings = latest.sources, latest.skipped, latest.warnings
        self.pauses = _pauses(parts)
        self._unknown_meta = latest._unknown_meta
        self.strings = tables.strings
        self.clocks = self.recorded_clocks = (Clock("capture"),)
        self.tracks, self.processes, self.threads = tables.tracks, tables.processes, tables.threads
        self.devices = tables.devices
        self._parts: Sequence[LivePart] = tuple(parts)
        self._joint = joint = join_lanes(parts)
        events, lanes = joint_events(parts, joint), joint.lanes
        self._tables, self._kinds_known, self._link_kinds = tables, tables.kinds, tables.link_kinds
        self._columns = MemoryColumns(kind_columns(parts, joint, len(events), self._kinds_known))
        pyramid = Pyramid(MemoryColumns(dict(levels(events, lanes)) if is_drawn else {}), lanes, events)
        offsets = np.zeros(len(lanes), np.int64)
        ExactQueries.__init__(self, LaneColumns(events, lanes, pyramid, offsets), len(self.tracks))

    def make_all(self) -> None:
        """Join everything not joined yet, and release the parts."""
        self._columns.make_all()
        self.links.make_all()
        _ = self.counters, self.stacks
        self._parts, self._joint = (), Joint()

    @property
    def format_version(self) -> tuple[int, int]:
        return 0, 0

    @cached_property
    def writer(self) -> str:
        return ""

    @cached_property
    def unknown(self) -> tuple[str, ...]:
        return ()

    @cached_property
    def notices(self) -> tuple[str, ...]:
        return ()

    @cached_property
    def kinds(self) -> dict[str, KindTable]:
        count = len(self.events)
        return {
            name: KindTable(self._columns, spec, code, count)
            for name, (code, spec) in self._kinds_known.items()
            if self._columns.has(f"kinds/{name}/row")
        }

    @cached_property
    def links(self) -> JointLinks:
        return JointLinks(self._parts, self._joint, self.lanes, self.events, self._link_kinds)

    @cached_property
    def stacks(self) -> tuple[Array, Array]:
        for part in self._parts:
            _ = part.places.stack
        return self._tables.stacks

    @cached_property
    def counters(self) -> tuple[Counter, ...]:
        return _counters(self._parts)

    @cached_property
    def activity(self) -> ActiveTime:
        """The whole capture: no activity is searched for in a part of a recording."""
        return ActiveTime(start_ns=self.span[0], stop_ns=self.span[1])

    @cached_property
    def _curves(self) -> dict[int, BusyCurve]:
        return {}

    @cached_property
    def stored_name_index(self) -> Mapping[str, Array] | None:
        return None

    @property
    def is_mapped(self) -> bool:
        return True

    def is_intact(self) -> bool:
        return True

    def fate(self) -> FileFate:
        return FileFate.AS_IT_WAS

    def close(self) -> None:
        """Does nothing: there is no file, and memory is freed with the last reference."""


def levels(events: Events, lanes: Lanes) -> Mapping[str, Array | Callable[[], Array]]:
    """The level of detail of all lanes, by the names that its columns have in a file."""
    directory: dict[str, list[int]] = {name: [] for name in LOD_DIRECTORY}
    columns: dict[str, list[Array]] = {name: [np.empty(0, dtype)] for name, dtype in LOD_COLUMNS.items()}
    skips: list[Array] = [np.empty(0, np.int64)]
    total = 0
    for lane in np.flatnonzero(lanes.count >= _LEAST_EVENTS).tolist():
        run = lanes.rows(lane)
        for level in build_levels(
            events.start[run], events.duration[run], events.flags[run], events.kind[run]
        ):
            for name, parts in columns.items():
                parts.append(getattr(level, name))
            skips.append(level.start[::SKIP])
            count = len(level.start)
            for name, value in (("lane", lane), ("level", level.level), ("first", total), ("count", count)):
                directory[name].append(value)
            total += count
    return {
        **{f"lod/levels/{name}": np.array(values, np.int64) for name, values in directory.items()},
        **{f"lod/{name}": np.concatenate(parts) for name, parts in columns.items()},
        "lod/skip_events": events.start[skip_rows(lanes.first, lanes.count)],
        "lod/skip_entries": np.concatenate(skips),
    }


def _pauses(parts: Sequence[LivePart]) -> Int64Array:
    """The pauses of all parts, those that go on across a border as one."""
    joined: list[list[int]] = []
    for part in parts:
        for start, stop in (part.places.capture.pauses + part.zero_ns).tolist():
            stop = min(stop, part.stop_ns)
            if stop <= start:
                continue
            if joined and start <= joined[-1][1]:
                joined[-1][1] = stop
            else:
                joined.append([start, stop])
    return np.array(joined, np.int64).reshape(-1, 2)


def _counters(parts: Sequence[LivePart]) -> tuple[Counter, ...]:
    """The samples of each counter from all parts."""
    found: dict[tuple[int, str], tuple[Counter, list[Int64Array], list[npt.NDArray[np.float64]]]] = {}
    for part in parts:
        for counter in part.places.capture.counters:
            times = counter.times + part.zero_ns
            stop = int(times.searchsorted(part.stop_ns))
            key = int(part.places.track[counter.track]), counter.name
            _counter, all_times, all_values = found.setdefault(key, (counter, [], []))
            all_times.append(times[:stop])
            all_values.append(counter.values[:stop])
    counters = []
    for index, ((track, name), (counter, times_of, values_of)) in enumerate(found.items()):
        values = np.concatenate(values_of)
        counters.append(
            Counter(
                index=index,
                track=track,
                name=name,
                unit=counter.unit,
                interpolation=counter.interpolation,
                recorded_times=np.concatenate(times_of),
                offset_ns=0,
                values=values,
                pyramid=counter_pyramid(values),
            )
        )
    return tuple(counters)
