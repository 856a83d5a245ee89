"""Writes `lod`, the level of detail of every lane, and `utilization` of groups of lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from warpline.memory_room import require_memory
from warpline.model import Track
from warpline.storage.columns.events import Lanes
from warpline.storage.columns.groups import Together, find_groups
from warpline.storage.columns.schema import (
    EVENT_COLUMNS,
    LOD_COLUMNS,
    LOD_DIRECTORY,
    SKIP,
    UTILIZATION_COLUMNS,
)
from warpline.storage.index.build_levels import LEAST_EVENTS, build_levels
from warpline.storage.index.pyramid import skip_rows
from warpline.storage.index.utilization import BusyCurve, build_curve
from warpline.storage.write.outputs import Datasets
from warpline.storage.write.spill import SpillDirectory

Array = npt.NDArray[Any]

_STEP_S = 0.05


class DetailMaker:
    """Builds and writes `lod` and `utilization`, in a thread beside the other writers once `begin` is called.

    Leaving the block stops the work.
    """

    def __init__(self, out: Datasets, tracks: Sequence[Track], lanes: Lanes, spill: SpillDirectory) -> None:
        self._out, self._tracks, self._lanes = out, tracks, lanes
        self._events: dict[str, Array] = {}
        self._columns = {name: spill.column(dtype) for name, dtype in LOD_COLUMNS.items()}
        self._skip_levels = spill.column("<i8")
        self._levels: dict[str, list[int]] = {name: [] for name in LOD_DIRECTORY}
        self._curves: dict[str, list[int]] = {name: [] for name in UTILIZATION_COLUMNS}
        self._values = spill.column("<f4")
        self._rows_done = 0
        self._is_wanted = True
        self._thread = ThreadPoolExecutor(1, "detail")
        self._made: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_wanted = False
        self._thread.shutdown()

    def begin(self) -> None:
        """Begin, once `events` is written."""
        self._out.flush()
        self._events = {
            name: self._out.view(f"events/{name}", dtype) for name, dtype in EVENT_COLUMNS.items()
        }
        require_memory()
        self._made = self._thread.submit(self._make)

    def write(self, step: Callable[[int], None]) -> None:
        """Write both as soon as they are made; ``step`` gets the number of finished rows meanwhile."""
        if self._made is None:
            self.begin()
        assert self._made is not None
        while not self._made.done():
            step(self._rows_done)
            wait([self._made], _STEP_S)
        self._made.result()
        group, lanes = self._out.file.create_group("lod"), self._lanes
        for name, dtype in LOD_DIRECTORY.items():
            self._out.put(group.require_group("levels"), name, np.array(self._levels[name], np.int64), dtype)
        for name, dtype in LOD_COLUMNS.items():
            self._out.put(group, name, self._columns[name].read(), dtype)
        self._out.put(group, "skip_events", self._events["start"][skip_rows(lanes.first, lanes.count)], "<i8")
        self._out.put(group, "skip_entries", self._skip_levels.read(), "<i8")
        group = self._out.file.create_group("utilization")
        for name, dtype in UTILIZATION_COLUMNS.items():
            self._out.put(group, name, np.array(self._curves[name], np.int64), dtype)
        self._out.put(group, "value", self._values.read(), "<f4")

    def _make(self) -> None:
        for lane, (first, count) in enumerate(
            zip(self._lanes.first.tolist(), self._lanes.count.tolist(), strict=True)
        ):
            if not self._is_wanted:
                return
            self._rows_done = first
            if count >= LEAST_EVENTS:
                self._make_levels(lane, slice(first, first + count))
        self._make_curves()

    def _make_levels(self, lane: int, run: slice) -> None:
        for level in build_levels(
            *(self._events[name][run] for name in ("start", "duration", "flags", "kind"))
        ):
            entries, total = len(level.start), len(self._columns["start"])
            for name, column in self._columns.items():
                column.append(getattr(level, name))
            self._skip_levels.append(level.start[::SKIP])
            for name, value in (("lane", lane), ("level", level.level), ("first", total), ("count", entries)):
                self._levels[name].append(value)

    def _make_curves(self) -> None:
        lanes_of: dict[int, list[int]] = {}
        for lane, track in enumerate(self._lanes.track.tolist()):
            lanes_of.setdefault(track, []).append(lane)
        first, count = self._lanes.first.tolist(), self._lanes.count.tolist()
        built: dict[tuple[tuple[int, ...], Together], BusyCurve] = {}
        for group in find_groups(self._tracks, lambda track: lanes_of.get(track, [])).values():
            if not self._is_wanted:
                return
            curve = built.get((group.lanes, group.together))
            if curve is None:
                curve = built[group.lanes, group.together] = build_curve(group, self._events, first, count)
            for name, number in (
                ("track", group.track),
                ("together", int(group.together)),
                ("capacity", group.capacity),
                ("level", curve.level),
                ("origin", curve.origin),
                ("first", len(self._values)),
                ("count", len(curve.values)),
            ):
                self._curves[name].append(number)
            self._values.append(curve.values)
