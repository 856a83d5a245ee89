"""Counters of the target GPU while it computes."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.storage import Counter


def counter_of(case: Case, pattern: re.Pattern[str]) -> Counter | None:
    """The first counter with a matching name that belongs to the GPU or to no GPU in particular."""
    capture = case.view.capture
    gpu = case.gpu.gpu if case.gpu is not None else None
    for counter in capture.counters:
        track = capture.tracks[counter.track]
        is_own = gpu is not None and track.device in (None, gpu.device) and track.rank in (None, gpu.rank)
        if is_own and pattern.search(counter.name) and len(counter.values):
            return counter
    return None


def while_busy(case: Case, counter: Counter, busy: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The counter's values that were sampled while the GPU computed."""
    start, stop = case.pieces.start[busy], case.pieces.stop[busy]
    if not len(start):
        return np.empty(0)
    times = np.asarray(counter.times)
    at = np.searchsorted(start, times, "right") - 1
    inside = (at >= 0) & (times < stop[np.maximum(at, 0)]) & ~np.isnan(counter.values)
    values: npt.NDArray[np.float64] = np.asarray(counter.values)[inside]
    return values
