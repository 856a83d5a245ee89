"""Collectives of several ranks: the same one ends everywhere at the same time, whatever the clocks say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.model.communication import is_communication, is_point_to_point

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]
Collectives = Mapping[str, Int64Array]
"""Ends of the collectives of one rank by what they are called, sorted, ns in the clock of its file."""

_MOST_SHIFTED = 64
"""How many collectives one rank may have recorded before the other began."""
_SPREAD_FACTOR = 4
"""A name whose distances spread more than this, measured by the steadiest one, is of different groups of ranks."""
_CLOCK_GRAIN_NS = 1_000
"""What profilers round times to; smaller spreads are alike."""


class CollectiveLog:
    """Collects the collectives of a file while it is converted."""

    def __init__(self, builder: CaptureBuilder) -> None:
        self._builder = builder
        self._is_collective: dict[int, bool] = {}
        self._names: list[npt.NDArray[np.uint32]] = []
        self._ends: list[Int64Array] = []

    def add(self, names: npt.NDArray[np.uint32], end_ns: Int64Array) -> None:
        """Keep the collectives among kernels with these names (string ids of the builder), ending at these times."""
        ids, codes = np.unique(names, return_inverse=True)
        chosen = np.array([self._knows(number) for number in ids.tolist()], bool)[codes.reshape(-1)]
        if chosen.any():
            self._names.append(names[chosen])
            self._ends.append(end_ns[chosen])

    def _knows(self, number: int) -> bool:
        found = self._is_collective.get(number)
        if found is None:
            text = self._builder.text(number)
            found = self._is_collective[number] = is_communication(text) and not is_point_to_point(text)
        return found

    def result(self) -> Collectives:
        """What was collected."""
        if not self._names:
            return {}
        names, ends = np.concatenate(self._names), np.concatenate(self._ends)
        return {
            self._builder.text(number): np.sort(ends[names == number]) for number in np.unique(names).tolist()
        }


def distances(reference: Collectives, other: Collectives) -> Int64Array:
    """How much later each collective ended on the other rank than on the reference, ns by their own clocks.

    The k-th of a name is the k-th there; where one rank began to record earlier, the shift is taken under which the
    distances spread least. Names whose distances agree with nobody's (other groups of ranks took part) are left out.
    """
    found = [_matched(reference[name], other[name]) for name in sorted(reference.keys() & other.keys())]
    found = [values for values in found if len(values)]
    # Profilers that number collectives tell each but once; together they are as good as a name.
    once = [values for values in found if len(values) == 1]
    found = [values for values in found if len(values) > 1] + ([np.concatenate(once)] if once else [])
    if not found:
        return np.empty(0, np.int64)
    best = min(found, key=lambda values: (len(values) == 1, _spread(values)))
    limit = _SPREAD_FACTOR * max(_CLOCK_GRAIN_NS, _spread(best))
    return np.concatenate(
        [
            values
            for values in found
            if _spread(values) <= limit and abs(np.median(values) - np.median(best)) <= limit
        ]
    )


def _matched(reference: Int64Array, other: Int64Array) -> Int64Array:
    """Distances of the pairs under the shift with the least spread; the smallest such shift."""
    surplus = len(other) - len(reference)
    shifts = sorted(
        {*range(-_MOST_SHIFTED, _MOST_SHIFTED + 1)} if surplus else {0}, key=lambda shift: (abs(shift), shift)
    )
    # Few pairs spread little by chance: half of the shorter list must find its partner.
    least = max(1, min(len(reference), len(other)) // 2)
    best, best_spread = np.empty(0, np.int64), np.inf
    for shift in shifts:
        first, second = max(0, -shift), max(0, shift)
        count = min(len(reference) - first, len(other) - second)
        if count < least:
            continue
        values = other[second : second + count] - reference[first : first + count]
        if (spread := _spread(values)) < best_spread:
            best, best_spread = values, spread
    return best


def _spread(values: Int64Array) -> float:
    return float(np.median(np.abs(values - np.median(values))))
