"""Reads what a capture may leave out: links, stacks, counters, utilization, the index of names.

A group is either complete or absent. Every function checks what it reads and raises CaptureFormatError for
impossible values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from warpline.model import Clock, Track
from warpline.storage.columns.column_source import CaptureFile
from warpline.storage.columns.counters import Counter, pyramid_sizes
from warpline.storage.columns.events import Lanes
from warpline.storage.columns.groups import LaneGroup
from warpline.storage.columns.links import Links
from warpline.storage.columns.schema import (
    COUNTER_COLUMNS,
    INTERPOLATIONS,
    LINK_COLUMNS,
    LINK_INDEX_COLUMN,
    MAX_TRACKS,
    NAME_INDEX_COLUMNS,
    STACK_COLUMNS,
    UTILIZATION_COLUMNS,
)
from warpline.storage.columns.strings import Strings
from warpline.storage.index.name_pieces import fits
from warpline.storage.index.utilization import MAX_BINS, BusyCurve
from warpline.storage.read.read_meta import MAX_TIME

Array = npt.NDArray[Any]

MAX_LINK_KINDS = 256


def read_links(file: CaptureFile, n_events: int) -> Links:
    """Links between events."""
    dtypes = {**LINK_COLUMNS, **LINK_INDEX_COLUMN}
    if not file.has("links"):
        return Links(
            **{name: np.empty(0, dtype) for name, dtype in dtypes.items()}, kinds=(), n_events=n_events
        )
    count = file.length("links/from_row")
    columns = {name: file.column(f"links/{name}", dtype, count=count) for name, dtype in dtypes.items()}
    try:
        names = orjson.loads(str(file.attribute("links", "kinds")))
        kinds = tuple(str(name) for name in names)[:MAX_LINK_KINDS]
    except (ValueError, TypeError) as error:
        raise file.error("its names of links are damaged") from error
    return Links(**columns, kinds=kinds, n_events=n_events)


def read_stacks(file: CaptureFile) -> tuple[Array, Array]:
    """The trie of stacks: the frame and the parent of each stack."""
    if not file.has("stacks"):
        return np.empty(0, np.uint32), np.empty(0, np.uint32)
    frame, parent = (file.column(f"stacks/{name}", dtype) for name, dtype in STACK_COLUMNS.items())
    if len(frame) != len(parent):
        raise file.error("its table of stacks is damaged")
    return frame, parent


def read_name_index(file: CaptureFile, lanes: Lanes, n_events: int) -> dict[str, Array] | None:
    """The columns of the index of names; None if the file has no such index."""
    if not file.has("index/names"):
        return None
    index = {name: file.column(f"index/names/{name}", dtype) for name, dtype in NAME_INDEX_COLUMNS.items()}
    if not fits(index, lanes, n_events):
        raise file.error("its index of names is damaged")
    return index


def _directory(file: CaptureFile, group: str, columns: Mapping[str, str]) -> dict[str, Array]:
    """A small table; checks that its columns have equal length."""
    directory = {
        name: file.column(f"{group}/{name}", dtype, limit=MAX_TRACKS) for name, dtype in columns.items()
    }
    if len({len(column) for column in directory.values()}) != 1:
        raise file.error(f"its table of {group} is damaged")
    return directory


def read_counters(
    file: CaptureFile, strings: Strings, tracks: Sequence[Track], clocks: Sequence[Clock]
) -> tuple[Counter, ...]:
    """The counters, with mapped columns. A counter with an unknown interpolation holds each value until the next."""
    if not file.has("counters"):
        return ()
    directory = _directory(file, "counters", COUNTER_COLUMNS)
    times, values = file.column("counters/time", "<i8"), file.column("counters/value", "<f8")
    pyramid = [file.column(f"counters/{name}", "<f8") for name in ("min", "max", "mean")]
    # Shared: a capture may have tens of thousands of counters with few samples.
    no_levels = pyramid[0][:0], pyramid[1][:0], pyramid[2][:0]
    counters = []
    level_first = 0
    for index, (track, name, unit, interpolation, first, count) in enumerate(
        zip(*(directory[key].tolist() for key in COUNTER_COLUMNS), strict=True)
    ):
        size = sum(pyramid_sizes(count)) if 0 <= count <= len(times) else -1
        if (
            track >= len(tracks)
            or size < 0
            or not 0 <= first <= first + count <= min(len(times), len(values))
            or level_first + size > min(len(column) for column in pyramid)
        ):
            raise file.error("its table of counters is damaged")
        levels = no_levels
        if size:
            low, high, mean = (column[level_first : level_first + size] for column in pyramid)
            levels = low, high, mean
        run = slice(first, first + count)
        counters.append(
            Counter(
                index=index,
                track=track,
                name=strings[name],
                unit=strings[unit],
                interpolation=INTERPOLATIONS[interpolation if interpolation < len(INTERPOLATIONS) else 0],
                recorded_times=times[run],
                offset_ns=clocks[tracks[track].clock].offset_ns,
                values=values[run],
                pyramid=levels,
            )
        )
        level_first += size
    return tuple(counters)


def read_curves(file: CaptureFile, groups: Mapping[int, LaneGroup]) -> dict[int, BusyCurve]:
    """Utilization over time by track; curves of unknown groups are ignored."""
    if not file.has("utilization"):
        return {}
    directory = _directory(file, "utilization", UTILIZATION_COLUMNS)
    values = file.column("utilization/value", "<f4")
    curves = {}
    for track, _, _, level, origin, first, count in zip(
        *(directory[name].tolist() for name in UTILIZATION_COLUMNS), strict=True
    ):
        if track not in groups:
            continue
        fits = (
            0 <= first <= first + count <= len(values)
            and 0 < count <= MAX_BINS
            and level < 63
            and abs(origin << level) <= 2 * MAX_TIME
        )
        if not fits:
            raise file.error("its table of utilization is damaged")
        curves[track] = BusyCurve(level, origin, values[first : first + count])
    return curves
