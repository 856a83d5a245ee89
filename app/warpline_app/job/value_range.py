"""The value range of a map's colours: where most values lie, unaffected by outliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline_app.job.color_scale import MISSING, STEPS

_SAMPLE = 200_000
_FEW = 16
"""With fewer values, none counts as an outlier."""
_BELOW, _ABOVE = 1.5, 3.0
"""Interquartile ranges that colours extend beyond the quartiles; values farther out are outliers (Tukey's fences)."""
_LEAST_SPAN = 0.1
"""Minimum span as a share of the median, so that near-equal values get similar colours."""


@dataclass(frozen=True)
class ValueRange:
    """Colours span ``low`` to ``high``; ``least`` and ``most`` are the actual extremes."""

    low: float
    high: float
    least: float
    most: float

    @property
    def is_cut_above(self) -> bool:
        """Whether values lie above ``high``."""
        return self.most > self.high

    @property
    def is_cut_below(self) -> bool:
        """Whether values lie below ``low``."""
        return self.least < self.low

    def shades(self, values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
        """Colour index of each value, `MISSING` for −inf and NaN; uint8 of the same shape."""
        span = self.high - self.low
        factor = (STEPS - 1) / span if span > 0 else 0.0
        with np.errstate(invalid="ignore"):
            scaled = (values - np.float32(self.low)) * np.float32(factor)
            np.clip(scaled, 0, STEPS - 1, out=scaled)
            is_gone = ~np.isfinite(values)
            scaled[is_gone] = MISSING
        return scaled.astype(np.uint8)


def value_range(cells: npt.NDArray[Any], *, is_full: bool = False) -> ValueRange | None:
    """The range of a map's cells, in which NaN marks a missing value; None if no cell has one.

    Quartiles come from at most 200,000 evenly spaced cells. ``is_full`` spans the least to the largest value.
    """
    flat = cells.reshape(-1)
    with np.errstate(invalid="ignore"):
        least, most = np.fmin.reduce(flat, initial=np.nan), np.fmax.reduce(flat, initial=np.nan)
    if not np.isfinite(least):
        return None
    least, most = float(least), float(most)
    if is_full:
        return ValueRange(least, most, least, most)
    sample = flat[:: max(1, len(flat) // _SAMPLE)]
    sample = sample[np.isfinite(sample)]
    if len(sample) < _FEW:
        return ValueRange(least, max(most, least + _LEAST_SPAN * abs(least)), least, most)
    first, median, third = (
        np.quantile(sample, (0.25, 0.5, 0.75)).tolist() if len(sample) else (least, least, most)
    )
    between = third - first
    low, high = first - _BELOW * between, third + _ABOVE * between
    if between == 0 and median == 0:
        # Nearly all values are 0: scale by the positive ones.
        positive = sample[sample > 0]
        low, high = 0.0, float(np.quantile(positive, 0.9)) if len(positive) else most
    low, high = max(low, least), min(high, most)
    return ValueRange(low, max(high, low + _LEAST_SPAN * abs(median)), least, most)
