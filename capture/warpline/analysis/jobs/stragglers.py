"""The ranks that others wait for: how often each came last to a collective, what that cost, what it did before."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.tables import ratios
from warpline.analysis.jobs.arrivals import Arrivals, LastOnes, RankClock, last_ones, waited_ns
from warpline.analysis.jobs.distribution import masked
from warpline.analysis.jobs.job_steps import column_of, quantities
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]
_NO_REASONS = ("duration_ns", "communication_ns")
"""Quantities that say that a rank is late or waits, not why."""
_LEAST_SHARE = 0.01
"""Of the median step: what is less is no reason."""


def stragglers(
    found: Arrivals, steps: Mapping[int, Table], clocks: Mapping[int, RankClock]
) -> Table | NotRecorded:
    """A row for each rank, whom the others waited for most first.

    A collective ends on all ranks at once, so the rank that is in it for the shortest time came last; its lead is how
    much later than the last but one it came. ``reason`` is the cause of which it had most more than the median rank,
    in the steps in which it came last. Clocks of hosts take no part in that; ``offset_ns`` and ``residual_ns`` say
    how they lie against each other by the same collectives.
    """
    if not len(found):
        return NotRecorded(
            english("no collective was found on two ranks or more"),
            english("record kernels, and steps by which collectives are matched, on every rank"),
        )
    last = last_ones(found)
    waited = waited_ns(found)
    ranks = sorted(waited)
    mine = {rank: np.flatnonzero(last.rank == rank) for rank in ranks}
    others = {rank: int(last.others_ns[mine[rank]].sum()) for rank in ranks}
    ranks.sort(key=lambda rank: (-others[rank], -len(mine[rank]), rank))
    taken = np.array([int((found.rank == rank).sum()) for rank in ranks], np.int64)
    times = np.array([len(mine[rank]) for rank in ranks], np.int64)
    leads = [last.lead_ns[mine[rank]] for rank in ranks]
    why = _reasons(last, steps)
    reasons = [why.get(rank) for rank in ranks]
    its_clocks = [clocks.get(rank) for rank in ranks]
    return Table(
        (
            Column("rank", english("Rank"), Role.ID, key=True),
            Column("collectives", english("Collectives"), Role.COUNT),
            Column("last", english("Came last"), Role.COUNT),
            Column(
                "last_ratio", english("Came last"), Role.RATIO, english("the collectives it took part in")
            ),
            Column("lead_ns", english("Later by"), Role.DURATION),
            Column("lead_max_ns", english("At most by"), Role.DURATION),
            Column("others_ns", english("Others waited"), Role.DURATION),
            Column("waited_ns", english("Waited itself"), Role.DURATION),
            Column("reason", english("What took longer"), Role.TEXT, ours=True),
            Column("reason_ns", english("Longer by"), Role.DURATION),
            Column("offset_ns", english("Clock ahead by"), Role.DURATION),
            Column("residual_ns", english("Clock uncertain by"), Role.DURATION),
        ),
        {
            "rank": np.array(ranks, np.int64),
            "collectives": taken,
            "last": times,
            "last_ratio": ratios(times, taken),
            "lead_ns": masked([float(np.median(one)) if len(one) else None for one in leads], np.float64),
            "lead_max_ns": masked([int(one.max()) if len(one) else None for one in leads], np.int64),
            "others_ns": np.array([others[rank] for rank in ranks], np.int64),
            "waited_ns": np.array([waited[rank] for rank in ranks], np.int64),
            "reason": [None if reason is None else reason[0] for reason in reasons],
            "reason_ns": masked([None if reason is None else reason[1] for reason in reasons], np.float64),
            "offset_ns": masked([None if one is None else one.offset_ns for one in its_clocks], np.int64),
            "residual_ns": masked([None if one is None else one.residual_ns for one in its_clocks], np.int64),
        },
        notes=(
            english("A collective ends on all ranks at once: who is in it for the shortest time came last."),
            english("Later by: than the last but one, the median of the times it came last."),
            english("Others waited: what all other ranks together waited for it."),
        ),
    )


def _reasons(last: LastOnes, steps: Mapping[int, Table]) -> dict[int, tuple[str, float]]:
    """For ranks that came last: title of the cause that took longer than on the median rank, and by how much in the
    median of those steps.
    """
    best: dict[int, tuple[str, float]] = {}
    late = np.unique(np.stack([last.rank, last.step]), axis=1)
    for name, column in quantities(steps).items():
        if name in _NO_REASONS:
            continue
        rank, step, more = _above_median(steps, name)
        width = int(max(step.max(initial=0), late[1].max(initial=0))) + 1
        was_late = np.isin(rank * width + step, late[0] * width + late[1])
        for number in np.unique(rank[was_late]).tolist():
            by = float(np.median(more[was_late & (rank == number)]))
            typical = float(np.median(np.asarray(steps[number].data["duration_ns"], np.float64)))
            if by > _LEAST_SHARE * typical and (number not in best or by > best[number][1]):
                best[number] = (column.title, by)
    return best


def _above_median(
    steps: Mapping[int, Table], name: str
) -> tuple[Int64Array, Int64Array, npt.NDArray[np.float64]]:
    """(rank, step, how much more than the median rank in that step) where a quantity was recorded."""
    ranks, numbers, values = [], [], []
    for number, table in steps.items():
        column = column_of(table, name)
        there = ~np.ma.getmaskarray(column)
        values.append(np.ma.getdata(column)[there].astype(np.float64))
        numbers.append(np.asarray(table.data["step"], np.int64)[there])
        ranks.append(np.full(len(values[-1]), number, np.int64))
    if not values:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    rank, step, value = np.concatenate(ranks), np.concatenate(numbers), np.concatenate(values)
    order = np.lexsort((value, step))
    rank, step, value = rank[order], step[order], value[order]
    first = np.flatnonzero(np.diff(step, prepend=-1))
    count = np.diff(np.append(first, len(step)))
    median = (value[first + (count - 1) // 2] + value[first + count // 2]) / 2
    return rank, step, value - np.repeat(median, count)
