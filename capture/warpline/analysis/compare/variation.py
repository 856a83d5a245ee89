"""Whether a difference is more than noise: confidence intervals of medians by bootstrap."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RESAMPLES = 2_000
LEVEL = 0.95
FEWEST = 3
"""Values of each side without which nothing can be said of how they vary."""
_DRAWN_ONE_BY_ONE = 400
"""Of more values it is drawn which is the middle one, not each of them."""
_NORMAL = 1.959964
"""So many standard deviations around the mean hold `LEVEL` of a normal distribution."""


@dataclass(frozen=True)
class Variation:
    """What repeated values of both sides tell: medians, and intervals that hold the true ones with `LEVEL` confidence.

    ``of`` says what was repeated: ``runs``, ``steps``, or ``events`` of a name, whose values are what one of them took.
    The intervals are None with fewer than `FEWEST` values on a side.
    """

    of: str
    count_a: int
    count_b: int
    median_a: float
    median_b: float
    interval_a: tuple[float, float] | None
    interval_b: tuple[float, float] | None
    interval: tuple[float, float] | None
    """Of what B takes more than A: of the difference of medians, of events that of their sums."""

    @property
    def is_noise(self) -> bool:
        """Whether the difference is none beyond how the values vary; False where that is not known."""
        return self.interval is not None and self.interval[0] <= 0 <= self.interval[1]


def variation(
    of: str,
    a: npt.NDArray[np.int64] | npt.NDArray[np.float64],
    b: npt.NDArray[np.int64] | npt.NDArray[np.float64],
) -> Variation:
    """How the median of ``b`` stands to that of ``a``: percentile bootstrap of the difference of medians.

    Efron's percentile interval over `RESAMPLES` resamples of each side. The draws of a side follow from its values
    alone: the same captures give the same interval, and swapped ones the same with its signs turned.
    """
    medians = float(np.median(a)), float(np.median(b))
    if min(len(a), len(b)) < FEWEST:
        return Variation(of, len(a), len(b), *medians, None, None, None)
    drawn_a, drawn_b = _medians(a), _medians(b)
    return Variation(
        of,
        len(a),
        len(b),
        *medians,
        _interval(drawn_a),
        _interval(drawn_b),
        _interval(drawn_b - drawn_a),
    )


def paired_variation(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> Variation:
    """How events of one name differ: the first of A stands against the first of B, and so on.

    The interval is that of the sum of their differences, by bootstrap over the pairs (of many by the central limit
    theorem); None where one side has more of them than the other.
    """
    medians = (float(np.median(a)), float(np.median(b))) if len(a) and len(b) else (0.0, 0.0)
    if len(a) != len(b) or len(a) < FEWEST:
        return Variation("events", len(a), len(b), *medians, None, None, None)
    return Variation(
        "events", len(a), len(b), *medians, median_interval(a), median_interval(b), _sum_interval(b - a)
    )


def _sum_interval(differences: npt.NDArray[np.int64]) -> tuple[float, float]:
    count = len(differences)
    if count > _DRAWN_ONE_BY_ONE:
        reach = _NORMAL * float(differences.std()) * count**0.5
        return float(differences.sum()) - reach, float(differences.sum()) + reach
    # Ordered by size, so that signs turned are drawn the same.
    ordered = differences[np.argsort(np.abs(differences), kind="stable")]
    random = np.random.default_rng(zlib.crc32(np.abs(ordered).tobytes()))
    return _interval(ordered[random.integers(0, count, (RESAMPLES, count))].sum(axis=1).astype(np.float64))


def median_interval(values: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> tuple[float, float] | None:
    """The interval that holds the median of repeated values; None with fewer than `FEWEST`."""
    return _interval(_medians(values)) if len(values) >= FEWEST else None


def _medians(values: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    ordered = np.sort(values)
    random = np.random.default_rng(zlib.crc32(ordered.tobytes()))
    if len(ordered) > _DRAWN_ONE_BY_ONE:
        # The middle one of n draws from [0, 1) is distributed as Beta((n + 1) / 2, (n + 1) / 2).
        middle = random.beta((len(ordered) + 1) / 2, (len(ordered) + 1) / 2, RESAMPLES)
        return ordered[np.minimum((middle * len(ordered)).astype(np.int64), len(ordered) - 1)].astype(
            np.float64
        )
    picked = ordered[random.integers(0, len(ordered), (RESAMPLES, len(ordered)))]
    return np.asarray(np.median(picked, axis=1), np.float64)


def _interval(drawn: npt.NDArray[np.float64]) -> tuple[float, float]:
    ordered = np.sort(drawn)
    # The same number of draws is left out at both ends, so that signs turned give signs turned, exactly.
    out = int(len(ordered) * (1 - LEVEL) / 2)
    return float(ordered[out]), float(ordered[-1 - out])
