"""The clocks of all ranks solved at once by the ends of their collectives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.jobs.meetings import Attendance, Meetings

Int64Array = npt.NDArray[np.int64]
Float64Array = npt.NDArray[np.float64]
_GRAIN_NS = 1_000.0
"""What profilers round times to; smaller disagreements are alike."""
_FARTHEST = 6.0
"""So many times the usual disagreement, and a collective's end is another matter: matched wrongly, or not joint."""
_ROUNDS = 100
_EXACT = 1e-6


@dataclass(frozen=True)
class RankClock:
    """How a rank's clock lies against that of ``reference``: a time of the reference = own time − ``offset_ns``.

    ``residual_ns`` is the largest disagreement of the ends of its ``collectives`` with the solution, ``agreeing`` the
    share (0–1) of all its collectives that those are: the others' ends lie too far off to have a part in it.
    """

    rank: int
    reference: int
    offset_ns: int
    residual_ns: int
    collectives: int
    agreeing: float

    @property
    def fits(self) -> bool:
        """Whether most of its collectives agree with those of the other ranks."""
        return self.agreeing >= 0.5


def rank_clocks(found: Meetings) -> dict[int, RankClock]:
    """The clock of every rank that has joint collectives with others.

    A collective c ends on all its ranks at once, at e_c, which rank r tells as t_rc = e_c + o_r. The offsets o and
    the ends e are those for which the squares of t_rc − e_c − o_r, over all ranks and collectives, add up to the
    least. Ends that disagree much more than others do have no part in that. Ranks that no collective connects, not
    even by way of others, are solved apart, each set with its own reference: the rank with most collectives, whose
    offset is 0.
    """
    ranks = dict(found.meeting_ranks(found.joint()))
    if not ranks:
        return {}
    start, reference, ends = _spread_out(ranks, len(found))
    errors = {rank: one.stop - ends[one.meeting] - start[rank] for rank, one in ranks.items()}
    corrections = dict.fromkeys(ranks, 0.0)
    middle = np.zeros(len(found))
    used: dict[int, npt.NDArray[np.bool_]] = {}
    for _ in range(2):
        used = _agreeing(ranks, errors, corrections, middle)
        corrections, middle = _least_squares(ranks, errors, used, len(found))
    clocks = {}
    for rank, one in ranks.items():
        base = corrections[reference[rank]]
        left = np.abs(errors[rank] - corrections[rank] - middle[one.meeting])[used[rank]]
        clocks[rank] = RankClock(
            rank,
            reference[rank],
            start[rank] + round(corrections[rank] - base),
            int(np.ceil(left.max(initial=0.0) - _EXACT)),
            int(used[rank].sum()),
            float(used[rank].mean()),
        )
    return clocks


def _spread_out(
    ranks: dict[int, Attendance], count: int
) -> tuple[dict[int, int], dict[int, int], Int64Array]:
    """First offsets, from rank to rank: the median distance to ends that are known; (offsets, references, ends).

    A median is not moved by a few collectives that were matched wrongly.
    """
    offsets: dict[int, int] = {}
    references: dict[int, int] = {}
    ends, known = np.zeros(count, np.int64), np.zeros(count, bool)
    left = sorted(ranks, key=lambda rank: (-len(ranks[rank].meeting), rank))
    reference = left[0]
    while left:
        near = {}
        for rank in left:
            one = ranks[rank]
            here = known[one.meeting]
            if here.any():
                distance = one.stop[here] - ends[one.meeting[here]]
                near[rank] = round(float(np.median(distance - distance[0]))) + int(distance[0])
        if not near:
            reference = left[0]
            near[reference] = 0
        for rank, offset in near.items():
            one = ranks[rank]
            fresh = ~known[one.meeting]
            ends[one.meeting[fresh]] = one.stop[fresh] - offset
            known[one.meeting[fresh]] = True
        offsets |= near
        references |= dict.fromkeys(near, reference)
        left = [rank for rank in left if rank not in near]
    return offsets, references, ends


def _agreeing(
    ranks: dict[int, Attendance],
    errors: dict[int, Int64Array],
    corrections: dict[int, float],
    middle: Float64Array,
) -> dict[int, npt.NDArray[np.bool_]]:
    """Which ends of each rank lie no farther off than ends usually do."""
    far = {
        rank: np.abs(errors[rank] - corrections[rank] - middle[one.meeting]) for rank, one in ranks.items()
    }
    usual = float(np.median([float(np.median(one)) for one in far.values()]))
    limit = _FARTHEST * max(usual, _GRAIN_NS)
    return {rank: one <= limit for rank, one in far.items()}


def _least_squares(
    ranks: dict[int, Attendance],
    errors: dict[int, Int64Array],
    used: dict[int, npt.NDArray[np.bool_]],
    count: int,
) -> tuple[dict[int, float], Float64Array]:
    """Corrections of offsets (by rank) and ends (by collective) with the least squares.

    With the best end of each collective put in, the mean over its ranks, what is left are as many equations as ranks;
    they are solved by conjugate gradients, which need one pass over the collectives each round and no matrix.
    """
    order = sorted(ranks)
    at = [ranks[rank].meeting[used[rank]] for rank in order]
    values = [errors[rank][used[rank]].astype(np.float64) for rank in order]
    per_rank = np.array([len(one) for one in at], np.float64)
    taking_part = np.zeros(count)
    for one in at:
        taking_part[one] += 1
    share = 1 / np.maximum(taking_part, 1)

    def means(by_rank: list[Float64Array] | Float64Array) -> Float64Array:
        total = np.zeros(count)
        for one, value in zip(at, by_rank, strict=True):
            total[one] += value
        return total * share

    def left_side(offsets: Float64Array) -> Float64Array:
        mean = means(offsets)
        return np.asarray(per_rank * offsets - np.array([mean[one].sum() for one in at]))

    mean = means(values)
    right = np.array([(value - mean[one]).sum() for one, value in zip(at, values, strict=True)])
    offsets = _conjugate_gradients(left_side, right, np.maximum(per_rank, 1))
    rest = [value - offset for value, offset in zip(values, offsets.tolist(), strict=True)]
    return dict(zip(order, offsets.tolist(), strict=True)), means(rest)


def _conjugate_gradients(
    left_side: Callable[[Float64Array], Float64Array], right: Float64Array, scale: Float64Array
) -> Float64Array:
    found = np.zeros(len(right))
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
        found += size / bend * direction
        error -= size / bend * image
        better = error / scale
        size, before = float(error @ better), size
        direction = better + size / before * direction
    return found
