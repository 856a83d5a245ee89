"""Which counters a trace gets, and under which names: there, a process has one counter of a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.interchange.export.chrome_json.rows import Rows
from warpline.interchange.export.selection import ExportSelection
from warpline.model.track_titles import CORE_LOAD, CORE_LOAD_OF

if TYPE_CHECKING:
    from warpline.storage import Capture, Counter

_MEMORY_COUNTERS = ("Allocated memory", "Reserved memory")
"""Counters that memory events repeat, and that reading the trace makes of them again."""


def named_counters(capture: Capture, selection: ExportSelection, rows: Rows) -> dict[int, tuple[int, str]]:
    """Process and name in the trace by the number of each counter that is written."""
    found: dict[int, tuple[int, str]] = {}
    taken: set[tuple[int, str]] = set()
    for counter in capture.counters:
        if not selection.has_track(counter.track) or _is_repeated(capture, counter):
            continue
        track = capture.tracks[counter.track]
        # Of the program's share and the system's load, which is a core's, the name says which it is.
        is_load = track.role == "core" and counter.name == CORE_LOAD
        name = CORE_LOAD_OF.format(core=track.title or track.uri) if is_load else counter.name
        place = (rows.counter_pid(track), name)
        if place in taken:
            place = (place[0], f"{track.title} {counter.name}")
        while place in taken:
            place = (place[0], f"{place[1]} ({counter.index})")
        taken.add(place)
        found[counter.index] = place
    return found


def _is_repeated(capture: Capture, counter: Counter) -> bool:
    memory = capture.kinds.get("memory")
    return (
        memory is not None
        and "total_allocated_bytes" in memory.attributes
        and counter.unit == "bytes"
        and counter.name.startswith(_MEMORY_COUNTERS)
    )
