"""The collectives of all ranks put side by side: who came when, who came last, how the clocks belong together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.report import Table
from warpline.analysis.framework.tables import combine_keys

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Arrivals:
    """One entry for each rank of each collective that two ranks or more have in common, sorted by collective.

    ``collective`` numbers them (dense), ``rank``, ``step``, ``start``/``stop`` ns of the rank's own clock, ``wait``
    how long the rank was in it. Int64 (entries). Of equal collectives the ranks end together, so who is in it for the
    shortest time came last, whatever the clocks say.
    """

    collective: Int64Array
    rank: Int64Array
    step: Int64Array
    start: Int64Array
    stop: Int64Array

    def __len__(self) -> int:
        return len(self.rank)

    @property
    def wait(self) -> Int64Array:
        """ns that each rank was in the collective."""
        return self.stop - self.start


@dataclass(frozen=True)
class LastOnes:
    """Who came last to each collective: int64 (collectives). ``rank`` is −1 where the last two came at once.

    ``lead_ns`` is how much later than the last but one it came, ``others_ns`` what all the others together waited
    for it, ``step`` the step it happened in.
    """

    rank: Int64Array
    step: Int64Array
    lead_ns: Int64Array
    others_ns: Int64Array


def arrivals(tables: Mapping[int, Table]) -> Arrivals:
    """The collectives of each rank's `rank_collectives`, matched by step, name and place among those of the name."""
    codes: dict[str | None, int] = {}
    parts: list[Int64Array] = [np.empty((6, 0), np.int64)]
    for rank, table in sorted(tables.items()):
        names = np.array([codes.setdefault(name, len(codes)) for name in table.values("name")], np.int64)
        columns = [np.asarray(table.data[key], np.int64) for key in ("step", "place", "start_ns", "stop_ns")]
        parts.append(np.stack([np.full(len(table), rank, np.int64), names, *columns]))
    rank_of, name, step, place, start, stop = np.concatenate(parts, axis=1)
    collective, _ = combine_keys(step, name, place)
    shared = np.bincount(collective)[collective] > 1 if len(collective) else np.zeros(0, bool)
    order = np.flatnonzero(shared)
    order = order[np.lexsort((rank_of[order], collective[order]))]
    dense, _ = combine_keys(collective[order])
    return Arrivals(dense, rank_of[order], step[order], start[order], stop[order])


def last_ones(found: Arrivals) -> LastOnes:
    """Who came last to each collective, and what that cost the others."""
    if not len(found):
        none = np.empty(0, np.int64)
        return LastOnes(none, none, none, none)
    order = np.lexsort((found.wait, found.collective))
    collective, wait = found.collective[order], found.wait[order]
    first = np.flatnonzero(np.diff(collective, prepend=-1))
    count = np.diff(np.append(first, len(collective)))
    lead = wait[first + 1] - wait[first]
    others = np.add.reduceat(wait, first) - count * wait[first]
    last = np.where(lead > 0, found.rank[order][first], -1)
    return LastOnes(last, found.step[order][first], lead, others)


def waited_ns(found: Arrivals) -> dict[int, int]:
    """What each rank waited in collectives for the last one to come, ns."""
    if not len(found):
        return {}
    shortest = np.full(int(found.collective[-1]) + 1, np.iinfo(np.int64).max)
    np.minimum.at(shortest, found.collective, found.wait)
    lost = found.wait - shortest[found.collective]
    return {rank: int(lost[found.rank == rank].sum()) for rank in np.unique(found.rank).tolist()}


@dataclass(frozen=True)
class RankClock:
    """How a rank's clock lies against that of ``reference``: a time of the reference = own time − ``offset_ns``.

    ``residual_ns`` is the largest disagreement of a collective's end with that offset, over ``collectives`` of them.
    """

    rank: int
    reference: int
    offset_ns: int
    residual_ns: int
    collectives: int


def rank_clocks(found: Arrivals) -> dict[int, RankClock]:
    """The clock of every rank that has collectives in common with the one that takes part in most of them.

    A collective ends on all ranks at once: the offset is the median distance of the ends, which a few that were
    matched wrongly do not move.
    """
    if not len(found):
        return {}
    ranks, counts = np.unique(found.rank, return_counts=True)
    reference = int(ranks[counts.argmax()])
    ends = np.full(int(found.collective[-1]) + 1, -1, np.int64)
    its = found.rank == reference
    ends[found.collective[its]] = np.arange(len(found))[its]
    clocks = {}
    for rank in ranks.tolist():
        mine = np.flatnonzero(found.rank == rank)
        other = ends[found.collective[mine]]
        mine, other = mine[other >= 0], other[other >= 0]
        if len(mine):
            distance = found.stop[mine] - found.stop[other]
            offset = round(float(np.median(distance - distance[0]))) + int(distance[0])
            residual = int(np.abs(distance - offset).max())
            clocks[rank] = RankClock(rank, reference, offset, residual, len(mine))
    return clocks
