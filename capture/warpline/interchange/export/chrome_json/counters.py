"""Chooses the counters of a trace and their names, which are unique within a process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.interchange.export.chrome_json.rows import Rows
from warpline.interchange.export.selection import ExportSelection
from warpline.model.track_titles import CORE_LOAD, CORE_LOAD_OF

if TYPE_CHECKING:
    from warpline.storage import Capture, Counter

_MEMORY_COUNTERS = ("Allocated memory", "Reserved memory")
"""Not written, because importing the trace derives them from its memory events."""


def named_counters(capture: Capture, selection: ExportSelection, rows: Rows) -> dict[int, tuple[int, str]]:
    """Process and name in the trace for each counter to write, by index."""
    written: dict[int, tuple[int, str]] = {}
    used: set[tuple[int, str]] = set()
    for counter in capture.counters:
        if not selection.has_track(counter.track) or _is_repeated(capture, counter):
            continue
        track = capture.tracks[counter.track]
        # The load of a core needs a name that differs from the program's share.
        is_load = track.role == "core" and counter.name == CORE_LOAD
        name = CORE_LOAD_OF.format(core=track.title or track.uri) if is_load else counter.name
        place = (rows.counter_pid(track), name)
        if place in used:
            place = (place[0], f"{track.title} {counter.name}")
        while place in used:
            place = (place[0], f"{place[1]} ({counter.index})")
        used.add(place)
        written[counter.index] = place
    return written


def _is_repeated(capture: Capture, counter: Counter) -> bool:
    memory = capture.kinds.get("memory")
    return (
        memory is not None
        and "total_allocated_bytes" in memory.attributes
        and counter.unit == "bytes"
        and counter.name.startswith(_MEMORY_COUNTERS)
    )
