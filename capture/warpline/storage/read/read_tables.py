"""Reads the directories of a capture, trusting nothing: types, sizes, places, order and bounds are checked.

Everything raises CaptureFormatError for what cannot be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from warpline.model import Clock, Track
from warpline.storage.columns.counters import Counter, pyramid_sizes
from warpline.storage.columns.events import Events, Lanes
from warpline.storage.columns.groups import LaneGroup
from warpline.storage.columns.mapped_file import MappedFile
from warpline.storage.columns.schema import (
    CLOCK_COLUMNS,
    COUNTER_COLUMNS,
    EVENT_COLUMNS,
    INTERPOLATIONS,
    LANE_COLUMNS,
    MAX_DEPTH,
    MAX_TRACKS,
    NO_RESIDUAL,
    TRACK_COLUMNS,
    UTILIZATION_COLUMNS,
)
from warpline.storage.columns.strings import Strings
from warpline.storage.index.utilization import MAX_BINS, BusyCurve
from warpline.storage.read.read_meta import MAX_TIME, Description, read_description

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]

MAX_META_BYTES = 64 << 20
MAX_LANES = 1 << 22


def read_uuid(file: MappedFile) -> str:
    """The capture's UUID. It names files of the user's settings and caches, so it must be one and no path."""
    try:
        return str(UUID(str(file.attribute("", "uuid"))))
    except ValueError as error:
        raise file.error("its UUID is damaged") from error


def read_meta(file: MappedFile) -> Description:
    """The description."""
    try:
        return read_description(file.column("meta", "|u1", limit=MAX_META_BYTES).tobytes())
    except (ValueError, OverflowError, RecursionError) as error:
        raise file.error(f"its description is damaged ({error})") from error


def read_events(file: MappedFile) -> Events:
    """The columns of events."""
    n = file.length("events/start")
    return Events(
        **{name: file.column(f"events/{name}", dtype, count=n) for name, dtype in EVENT_COLUMNS.items()}
    )


def read_clocks(file: MappedFile, strings: Strings) -> tuple[Clock, ...]:
    """The table of clocks."""
    columns = {
        name: file.column(f"clocks/{name}", dtype, limit=MAX_TRACKS) for name, dtype in CLOCK_COLUMNS.items()
    }
    offset = columns["offset"]
    if (
        len({len(column) for column in columns.values()}) != 1
        or not len(offset)
        or np.any((offset <= -MAX_TIME) | (offset >= MAX_TIME))
    ):
        raise file.error("its table of clocks is damaged")
    return tuple(
        Clock(
            strings[name],
            offset,
            strings[method],
            None if residual == NO_RESIDUAL else residual,
        )
        for name, offset, method, residual in zip(
            *(columns[key].tolist() for key in CLOCK_COLUMNS), strict=True
        )
    )


def read_tracks(
    file: MappedFile, strings: Strings, clocks: int, processes: int, threads: int
) -> tuple[Track, ...]:
    """The tree of tracks; the numbers are the sizes of the tables it refers to."""
    columns = {
        name: file.column(f"tracks/{name}", dtype, limit=MAX_TRACKS) for name, dtype in TRACK_COLUMNS.items()
    }
    n = len(columns["uri"])
    if any(len(column) != n for column in columns.values()):
        raise file.error("its table of tracks is damaged")
    parent = columns["parent"]
    # A parent always comes before its children, which also rules out circles.
    if np.any(parent >= np.arange(n)) or np.any(columns["clock"] >= clocks):
        raise file.error("its table of tracks is damaged")
    uris = strings.get(columns["uri"].tolist())
    if len(set(uris)) != n:
        raise file.error("two of its tracks have the same URI")
    if _depth(parent) > MAX_DEPTH:
        raise file.error(f"its tracks are nested more than {MAX_DEPTH} deep")

    def optional(name: str, limit: int | None = None) -> list[int | None]:
        return [
            None if value < 0 or (limit is not None and value >= limit) else value
            for value in columns[name].tolist()
        ]

    return tuple(
        Track(index, *values)
        for index, values in enumerate(
            zip(
                uris,
                strings.get(columns["title"].tolist()),
                strings.get(columns["role"].tolist()),
                np.maximum(parent, -1).tolist(),
                optional("process", processes),
                optional("thread", threads),
                optional("device"),
                optional("context"),
                optional("stream"),
                optional("rank"),
                columns["clock"].tolist(),
                columns["sort_key"].tolist(),
                strict=True,
            )
        )
    )


def read_lanes(file: MappedFile, n_events: int, tracks: int) -> Lanes:
    """The directory of lanes, which covers all rows without a gap."""
    lanes = Lanes(
        **{name: file.column(f"lanes/{name}", dtype, limit=MAX_LANES) for name, dtype in LANE_COLUMNS.items()}
    )
    n = len(lanes.first)
    if any(len(column) != n for column in (lanes.track, lanes.depth, lanes.count)):
        raise file.error("its table of lanes is damaged")
    stops = lanes.first + lanes.count
    fits = (n == 0 and n_events == 0) or (
        n > 0
        and int(lanes.count.min()) > 0
        and int(lanes.count.max()) <= n_events
        and int(lanes.first[0]) == 0
        and bool(np.all(lanes.first[1:] == stops[:-1]))
        and int(stops[-1]) == n_events
        and bool(np.all(np.diff(lanes.track.astype(np.int64)) >= 0))
        and int(lanes.track[-1]) < tracks
        and bool(np.all(lanes.depth == np.arange(n) - np.searchsorted(lanes.track, lanes.track)))
    )
    if not fits:
        raise file.error("its table of lanes is damaged")
    return lanes


def read_counters(
    file: MappedFile, strings: Strings, tracks: Sequence[Track], clocks: Sequence[Clock]
) -> tuple[Counter, ...]:
    """Values over time, their columns mapped."""
    directory = {
        name: file.column(f"counters/{name}", dtype, limit=MAX_TRACKS)
        for name, dtype in COUNTER_COLUMNS.items()
    }
    times, values = file.column("counters/time", "<i8"), file.column("counters/value", "<f8")
    pyramid = [file.column(f"counters/{name}", "<f8") for name in ("min", "max", "mean")]
    counters = []
    level_first = 0
    for index, (track, name, unit, interpolation, first, count) in enumerate(
        zip(*(directory[key].tolist() for key in COUNTER_COLUMNS), strict=True)
    ):
        size = sum(pyramid_sizes(count)) if 0 <= count <= len(times) else -1
        if (
            track >= len(tracks)
            or interpolation >= len(INTERPOLATIONS)
            or size < 0
            or not 0 <= first <= first + count <= min(len(times), len(values))
            or level_first + size > min(len(column) for column in pyramid)
        ):
            raise file.error("its table of counters is damaged")
        low, high, mean = (column[level_first : level_first + size] for column in pyramid)
        run = slice(first, first + count)
        counters.append(
            Counter(
                index,
                track,
                strings[name],
                strings[unit],
                INTERPOLATIONS[interpolation],
                times[run],
                clocks[tracks[track].clock].offset_ns,
                values[run],
                (low, high, mean),
            )
        )
        level_first += size
    return tuple(counters)


def read_curves(file: MappedFile, groups: Mapping[int, LaneGroup]) -> dict[int, BusyCurve]:
    """How busy groups are over time, by track."""
    directory = {
        name: file.column(f"utilization/{name}", dtype, limit=MAX_TRACKS)
        for name, dtype in UTILIZATION_COLUMNS.items()
    }
    values = file.column("utilization/value", "<f4")
    curves = {}
    for track, _, _, level, origin, first, count in zip(
        *(directory[name].tolist() for name in UTILIZATION_COLUMNS), strict=True
    ):
        fits = (
            track in groups
            and 0 <= first <= first + count <= len(values)
            and 0 < count <= MAX_BINS
            and level < 63
            and abs(origin << level) <= 2 * MAX_TIME
        )
        if not fits:
            raise file.error("its table of utilization is damaged")
        curves[track] = BusyCurve(level, origin, values[first : first + count])
    return curves


def _depth(parent: Int64Array) -> int:
    """How deep the tree of tracks is, counted up to one more than is allowed; parents come first."""
    depth = 0
    level = np.arange(len(parent))
    while len(level) and depth <= MAX_DEPTH:
        level = parent[level]
        level = level[level >= 0]
        depth += 1
    return depth
