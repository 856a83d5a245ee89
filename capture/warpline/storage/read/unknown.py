"""Lists the parts of a capture that this Warpline does not know: a newer version or another program wrote them.

Readers ignore these parts. They are listed as ``group/dataset``, ``group/dataset@attribute`` and ``meta.key``. Only the
values of small tables are checked, not those of event columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from warpline.i18n import tr
from warpline.storage.columns.attribute_types import ATTRIBUTE_TYPES
from warpline.storage.columns.column_source import CaptureFile
from warpline.storage.columns.schema import (
    CLOCK_COLUMNS,
    COUNTER_COLUMNS,
    COUNTER_SAMPLES,
    EVENT_COLUMNS,
    INTERPOLATIONS,
    LANE_COLUMNS,
    LINK_COLUMNS,
    LINK_INDEX_COLUMN,
    LOD_COLUMNS,
    LOD_DIRECTORY,
    LOD_SKIPS,
    MINOR_VERSION,
    NAME_INDEX_COLUMNS,
    STACK_COLUMNS,
    STRING_COLUMNS,
    TRACK_ATTRIBUTE_COLUMNS,
    TRACK_COLUMNS,
    UTILIZATION_COLUMNS,
    UTILIZATION_VALUES,
    VERSION,
)

_NAMED_IN_NOTICE = 6

_ANY = "*"
"""Stands for any name of a kind or an attribute."""

_DESCRIBED = frozenset(("type", "title", "unit", "enum"))

_MEMBERS: Mapping[str, frozenset[str]] = {
    "": frozenset(
        ("strings", "events", "lanes", "tracks", "clocks", "kinds", "links", "stacks", "counters", "utilization",
         "lod", "index", "meta")
    ),
    "strings": frozenset(STRING_COLUMNS),
    "events": frozenset(EVENT_COLUMNS),
    "lanes": frozenset(LANE_COLUMNS),
    "tracks": frozenset((*TRACK_COLUMNS, "attributes")),
    "tracks/attributes": frozenset((_ANY,)),
    "tracks/attributes/*": frozenset(TRACK_ATTRIBUTE_COLUMNS),
    "clocks": frozenset(CLOCK_COLUMNS),
    "kinds": frozenset((_ANY,)),
    "kinds/*": frozenset(("row", "attributes", "valid")),
    "kinds/*/attributes": frozenset((_ANY,)),
    "kinds/*/valid": frozenset((_ANY,)),
    "links": frozenset((*LINK_COLUMNS, *LINK_INDEX_COLUMN)),
    "stacks": frozenset(STACK_COLUMNS),
    "counters": frozenset((*COUNTER_COLUMNS, *COUNTER_SAMPLES)),
    "utilization": frozenset((*UTILIZATION_COLUMNS, *UTILIZATION_VALUES)),
    "lod": frozenset((*LOD_COLUMNS, *LOD_SKIPS, "levels")),
    "lod/levels": frozenset(LOD_DIRECTORY),
    "index": frozenset(("names",)),
    "index/names": frozenset(NAME_INDEX_COLUMNS),
}  # fmt: skip
"""Known names in each group; a path without an entry is a dataset."""

_ATTRIBUTES: Mapping[str, frozenset[str]] = {
    "": frozenset(("format", "version", "minor_version", "uuid", "writer")),
    "links": frozenset(("kinds",)),
    "kinds/*": frozenset(("code", "title", "category", "color")),
    "kinds/*/attributes/*": _DESCRIBED,
    "tracks/attributes/*/value": _DESCRIBED,
}


def find_unknown(file: CaptureFile, meta_keys: Sequence[str]) -> Iterator[str]:
    """Paths of all unknown parts of a file; ``meta_keys`` are the unknown keys of its description.

    Raises CaptureFormatError when a table is damaged.
    """
    yield from _walk(file, "", "")
    yield from (f"meta.{key}" for key in meta_keys)
    if file.has("counters"):
        codes = np.unique(file.column("counters/interpolation", COUNTER_COLUMNS["interpolation"])).tolist()
        yield from (f"counters/interpolation={code}" for code in codes if code >= len(INTERPOLATIONS))


def newer_notice(major: int, minor: int, writer: str, unknown: Sequence[str]) -> str:
    """The notice about a capture whose minor version is higher than this Warpline writes."""
    if not unknown:
        return tr(
            "written by a newer program ({writer}) in format {found}; this Warpline knows {known}, which is all of it",
            writer=writer or "?",
            found=f"{major}.{minor}",
            known=f"{VERSION}.{MINOR_VERSION}",
        )
    more = ", …" if len(unknown) > _NAMED_IN_NOTICE else ""
    return tr(
        "written by a newer program ({writer}) in format {found}; this Warpline knows {known} and leaves out: "
        "{unknown}",
        writer=writer or "?",
        found=f"{major}.{minor}",
        known=f"{VERSION}.{MINOR_VERSION}",
        unknown=", ".join(unknown[:_NAMED_IN_NOTICE]) + more,
    )


def _walk(file: CaptureFile, path: str, pattern: str) -> Iterator[str]:
    """Unknown parts below a known group or dataset; ``pattern`` is its path with `_ANY` in place of names."""
    attributes = _ATTRIBUTES.get(pattern, frozenset())
    yield from (f"{path}@{name}" for name in file.attribute_names(path) if name not in attributes)
    if attributes is _DESCRIBED and file.text(path, "type", "") not in ATTRIBUTE_TYPES:
        yield path
    members = _MEMBERS.get(pattern)
    if members is None:
        return
    for name in file.names(path):
        below = f"{path}/{name}" if path else name
        if _ANY in members:
            yield from _walk(file, below, f"{pattern}/{_ANY}")
        elif name in members:
            yield from _walk(file, below, f"{pattern}/{name}" if pattern else name)
        else:
            yield below
