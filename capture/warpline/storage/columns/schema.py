"""Names and types of everything in a capture file; `docs/format.md` is the specification in words."""

from __future__ import annotations

import numpy as np

FORMAT = "warpline-capture"
VERSION = 1
"""Major version: a reader of another one refuses the file, or adapts it (`read/version_0.py`)."""

MINOR_VERSION = 1
"""A file of a higher minor version may hold more than this reader knows, but what it knows is unchanged."""

READABLE_VERSIONS = (0, VERSION)

NO_ROW = -1
"""End of a link that lies outside the file."""

NO_STACK = 0xFFFFFFFF
"""No stack, or a stack's root."""

ALIGNMENT = 4096
SKIP = 1024
"""Every SKIP-th start of a sorted run is in the skip index."""

COUNTER_BLOCK = 16
"""Samples of a counter per entry of its first pyramid level, and entries per entry of the next."""

MAX_KINDS = 256
MAX_TRACKS = 1 << 20
MAX_DEPTH = 64
"""Maximum nesting depth of tracks."""

MAX_TRACK_VALUES = 1 << 20
"""Maximum number of attribute values of all tracks together."""

MAX_ATTRIBUTES = 1024
"""Maximum number of attributes per kind of events, and of attribute names of tracks."""

MAX_LEVEL = 30
"""Coarsest bin is 2**MAX_LEVEL ns, so that the time in a bin beside its longest event fits 32 bits."""

EVENT_COLUMNS = {"start": "<i8", "duration": "<i8", "name": "<u4", "kind": "|u1", "flags": "|u1"}
KIND_ROW_TYPES = ("<u4", "<i8")
"""Types of the rows of a kind: the first one that holds the number of events; readers take either."""

LANE_COLUMNS = {"track": "<u4", "depth": "<u4", "first": "<i8", "count": "<i8"}
TRACK_COLUMNS = {
    "uri": "<u4",
    "title": "<u4",
    "role": "<u4",
    "parent": "<i4",
    "process": "<i4",
    "thread": "<i4",
    "device": "<i4",
    "context": "<i8",
    "stream": "<i8",
    "rank": "<i4",
    "clock": "<u4",
    "sort_key": "<i8",
}
TRACK_DEFAULTS = {name: -1 for name in TRACK_COLUMNS if name != "uri"} | {
    "title": 0,
    "role": 0,
    "clock": 0,
    "sort_key": 0,
}
"""What a column of tracks holds that a file leaves out; a title is then the end of the URI, a role ``other``."""

CLOCK_COLUMNS = {"name": "<u4", "offset": "<i8", "method": "<u4", "residual": "<i8"}
LINK_COLUMNS = {"from_row": "<i8", "to_row": "<i8", "kind": "|u1"}
STACK_COLUMNS = {"frame": "<u4", "parent": "<u4"}
COUNTER_COLUMNS = {
    "track": "<u4",
    "name": "<u4",
    "unit": "<u4",
    "interpolation": "|u1",
    "first": "<i8",
    "count": "<i8",
}
UTILIZATION_COLUMNS = {
    "track": "<u4",
    "together": "|u1",
    "capacity": "<u4",
    "level": "|u1",
    "origin": "<i8",
    "first": "<i8",
    "count": "<i8",
}
LOD_DIRECTORY = {"lane": "<u4", "level": "|u1", "first": "<i8", "count": "<i8"}
LOD_COLUMNS = {"start": "<i8", "longest": "<u8", "rest": "<u4", "row": "<u4"}

LINK_INDEX_COLUMN = {"by_to": "<i8"}
COUNTER_SAMPLES = {"time": "<i8", "value": "<f8", "min": "<f8", "max": "<f8", "mean": "<f8"}
UTILIZATION_VALUES = {"value": "<f4"}
LOD_SKIPS = {"skip_events": "<i8", "skip_entries": "<i8"}
STRING_COLUMNS = {"offset": "<u8", "data": "|u1"}
TRACK_ATTRIBUTE_COLUMNS = {"track": "<u4", "value": ""}
"""Columns of one attribute; the type of ``value`` is stored beside it."""

NAME_INDEX_COLUMNS = {
    "piece_lane": "<i8",
    "piece_base": "<i8",
    "piece_first": "<i8",
    "name": "<u4",
    "first": "<i8",
    "row": "<u4",
    "busy": "<i8",
}

NO_RESIDUAL = np.iinfo(np.int64).min
"""The residual of a clock whose residual is unknown."""

# `lod/longest` packs duration << 16 | flags << 8 | kind.
DURATION_BITS = 48
MAX_PACKED_DURATION = (1 << DURATION_BITS) - 1

INTERPOLATIONS = ("step", "linear")
