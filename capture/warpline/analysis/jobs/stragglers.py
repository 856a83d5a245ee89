"""The ranks that others wait for: how often each came last to a collective, what that cost, what it did before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.tables import ratios
from warpline.analysis.jobs.clocks import RankClock
from warpline.analysis.jobs.distribution import recorded, spreads
from warpline.analysis.jobs.job_kernels import KernelTimes
from warpline.analysis.jobs.meetings import LastOnes
from warpline.analysis.jobs.step_matrix import StepMatrix
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]
_NO_REASONS = ("communication_ns",)
"""Parts of a step that say that a rank is late or waits, not why."""
_LEAST_SHARE = 0.01
"""Of the median step: what is less is no reason."""


@dataclass(frozen=True)
class Reason:
    """What a rank did that made it late: a column of the steps, how people call it, and by how much it took longer
    than on the median rank, in the median of the steps in which it came last (ns).

    ``detail`` says more of computation: a slow kernel, more work, or a clock that makes all kernels slow.
    """

    part: str
    title: str
    more_ns: float
    detail: str = ""


@dataclass(frozen=True, eq=False)
class Straggler:
    """A rank, and what others waited for it: ``collectives`` it took part in, ``last`` how often it came last, how
    much later than the last but one (``lead_ns``, median; ``lead_max_ns``), what all ``others`` waited for it or for
    ranks that it had made late, and what it ``waited`` itself.
    """

    rank: int
    collectives: int
    last: int
    lead_ns: float | None
    lead_max_ns: int | None
    others_ns: int
    waited_ns: int
    reason: Reason | None


def find_stragglers(
    last: LastOnes, waited: Mapping[int, tuple[int, int]], steps: StepMatrix, kernels: KernelTimes
) -> list[Straggler]:
    """Every rank, whom the others waited for most first."""
    mine, blamed = _by_rank(last.rank), _by_rank(last.blamed)
    none = np.empty(0, np.int64)
    why = _reasons(last, steps, kernels)
    found = []
    for rank, (taken, its_wait) in waited.items():
        at = mine.get(rank, none)
        lead = last.lead_ns[at]
        found.append(
            Straggler(
                rank,
                taken,
                len(at),
                float(np.median(lead)) if len(at) else None,
                int(lead.max()) if len(at) else None,
                int(last.others_ns[blamed.get(rank, none)].sum()),
                its_wait,
                why.get(rank),
            )
        )
    return sorted(found, key=lambda one: (-one.others_ns, -one.last, one.rank))


def _by_rank(ranks: Int64Array) -> dict[int, Int64Array]:
    """Where each rank stands."""
    order = np.argsort(ranks, kind="stable")
    distinct, first = np.unique(ranks[order], return_index=True)
    return dict(zip(distinct.tolist(), np.split(order, first[1:]), strict=False))


def stragglers(found: list[Straggler], clocks: Mapping[int, RankClock]) -> Table | NotRecorded:
    """A row for each rank, whom the others waited for most first.

    A collective ends on all ranks at once, so the rank that is in it for the shortest time came last; its lead is how
    much later than the last but one it came. ``reason`` is the cause of which it had most more than the median rank,
    in the steps in which it came last. Clocks of hosts take no part in that; ``offset_ns`` and ``residual_ns`` say
    how they lie against each other by the same collectives.
    """
    if not found:
        return NotRecorded(
            english("no collective was found on two ranks or more"),
            english("record kernels, and steps by which collectives are matched, on every rank"),
        )
    its_clocks = [clocks.get(one.rank) for one in found]
    taken = np.array([one.collectives for one in found], np.int64)
    times = np.array([one.last for one in found], np.int64)
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
            Column("others_ns", english("Others waited"), Role.DURATION, heat=True),
            Column("waited_ns", english("Waited itself"), Role.DURATION),
            Column("reason", english("What took longer"), Role.TEXT, ours=True),
            Column("reason_ns", english("Longer by"), Role.DURATION),
            Column("detail", english("Because of"), Role.TEXT, ours=True),
            Column("offset_ns", english("Clock ahead by"), Role.DURATION),
            Column("residual_ns", english("Clock uncertain by"), Role.DURATION),
        ),
        {
            "rank": np.array([one.rank for one in found], np.int64),
            "collectives": taken,
            "last": times,
            "last_ratio": ratios(times, taken),
            "lead_ns": _numbers([one.lead_ns for one in found]),
            "lead_max_ns": _integers([one.lead_max_ns for one in found]),
            "others_ns": np.array([one.others_ns for one in found], np.int64),
            "waited_ns": np.array([one.waited_ns for one in found], np.int64),
            "reason": [one.reason.title if one.reason else None for one in found],
            "reason_ns": _numbers([one.reason.more_ns if one.reason else None for one in found]),
            "detail": [one.reason.detail or None if one.reason else None for one in found],
            "offset_ns": _integers([one.offset_ns if one else None for one in its_clocks]),
            "residual_ns": _integers([one.residual_ns if one else None for one in its_clocks]),
        },
        notes=(
            english("A collective ends on all ranks at once: who is in it for the shortest time came last."),
            english("Later by: than the last but one, the median of the times it came last."),
            english(
                "Others waited: what all other ranks together waited for it, or for ranks that it made late."
            ),
            *_unfit(clocks),
        ),
    )


def _unfit(clocks: Mapping[int, RankClock]) -> list[str]:
    """A sentence that names the ranks whose collectives agree with nobody's."""
    ranks = [str(rank) for rank, clock in sorted(clocks.items()) if not clock.fits]
    if not ranks:
        return []
    if len(ranks) == 1:
        return [
            english("Most ends of collectives of rank {rank} do not fit those of the others.", rank=ranks[0])
        ]
    named = ", ".join(ranks[:20]) + (", …" if len(ranks) > 20 else "")
    return [english("Most ends of collectives of ranks {ranks} do not fit those of the others.", ranks=named)]


