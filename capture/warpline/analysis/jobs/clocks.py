"""Aligns the clocks of all ranks by the ends of their collectives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.jobs.meetings import Attendance, Meetings

Int64Array = npt.NDArray[np.int64]
Float64Array = npt.NDArray[np.float64]
_GRAIN_NS = 1_000.0
"""Profilers round times to this; smaller disagreements count as equal."""
_FARTHEST = 6.0
"""Ends that disagree this many times more than usual are ignored: wrongly matched, or not joint."""
_ROUNDS = 100
_EXACT = 1e-6


@dataclass(frozen=True, kw_only=True)
class RankClock:
    """A rank's clock: reference time = own time − ``offset_ns``.

    ``residual_ns`` is the largest disagreement among the ends of its used ``collectives``, or the bound of the offset
    where there are none (`pinged_clocks`); ``agreeing`` is the share (0–1) of its collectives that were used.
    """

    rank: int
    reference: int
    offset_ns: int
    residual_ns: int
    collectives: int
    agreeing: float

    @property
    def fits(self) -> bool:
        """Whether most of its collectives agree with those of other ranks."""
        return self.agreeing >= 0.5


def rank_clocks(meetings: Meetings) -> dict[int, RankClock]:
    """The clock of every rank that has joint collectives with others.

    A collective c ends on all its ranks at the same time e_c, which rank r records as t_rc = e_c + o_r. The offsets o
    and ends e minimise the sum of (t_rc − e_c − o_r)² over all ranks and collectives, without outliers. Sets of ranks
    that no collective connects are solved separately. Each has its own reference with offset 0: the rank with the
    most collectives.
    """
    ranks = dict(meetings.meeting_ranks(meetings.joint()))
    if not ranks:
        return {}
    start, reference, ends = _spread_out(ranks, len(meetings))
    errors = {
        rank: attendance.stop - ends[attendance.meeting] - start[rank] for rank, attendance in ranks.items()
    }
    corrections = dict.fromkeys(ranks, 0.0)
    middle = np.zeros(len(meetings))
    used: dict[int, npt.NDArray[np.bool_]] = {}
    for _ in range(2):
        used = _agreeing(ranks, errors, corrections, middle)
        corrections, middle = _least_squares(ranks, errors, used, len(meetings))
    clocks = {}
    for rank, attendance in ranks.items():
        base = corrections[reference[rank]]
        residuals = np.abs(errors[rank] - corrections[rank] - middle[attendance.meeting])[used[rank]]
        clocks[rank] = RankClock(
            rank=rank,
            reference=reference[rank],
            offset_ns=start[rank] + round(corrections[rank] - base),
            residual_ns=int(np.ceil(residuals.max(initial=0.0) - _EXACT)),
            collectives=int(used[rank].sum()),
            agreeing=float(used[rank].mean()),
        )
    return clocks


def _spread_out(
    ranks: dict[int, Attendance], count: int
) -> tuple[dict[int, int], dict[int, int], Int64Array]:
    """(offsets, references, ends) as a first estimate: from rank to rank, the median distance to known ends.

    A median is robust against a few wrongly matched collectives.
    """
    offsets: dict[int, int] = {}
    references: dict[int, int] = {}
    ends, known = np.zeros(count, np.int64), np.zeros(count, bool)
    remaining = sorted(ranks, key=lambda rank: (-len(ranks[rank].meeting), rank))
    reference = remaining[0]
    while remaining:
        near = {}
        for rank in remaining:
            attendance = ranks[rank]
            here = known[attendance.meeting]
            if here.any():
                distance = attendance.stop[here] - ends[attendance.meeting[here]]
                near[rank] = round(float(np.median(distance - distance[0]))) + int(distance[0])
        if not near:
            reference = remaining[0]
            near[reference] = 0
        for rank, offset in near.items():
            attendance = ranks[rank]
            fresh = ~known[attendance.meeting]
            ends[attendance.meeting[fresh]] = attendance.stop[fresh] - offset
            known[attendance.meeting[fresh]] = True
        offsets |= near
        references |= dict.fromkeys(near, reference)
        remaining = [rank for rank in remaining if rank not in near]
    return offsets, references, ends


def _agreeing(
    ranks: dict[int, Attendance],
    errors: dict[int, Int64Array],
    corrections: dict[int, float],
    middle: Float64Array,
) -> dict[int, npt.NDArray[np.bool_]]:
    """Which ends of each rank are not outliers."""
    far = {
        rank: np.abs(errors[rank] - corrections[rank] - middle[attendance.meeting])
        for rank, attendance in ranks.items()
    }
    usual = float(np.median([float(np.median(distance)) for distance in far.values()]))
    limit = _FARTHEST * max(usual, _GRAIN_NS)
    return {rank: distance <= limit for rank, distance in far.items()}


def _least_squares(
    ranks: dict[int, Attendance],
    errors: dict[int, Int64Array],
    used: dict[int, npt.NDArray[np.bool_]],
    count: int,
) -> tuple[dict[int, float], Float64Array]:
    """Least-squares corrections of offsets (by rank) and ends (by collective).

    The best end of a collective is the mean over its ranks. That leaves one equation per rank; conjugate gradients
    solve them with one pass over the collectives per round and without a matrix.
    """
    order = sorted(ranks)
    attended = [ranks[rank].meeting[used[rank]] for rank in order]
    values = [errors[rank][used[rank]].astype(np.float64) for rank in order]
    per_rank = np.array([len(meeting) for meeting in attended], np.float64)
    taking_part = np.zeros(count)
    for meeting in attended:
        taking_part[meeting] += 1
    share = 1 / np.maximum(taking_part, 1)

    def means(by_rank: list[Float64Array] | Float64Array) -> Float64Array:
        total = np.zeros(count)
        for meeting, value in zip(attended, by_rank, strict=True):
            total[meeting] += value
        return total * share

    def left_side(offsets: Float64Array) -> Float64Array:
        mean = means(offsets)
        return np.asarray(per_rank * offsets - np.array([mean[meeting].sum() for meeting in attended]))

    mean = means(values)
    right = np.array([(value - mean[meeting]).sum() for meeting, value in zip(attended, values, strict=True)])
    offsets = _conjugate_gradients(left_side, right, np.maximum(per_rank, 1))
    rest = [value - offset for value, offset in zip(values, offsets.tolist(), strict=True)]
    return dict(zip(order, offsets.tolist(), strict=True)), means(rest)


def _conjugate_gradients(
    left_side: Callable[[Float64Array], Float64Array], right: Float64Array, scale: Float64Array
) -> Float64Array:
    solution = np.zeros(len(right))
    error = right.copy()
    direction = error / scale
    size = float(error @ direction)
    enough = size * 1e-20 + 1e-12
    for _ in range(_ROUNDS):
        if size <= enough:
            break
        image = left_side(direction)
        bend = float(direction @ image)
        if bend <= 0:
            break
        solution += size / bend * direction
        error -= size / bend * image
        better = error / scale
        size, before = float(error @ better), size
        direction = better + size / before * direction
    return solution
