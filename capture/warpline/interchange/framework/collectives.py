"""Matches collectives across ranks. A collective ends on all ranks at once, so its ends show how clocks differ."""

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
"""One rank's collectives: name to sorted end times, ns in the file's clock."""

_MOST_SHIFTED = 64
"""How many more collectives than another rank one may have recorded first."""
_SPREAD_FACTOR = 4
"""A name that spreads more than the steadiest one by this factor ran in another group of ranks."""
_CLOCK_GRAIN_NS = 1_000
"""Profilers round times to this; smaller spreads count as equal."""


class CollectiveLog:
    """Collects the collectives of a file during its conversion."""

    def __init__(self, builder: CaptureBuilder) -> None:
        self._builder = builder
        self._is_collective: dict[int, bool] = {}
        self._names: list[npt.NDArray[np.uint32]] = []
        self._ends: list[Int64Array] = []

    def add(self, names: npt.NDArray[np.uint32], end_ns: Int64Array) -> None:
        """Add those of the kernels that are collectives; ``names`` are string ids of the builder."""
        ids, codes = np.unique(names, return_inverse=True)
        chosen = np.array([self._is_match(number) for number in ids.tolist()], bool)[codes.reshape(-1)]
        if chosen.any():
            self._names.append(names[chosen])
            self._ends.append(end_ns[chosen])

    def _is_match(self, number: int) -> bool:
        is_collective = self._is_collective.get(number)
        if is_collective is None:
            text = self._builder.text(number)
            is_collective = self._is_collective[number] = is_communication(text) and not is_point_to_point(
                text
            )
        return is_collective

    def result(self) -> Collectives:
        """The collectives added so far."""
        if not self._names:
            return {}
        names, ends = np.concatenate(self._names), np.concatenate(self._ends)
        return {
            self._builder.text(number): np.sort(ends[names == number]) for number in np.unique(names).tolist()
        }


def distances(reference: Collectives, other: Collectives) -> Int64Array:
    """How much later each collective ended on the other rank than on the reference, ns, each in its own clock.

    The k-th collective of a name matches the k-th on the other rank. If one rank started recording earlier, the shift
    with the smallest spread counts. Names that disagree with the rest ran in other groups of ranks and are left out.
    """
    groups = [_matched(reference[name], other[name]) for name in sorted(reference.keys() & other.keys())]
    groups = [values for values in groups if len(values)]
    # Some profilers number collectives, so each name occurs once; together they count as one name.
    once = [values for values in groups if len(values) == 1]
    groups = [values for values in groups if len(values) > 1] + ([np.concatenate(once)] if once else [])
    if not groups:
        return np.empty(0, np.int64)
    best = min(groups, key=lambda values: (len(values) == 1, _spread(values)))
    limit = _SPREAD_FACTOR * max(_CLOCK_GRAIN_NS, _spread(best))
    return np.concatenate(
        [
            values
            for values in groups
            if _spread(values) <= limit and abs(np.median(values) - np.median(best)) <= limit
        ]
    )


def _matched(reference: Int64Array, other: Int64Array) -> Int64Array:
    """Distances of the pairs, at the smallest shift with the least spread."""
    surplus = len(other) - len(reference)
    shifts = sorted(
        {*range(-_MOST_SHIFTED, _MOST_SHIFTED + 1)} if surplus else {0}, key=lambda shift: (abs(shift), shift)
    )
    # A few pairs agree by chance, so at least half of the shorter list must match.
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
