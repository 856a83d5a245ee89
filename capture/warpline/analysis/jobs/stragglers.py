"""Stragglers: how often each rank came last in a collective, what that cost, and why it was late."""

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
"""Parts of a step that show waiting rather than its reason."""
_LEAST_SHARE = 0.01
"""Share of the median step below which a part is not a reason."""


@dataclass(frozen=True)
class Reason:
    """Why a rank was late: the part of its steps (a column, with title) that exceeds the median rank's most.

    ``more_ns`` is that excess, median over the steps in which the rank came last. ``detail`` explains computation: a
    slow kernel, more work, or a slow clock.
    """

    part: str
    title: str
    more_ns: float
    detail: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Straggler:
    """A rank with its number of ``collectives`` and how often it came ``last``.

    ``lead_ns`` (median) and ``lead_max_ns`` are its delay after the second-last rank, ``others_ns`` is what all others
    waited for it or for ranks it had delayed, ``waited_ns`` what it waited itself.
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
    """All ranks, those that the others waited for longest first."""
    mine, blamed = _by_rank(last.rank), _by_rank(last.blamed)
    none = np.empty(0, np.int64)
    reasons = _reasons(last, steps, kernels)
    result = []
    for rank, (collectives, waited_ns) in waited.items():
        at = mine.get(rank, none)
        lead = last.lead_ns[at]
        result.append(
            Straggler(
                rank=rank,
                collectives=collectives,
                last=len(at),
                lead_ns=float(np.median(lead)) if len(at) else None,
                lead_max_ns=int(lead.max()) if len(at) else None,
                others_ns=int(last.others_ns[blamed.get(rank, none)].sum()),
                waited_ns=waited_ns,
                reason=reasons.get(rank),
            )
        )
    return sorted(result, key=lambda item: (-item.others_ns, -item.last, item.rank))


def _by_rank(ranks: Int64Array) -> dict[int, Int64Array]:
    """The indices of each rank."""
    order = np.argsort(ranks, kind="stable")
    distinct, first = np.unique(ranks[order], return_index=True)
    return dict(zip(distinct.tolist(), np.split(order, first[1:]), strict=False))


def stragglers(ranks: list[Straggler], clocks: Mapping[int, RankClock]) -> Table | NotRecorded:
    """A row for each rank, those that the others waited for longest first.

    A collective ends on all ranks at once, so the rank with the least time in it came last; no clocks are needed.
    ``reason`` is the cause that exceeds the median rank's most in the steps in which the rank came last. ``offset_ns``
    and ``residual_ns`` are its clock offset by the same collectives, and the error of that.
    """
    if not ranks:
        return NotRecorded(
            english("no collective was recorded on two or more ranks"),
            english("record kernels and steps on every rank; collectives are matched by step"),
        )
    rank_clocks = [clocks.get(item.rank) for item in ranks]
    collectives = np.array([item.collectives for item in ranks], np.int64)
    times = np.array([item.last for item in ranks], np.int64)
    return Table(
        (
            Column("rank", english("Rank"), Role.ID, key=True),
            Column("collectives", english("Collectives"), Role.COUNT),
            Column("last", english("Came last"), Role.COUNT),
            Column(
                "last_ratio", english("Came last"), Role.RATIO, of=english("the collectives it took part in")
            ),
            Column("lead_ns", english("Median delay"), Role.DURATION),
            Column("lead_max_ns", english("Largest delay"), Role.DURATION),
            Column("others_ns", english("Others waited"), Role.DURATION, heat=True),
            Column("waited_ns", english("Waited itself"), Role.DURATION),
            Column("reason", english("What took longer"), Role.TEXT, ours=True),
            Column("reason_ns", english("Longer by"), Role.DURATION),
            Column("detail", english("Reason"), Role.TEXT, ours=True),
            Column("offset_ns", english("Clock offset"), Role.DURATION),
            Column("residual_ns", english("Clock error"), Role.DURATION),
        ),
        {
            "rank": np.array([item.rank for item in ranks], np.int64),
            "collectives": collectives,
            "last": times,
            "last_ratio": ratios(times, collectives),
            "lead_ns": _numbers([item.lead_ns for item in ranks]),
            "lead_max_ns": _integers([item.lead_max_ns for item in ranks]),
            "others_ns": np.array([item.others_ns for item in ranks], np.int64),
            "waited_ns": np.array([item.waited_ns for item in ranks], np.int64),
            "reason": [item.reason.title if item.reason else None for item in ranks],
            "reason_ns": _numbers([item.reason.more_ns if item.reason else None for item in ranks]),
            "detail": [item.reason.detail or None if item.reason else None for item in ranks],
            "offset_ns": _integers([clock.offset_ns if clock else None for clock in rank_clocks]),
            "residual_ns": _integers([clock.residual_ns if clock else None for clock in rank_clocks]),
        },
        notes=(
            english(
                "Came last: a collective ends on all ranks at once, so the rank with the least time in it came last."
            ),
            english("Delay: how much later the rank came than the second-last item, when it came last."),
            english(
                "Others waited: total time that other ranks waited for this rank, or for ranks it delayed."
            ),
            *_unfit(clocks),
        ),
    )


def _unfit(clocks: Mapping[int, RankClock]) -> list[str]:
    """A sentence that names the ranks with clocks that do not match."""
    names = [str(rank) for rank, clock in sorted(clocks.items()) if not clock.fits]
    if not names:
        return []
    if len(names) == 1:
        return [
            english(
                "Most collectives of rank {rank} end at other times than on the other ranks.", rank=names[0]
            )
        ]
    named = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return [
        english("Most collectives of ranks {ranks} end at other times than on the other ranks.", ranks=named)
    ]


def _numbers(values: list[float | None]) -> npt.NDArray[np.float64]:
    return recorded(np.array([np.nan if value is None else value for value in values], np.float64))


def _integers(values: list[int | None]) -> npt.NDArray[np.int64]:
    return np.ma.MaskedArray(
        np.array([0 if value is None else value for value in values], np.int64),
        [value is None for value in values],
    )


def _reasons(last: LastOnes, steps: StepMatrix, kernels: KernelTimes) -> dict[int, Reason]:
    """Why ranks came last: the part that exceeds the median rank's most in those steps."""
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
        excess = spreads(more.T).median
        for place in np.flatnonzero(excess > _LEAST_SHARE * typical).tolist():
            rank = int(steps.ranks[place])
            if rank not in best or excess[place] > best[rank].more_ns:
                detail = kernels.why_slow(rank) if column.name == "computation_ns" else ""
                best[rank] = Reason(column.name, column.title, float(excess[place]), detail)
    return best


def _late_cells(last: LastOnes, steps: StepMatrix) -> npt.NDArray[np.bool_]:
    """Which ranks made others wait in a step; bool (steps, ranks)."""
    late = np.zeros((len(steps.steps), len(steps.ranks)), bool)
    row, place = np.searchsorted(steps.steps, last.step), np.searchsorted(steps.ranks, last.blamed)
    row, place = np.minimum(row, len(steps.steps) - 1), np.minimum(place, len(steps.ranks) - 1)
    known = (steps.steps[row] == last.step) & (steps.ranks[place] == last.blamed)
    late[row[known], place[known]] = True
    return late
