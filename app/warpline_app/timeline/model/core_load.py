"""Two measures of a core's load: the recorded program's share, and the whole system's.

The program's share is the time of its slices (`cpu_slice`). The system's load covers every program and the kernel; it
is a counter on the core's track.
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
"""Maximum number of cores summed for a figure."""


def is_system_load(capture: Capture, counter: Counter) -> bool:
    """Whether a counter is the whole system's load on one core."""
    return (
        capture.tracks[counter.track].role == "core"
        and counter.name == CORE_LOAD
        and counter.unit in {"ratio", "%"}
    )


def counter_title(capture: Capture, counter: Counter) -> str:
    """A counter's title without its owner, which its row or list shows already."""
    if is_system_load(capture, counter):
        return tr("System load", "timeline")
    return translated(counter.name or capture.tracks[counter.track].title)


class CoreShares(NamedTuple):
    """Busy shares 0–1 of one or more cores; None where not recorded."""

    program: float | None
    system: float | None


def shares_of_cores(capture: Capture, row: TimelineRow, start_ns: int, stop_ns: int) -> CoreShares:
    """The shares of a row of cores that the recorded program and the whole system used in a range."""
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