def _numbers(values: list[float | None]) -> npt.NDArray[np.float64]:
    return recorded(np.array([np.nan if value is None else value for value in values], np.float64))


def _integers(values: list[int | None]) -> npt.NDArray[np.int64]:
    return np.ma.MaskedArray(
        np.array([0 if value is None else value for value in values], np.int64),
        [value is None for value in values],
    )


def _reasons(last: LastOnes, steps: StepMatrix, kernels: KernelTimes) -> dict[int, Reason]:
    """Why ranks came last: the part of which they had more than the median rank in those steps."""
    if not len(steps.steps):
        return {}
    late = _late_cells(last, steps)
    durations = steps.values("duration_ns")
    typical = spreads(durations.T).median
    best: dict[int, Reason] = {}
    for column in steps.parts:
        if column.name in _NO_REASONS:
            continue
        values = steps.values(column.name)
        more = values - spreads(values).median[:, None]
        more[~late] = np.nan
        by = spreads(more.T).median
        for place in np.flatnonzero(by > _LEAST_SHARE * typical).tolist():
            rank = int(steps.ranks[place])
            if rank not in best or by[place] > best[rank].more_ns:
                detail = kernels.why_slow(rank) if column.name == "computation_ns" else ""
                best[rank] = Reason(column.name, column.title, float(by[place]), detail)
    return best


def _late_cells(last: LastOnes, steps: StepMatrix) -> npt.NDArray[np.bool_]:
    """Which ranks made others wait in any collective of a step; bool (steps, ranks)."""
    late = np.zeros((len(steps.steps), len(steps.ranks)), bool)
    row, place = np.searchsorted(steps.steps, last.step), np.searchsorted(steps.ranks, last.blamed)
    row, place = np.minimum(row, len(steps.steps) - 1), np.minimum(place, len(steps.ranks) - 1)
    known = (steps.steps[row] == last.step) & (steps.ranks[place] == last.blamed)
    late[row[known], place[known]] = True
    return late
