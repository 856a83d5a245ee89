"""Whether the GPU's memory has room for larger batches."""

from __future__ import annotations

import numpy as np

from warpline.analysis.findings.case import Case
from warpline.analysis.hardware.devices import memory_of
from warpline.i18n import english, joined

_USED = "Memory used"
_ROOM = 0.5
"""A batch twice as large fits while at most this share of the memory is used."""


def with_room(case: Case, remedy: str) -> str:
    """A remedy that asks for larger batches, with how much memory is used where that was recorded and leaves room."""
    gpu = case.gpu.gpu if case.gpu is not None else None
    total = memory_of(case.view.capture, gpu.device, gpu.rank) if gpu is not None else 0
    if gpu is None or not total:
        return remedy
    tracks = case.view.capture.tracks
    used = 0.0
    for counter in case.view.capture.counters:
        track = tracks[counter.track]
        if (
            counter.name == _USED
            and (track.device, track.rank) == (gpu.device, gpu.rank)
            and len(counter.values)
        ):
            used = max(used, float(np.nanmax(np.asarray(counter.values, np.float64))))
    if not 0 < used <= _ROOM * total:
        return remedy
    room = english(
        "A larger batch fits: at most {percent:.0f} % of the memory is used.", percent=100 * used / total
    )
    return joined(" ", [remedy, room])
