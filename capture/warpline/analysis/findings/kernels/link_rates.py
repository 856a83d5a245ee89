"""What the links of a GPU carry while it communicates and computes nothing, by its own counters (GPM)."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.kernels.gpu_counters import counter_of
from warpline.analysis.hardware.devices import device_of
from warpline.i18n import english
from warpline.storage import Counter

_SAMPLES = 5
_WHOLE = 0.9
"""A value of GPM is the mean since the previous one: it counts if so much of that time is communication."""
_BUSY = 0.6
"""Share of the peak from which the links are the limit."""
_COUNTERS = (re.compile(r"^NVLink sent$"), re.compile(r"^NVLink received$"))


def measured_links(case: Case, pieces: npt.NDArray[np.int64]) -> tuple[str, bool]:
    """A sentence about NVLink during some pieces of communication, and whether it is the limit; empty if unknown.

    Only for models whose peak is known: a rate alone does not say whether the links are busy.
    """
    if case.gpu is None or not len(pieces):
        return "", False
    gpu = case.gpu.gpu
    model, _reason = device_of(case.view.capture, gpu.device, gpu.rank)
    counters = [counter for pattern in _COUNTERS if (counter := counter_of(case, pattern)) is not None]
    means = [_mean_during(case, counter, pieces) for counter in counters]
    if model is None or len(means) < len(_COUNTERS) or not all(means):
        return "", False
    rate = sum(means) / 1e9
    sentence = english(
        "Measured meanwhile: NVLink {rate:,.0f} GB/s, {percent:.0f} % of the peak of {model}.",
        rate=rate, percent=100 * rate / model.link, model=model.name,
    )  # fmt: skip
    return sentence, rate >= _BUSY * model.link


def _mean_during(case: Case, counter: Counter, pieces: npt.NDArray[np.int64]) -> float:
    """Mean of the values whose time since the previous one lies in the pieces; 0 with too few of them."""
    starts, stops = case.pieces.start[pieces], case.pieces.stop[pieces]
    times = np.asarray(counter.times)
    sums = np.concatenate([[0], np.cumsum(stops - starts)])
    at = np.searchsorted(starts, times, "right")
    last = np.maximum(at - 1, 0)
    covered = sums[at] - np.where(at > 0, np.maximum(stops[last] - times, 0), 0)
    is_inside = np.diff(covered) >= _WHOLE * np.diff(times)
    values = np.asarray(counter.values)[1:][is_inside & ~np.isnan(counter.values[1:])]
    return float(values.mean()) if len(values) >= _SAMPLES else 0.0
