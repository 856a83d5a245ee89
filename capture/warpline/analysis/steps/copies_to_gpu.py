"""Finds when the host copied data to a GPU: a phase of training steps that no framework records."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.selection import View
from warpline.analysis.structure.launches import launches_from
from warpline.analysis.structure.overlap import Intervals
from warpline.analysis.structure.steps import phase_unions
from warpline.model.intervals import merge_intervals, subtract_intervals
from warpline.model.kinds import COPY_KINDS
from warpline.model.links import LAUNCH

_TO_DEVICE = next(code for code, name in COPY_KINDS.items() if name == "host to device")


def copies_to_gpu(view: View, phases: tuple[str, ...], process: int, rank: int) -> Intervals:
    """The union of a process and rank's (−1: all) calls that copy from host to device, outside phases.

    A call from pinned memory only queues the copy; from pageable memory it lasts until the data is read.
    """
    capture = view.capture
    none = np.empty(0, np.int64)
    if LAUNCH not in capture.links.kinds or not view.has("memcpy"):
        return none, none
    tracks = frozenset(
        track.index
        for track in capture.tracks
        if track.device is None
        and (process < 0 or track.process == process)
        and (rank < 0 or track.rank is None or track.rank == rank)
    )
    launches = launches_from(view, tracks)
    table = capture.kinds["memcpy"]
    is_copy = capture.events.kind[launches.work] == table.code
    launches = launches.take(is_copy)
    direction = view.column("memcpy", "copy_kind", table.indices_of(launches.work))
    calls = launches.take(np.ma.filled(direction, 0) == _TO_DEVICE)
    merged = merge_intervals(calls.call_start, calls.call_stop)
    for union in phase_unions(view, [(phase,) for phase in phases], process, rank):
        merged = subtract_intervals(*merged, *union)
    return merged
