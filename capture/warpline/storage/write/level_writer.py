"""Writes `lod`, the level of detail of every lane, and `utilization`, how busy groups of lanes are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

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
from warpline.storage.write.datasets import Datasets
from warpline.storage.write.spill import SpillDirectory

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]


def write_levels(out: Datasets, lanes: Lanes, spill: SpillDirectory, step: Callable[[int], None]) -> None:
    """Writes `lod` once `events` is written and flushed; ``step`` is told rows done before each stretch of lanes."""
    columns = {name: spill.column(dtype) for name, dtype in LOD_COLUMNS.items()}
    skip_levels = spill.column("<i8")
    directory: dict[str, list[int]] = {name: [] for name in LOD_DIRECTORY}
    events = {name: out.view(f"events/{name}", dtype) for name, dtype in EVENT_COLUMNS.items()}
    total = 0
    for lane, (first, count) in enumerate(zip(lanes.first.tolist(), lanes.count.tolist(), strict=True)):
        if lane % 256 == 0:
            step(first)
        if count < LEAST_EVENTS:
            continue
        run = slice(first, first + count)
        for level in build_levels(
            events["start"][run], events["duration"][run], events["flags"][run], events["kind"][run]
        ):
            for name, column in columns.items():
                column.append(getattr(level, name))
            skip_levels.append(level.start[::SKIP])
            entries = len(level.start)
            for name, value in (("lane", lane), ("level", level.level), ("first", total), ("count", entries)):
                directory[name].append(value)
            total += entries
    group = out.file.create_group("lod")
    for name, dtype in LOD_DIRECTORY.items():
        out.put(group.require_group("levels"), name, np.array(directory[name], np.int64), dtype)
    for name, dtype in LOD_COLUMNS.items():
        out.put(group, name, columns[name].read(), dtype)
    out.put(group, "skip_events", events["start"][skip_rows(lanes.first, lanes.count)], "<i8")
    out.put(group, "skip_entries", skip_levels.read(), "<i8")


def write_utilization(
    out: Datasets, tracks: Sequence[Track], lanes: Lanes, spill: SpillDirectory, step: Callable[[], None]
) -> None:
    """Writes `utilization` once `events` is written and flushed; ``step`` is called before each group."""
    lanes_of: dict[int, list[int]] = {}
    for lane, track in enumerate(lanes.track.tolist()):
        lanes_of.setdefault(track, []).append(lane)
    first, count = lanes.first.tolist(), lanes.count.tolist()
    columns = {name: out.view(f"events/{name}", dtype) for name, dtype in EVENT_COLUMNS.items()}
    directory: dict[str, list[int]] = {name: [] for name in UTILIZATION_COLUMNS}
    values = spill.column("<f4")
    built: dict[tuple[tuple[int, ...], Together], BusyCurve] = {}
    for group in find_groups(tracks, lambda track: lanes_of.get(track, [])).values():
        step()
        curve = built.get((group.lanes, group.together))
        if curve is None:
            curve = built[group.lanes, group.together] = build_curve(group, columns, first, count)
        for name, number in (
            ("track", group.track),
            ("together", int(group.together)),
            ("capacity", group.capacity),
            ("level", curve.level),
            ("origin", curve.origin),
            ("first", len(values)),
            ("count", len(curve.values)),
        ):
            directory[name].append(number)
        values.append(curve.values)
    node = out.file.create_group("utilization")
    for name, dtype in UTILIZATION_COLUMNS.items():
        out.put(node, name, np.array(directory[name], np.int64), dtype)
    out.put(node, "value", values.read(), "<f4")
