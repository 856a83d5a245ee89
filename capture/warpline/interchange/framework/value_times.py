"""Times of profiles that give their values in a unit of their own, which need not be time."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from warpline.interchange.framework.columns import MAX_TIME_NS, Int64Array

NS_PER: Mapping[str, int] = MappingProxyType(
    {"seconds": 1_000_000_000, "milliseconds": 1_000_000, "microseconds": 1_000, "nanoseconds": 1}
)
"""The units of time."""
_NS_PER_OTHER: Mapping[str, int] = MappingProxyType({"bytes": 1})
_NS_PER_COUNT = 1_000_000
"""A sample without a time counts as a millisecond: a length to draw it with."""


def ns_per(unit: str) -> int:
    """The drawn length of a value of 1, ns."""
    return NS_PER.get(unit, _NS_PER_OTHER.get(unit, _NS_PER_COUNT))


def times_of(value: float, unit: str) -> int:
    """The time of a value in ns; 0 for one that does not fit a timeline."""
    ns = value * ns_per(unit)
    return round(ns) if abs(ns) <= MAX_TIME_NS else 0


def steps_of(values: npt.ArrayLike, unit: str) -> Int64Array:
    """Lengths in ns whose sum fits a timeline: negative and damaged ones become 0."""
    column = np.array(values, np.float64)
    usable = (column >= 0) & (column <= MAX_TIME_NS / ns_per(unit))
    scaled = np.where(usable, column, 0.0) * ns_per(unit)
    beyond = np.cumsum(scaled) > MAX_TIME_NS
    # Rounded sums, so that lengths add up to the rounded whole.
    ends = np.rint(np.cumsum(np.where(beyond, 0.0, scaled))).astype(np.int64)
    steps: Int64Array = np.diff(ends, prepend=np.int64(0))
    return steps
