"""Reads the tables of a capture and checks their types, sizes, positions, order and bounds.

Every function raises CaptureFormatError for impossible values.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from warpline.model import Clock, Track
from warpline.model.tracks import NO_ATTRIBUTES
from warpline.storage.columns.column_source import CaptureFile
from warpline.storage.columns.events import Events, Lanes
from warpline.storage.columns.schema import (
    CLOCK_COLUMNS,
    EVENT_COLUMNS,
    LANE_COLUMNS,
    MAX_DEPTH,
    MAX_TRACKS,
    NO_RESIDUAL,
    TRACK_COLUMNS,
    TRACK_DEFAULTS,
)
from warpline.storage.columns.strings import Strings
from warpline.storage.read.read_attributes import read_track_attributes
from warpline.storage.read.read_meta import MAX_TIME, Description, read_description

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]

MAX_META_BYTES = 64 << 20
MAX_LANES = 1 << 22


def read_uuid(file: CaptureFile) -> str:
    """The capture's UUID. Settings and cache files are named after it, so anything else, such as a path, is refused."""
    try:
        return str(UUID(str(file.attribute("", "uuid"))))
    except ValueError as error:
        raise file.error("its UUID is damaged") from error


def read_meta(file: CaptureFile) -> Description:
    """The description."""
    try:
        return read_description(file.column("meta", "|u1", limit=MAX_META_BYTES).tobytes())
    except (ValueError, OverflowError, RecursionError) as error:
        raise file.error(f"its description is damaged ({error})") from error


def read_events(file: CaptureFile) -> Events:
    """The columns of events."""
    n = file.length("events/start")
    return Events(
        **{name: file.column(f"events/{name}", dtype, count=n) for name, dtype in EVENT_COLUMNS.items()}
    )


def read_clocks(file: CaptureFile, strings: Strings) -> tuple[Clock, ...]:
    """The table of clocks; a single clock without an offset if the file has no table."""
    if not file.has("clocks"):
        return (Clock("capture"),)
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
    file: CaptureFile, strings: Strings, clocks: int, processes: int, threads: int
) -> tuple[Track, ...]:
    """The tree of tracks with their attributes. The numbers are the sizes of the tables that tracks refer to."""
    uri = file.column("tracks/uri", TRACK_COLUMNS["uri"], limit=MAX_TRACKS)
    n = len(uri)
    columns = {
        name: file.column(f"tracks/{name}", TRACK_COLUMNS[name], limit=MAX_TRACKS)
        if file.has(f"tracks/{name}")
        else np.full(n, default, TRACK_COLUMNS[name])
        for name, default in TRACK_DEFAULTS.items()
    }
    if any(len(column) != n for column in columns.values()):
        raise file.error("its table of tracks is damaged")
    parent = columns["parent"]
    # A parent always comes before its children, which also rules out circles.
    if np.any(parent >= np.arange(n)) or np.any(columns["clock"] >= clocks):
        raise file.error("its table of tracks is damaged")
    uris = strings.get(uri.tolist())
    if len(set(uris)) != n:
        raise file.error("two of its tracks have the same URI")
    if _depth(parent) > MAX_DEPTH:
        raise file.error(f"its tracks are nested more than {MAX_DEPTH} deep")

    def optional(name: str, limit: int | None = None) -> list[int | None]:
        return [
            None if value < 0 or (limit is not None and value >= limit) else value
            for value in columns[name].tolist()
        ]

    def texts(name: str, default: Iterable[str]) -> Iterable[str]:
        return strings.get(columns[name].tolist()) if file.has(f"tracks/{name}") else default

    attributes = read_track_attributes(file, strings, n)
    fields: dict[str, Iterable[Any]] = {
        "uri": uris,
        "title": texts("title", (uri.rpartition("/")[2] for uri in uris)),
        "role": texts("role", itertools.repeat("other", n)),
        "parent": np.maximum(parent, -1).tolist(),
        "process": optional("process", processes),
        "thread": optional("thread", threads),
        "device": optional("device"),
        "context": optional("context"),
        "stream": optional("stream"),
        "rank": optional("rank"),
        "clock": columns["clock"].tolist(),
        "sort_key": columns["sort_key"].tolist(),
        "attributes": (attributes.get(index, NO_ATTRIBUTES) for index in range(n)),
    }
    return tuple(
        Track(index=index, **dict(zip(fields, values, strict=True)))
        for index, values in enumerate(zip(*fields.values(), strict=True))
    )


def read_lanes(file: CaptureFile, n_events: int, tracks: int) -> Lanes:
    """The table of lanes, which together cover all rows without a gap."""
    # Copied: compiled loops follow these numbers, and somebody could write to the file after the check.
    lanes = Lanes(
        **{
            name: np.array(file.column(f"lanes/{name}", dtype, limit=MAX_LANES))
            for name, dtype in LANE_COLUMNS.items()
        }
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


def _depth(parent: Int64Array) -> int:
    """The depth of the tree of tracks, counted no further than one past the limit; parents come first."""
    depth = 0
    level = np.arange(len(parent))
    while len(level) and depth <= MAX_DEPTH:
        level = parent[level]
        level = level[level >= 0]
        depth += 1
    return depth
