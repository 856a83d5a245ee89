"""Noise: bootstrap confidence intervals of medians and their difference."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Interval = tuple[float, float]
RESAMPLES = 2_000
LEVEL = 0.95
FEWEST = 3
"""The least number of values on each side that an interval needs."""
_DRAWN_ONE_BY_ONE = 400
"""With more values, only the position of the median is drawn, not every value."""
_NORMAL = 1.959964
"""Standard deviations around the mean that contain `LEVEL` of a normal distribution."""


@dataclass(frozen=True, kw_only=True)
class Variation:
    """Medians of the repeated values on both sides, with confidence intervals at `LEVEL`.

    ``of`` is what was repeated: ``runs``, ``steps``, or ``events`` of a name. ``interval`` is that of the difference of
    medians, for events that of the difference of sums. Intervals are None with fewer than `FEWEST` values on a side.
    """

    of: str
    count_a: int
    count_b: int
    median_a: float
    median_b: float
    interval_a: Interval | None
    interval_b: Interval | None
    interval: Interval | None

    @property
    def is_noise(self) -> bool:
        """Whether the interval of the difference contains 0; False without an interval."""
        return self.interval is not None and self.interval[0] <= 0 <= self.interval[1]


def variation(
    of: str,
    a: npt.NDArray[np.int64] | npt.NDArray[np.float64],
    b: npt.NDArray[np.int64] | npt.NDArray[np.float64],
) -> Variation:
    """Compare the medians of ``b`` and ``a``: Efron's percentile interval over `RESAMPLES` resamples of each side.

    The draws of a side depend only on its values. So the same captures give the same interval, and swapped captures
    give it with reversed signs.
    """
    if min(len(a), len(b)) < FEWEST:
        return _variation(of, a, b, None, None, None)
    drawn_a, drawn_b = _medians(a), _medians(b)
    return _variation(of, a, b, _interval(drawn_a), _interval(drawn_b), _interval(drawn_b - drawn_a))


def paired_variation(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> Variation:
    """Compare the events of one name pair by pair: the first of A with the first of B, and so on.

    The interval is that of the sum of differences, by bootstrap over the pairs (for many pairs by the central limit
    theorem); None when the sides have different numbers of events.
    """
    if len(a) != len(b) or len(a) < FEWEST:
        return _variation("events", a, b, None, None, None)
    return _variation("events", a, b, median_interval(a), median_interval(b), _sum_interval(b - a))


def _variation(
    of: str,
    a: npt.NDArray[np.number],
    b: npt.NDArray[np.number],
    interval_a: Interval | None,
    interval_b: Interval | None,
    interval: Interval | None,
) -> Variation:
    has_both = bool(len(a) and len(b))
    return Variation(
        of=of, count_a=len(a), count_b=len(b), median_a=float(np.median(a)) if has_both else 0.0,
        median_b=float(np.median(b)) if has_both else 0.0, interval_a=interval_a, interval_b=interval_b,
        interval=interval,
    )  # fmt: skip


def _sum_interval(differences: npt.NDArray[np.int64]) -> Interval:
    count = len(differences)
    if count > _DRAWN_ONE_BY_ONE:
        reach = _NORMAL * float(differences.std()) * count**0.5
        return float(differences.sum()) - reach, float(differences.sum()) + reach
    # Ordered by magnitude, so that reversed signs give the same draws.
    ordered = differences[np.argsort(np.abs(differences), kind="stable")]
    random = np.random.default_rng(zlib.crc32(np.abs(ordered).tobytes()))
    return _interval(ordered[random.integers(0, count, (RESAMPLES, count))].sum(axis=1).astype(np.float64))


def median_interval(values: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> Interval | None:
    """The confidence interval of the median of repeated values; None with fewer than `FEWEST`."""
    return _interval(_medians(values)) if len(values) >= FEWEST else None


def _medians(values: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    ordered = np.sort(values)
    random = np.random.default_rng(zlib.crc32(ordered.tobytes()))
    if len(ordered) > _DRAWN_ONE_BY_ONE:
        # The median of n draws from [0, 1) has the distribution Beta((n + 1) / 2, (n + 1) / 2).
        middle = random.beta((len(ordered) + 1) / 2, (len(ordered) + 1) / 2, RESAMPLES)
        return ordered[np.minimum((middle * len(ordered)).astype(np.int64), len(ordered) - 1)].astype(
            np.float64
        )
    picked = ordered[random.integers(0, len(ordered), (RESAMPLES, len(ordered)))]
    return np.asarray(np.median(picked, axis=1), np.float64)


def _interval(drawn: npt.NDArray[np.float64]) -> Interval:
    ordered = np.sort(drawn)
    # Equally many draws are cut at both ends, so that reversed signs reverse the interval exactly.
    cut = int(len(ordered) * (1 - LEVEL) / 2)
    return float(ordered[cut]), float(ordered[-1 - cut])
