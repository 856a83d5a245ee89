"""Two numbers of a core that must not be taken for one another: the recorded program's share, and the whole system's.

The program's share is the time of its slices (`cpu_slice`). The system's load, of every program and the kernel, is a
counter on the core's own track.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warpline.i18n import tr, translated
from warpline.model.track_titles import CORE_LOAD

if TYPE_CHECKING:
    from warpline.storage import Capture
    from warpline.storage.columns.counters import Counter
    from warpline_app.timeline.model.row import TimelineRow

MAX_CORES = 512
"""So many are summed for a figure."""


def is_system_load(capture: Capture, counter: Counter) -> bool:
    """Whether a counter is the load that the whole system puts on one core."""
    return (
        capture.tracks[counter.track].role == "core"
        and counter.name == CORE_LOAD
        and counter.unit in {"ratio", "%"}
    )


def counter_title(capture: Capture, counter: Counter) -> str:
    """What a counter is called where its row or list already says whose it is."""
    if is_system_load(capture, counter):
        return tr("System load", "timeline")
    return translated(counter.name or capture.tracks[counter.track].title)


class CoreShares(NamedTuple):
    """Busy shares 0–1 of one core or of several; None where not recorded."""

    program: float | None
    system: float | None


def shares_of_cores(capture: Capture, row: TimelineRow, start_ns: int, stop_ns: int) -> CoreShares:
    """How much of a row of cores the recorded program took in a range, and how much the whole system."""
    program = None
    if "cpu_slice" in capture.kinds:
        busy = sum(capture.busy_ns(lane, start_ns, stop_ns) for lane in row.lanes[:MAX_CORES])
        program = busy / max(1, stop_ns - start_ns) / max(1, min(row.cores, MAX_CORES))
    tracks = [row.track] if row.role == "core" else capture.children(row.track)[:MAX_CORES]
    return CoreShares(program, _system_load(capture, tracks, start_ns, stop_ns))


def _system_load(capture: Capture, tracks: Iterable[int], start_ns: int, stop_ns: int) -> float | None:
    loads: list[float] = []
    for track in tracks:
        for counter in capture.counters_of_tracks.get(track, ()):
            if is_system_load(capture, counter):
                value = counter.query(start_ns, max(stop_ns, start_ns + 1), 1)[2][0]
                known = value if np.isfinite(value) else counter.value_at(start_ns)
                if known is not None:
                    loads.append(float(known) / (100 if counter.unit == "%" else 1))
    return sum(loads) / len(loads) if loads else None
