"""Tables of the steps over all ranks, and of the ranks over their steps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import Table, Values
from warpline.analysis.jobs.distribution import recorded, spreads
from warpline.analysis.jobs.meetings import LastOnes
from warpline.analysis.jobs.step_matrix import StepMatrix
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]


def ranks_table(steps: StepMatrix, hosts: Mapping[int, str]) -> Table:
    """A row for each rank: host, number of steps, and the median of each quantity over them."""
    ranks = steps.ranks.tolist()
    durations = steps.values("duration_ns")
    columns = [
        Column("rank", english("Rank"), Role.ID, key=True),
        Column("host", english("Host"), Role.TEXT),
        Column("steps", english("Steps"), Role.COUNT),
    ]
    data: dict[str, Values] = {
        "rank": steps.ranks,
        "host": [hosts.get(rank) or None for rank in ranks],
        "steps": (~np.isnan(durations)).sum(axis=0),
    }
    for column in steps.columns:
        if column.name != "late_ns":
            columns.append(Column(column.name, column.title, column.role))
            data[column.name] = recorded(spreads(steps.values(column.name).T).median)
    return Table(tuple(columns), data, notes=(english("Times are medians over the steps of each rank."),))


def steps_table(steps: StepMatrix, last: LastOnes) -> Table:
    """A row for each step: its number of ranks, median and spread of durations, and the worst with its rank.

    ``last_rank`` is the rank that the others waited for longest in the step, ``others_ns`` for how long in total; not
    recorded without waiting. A single rank has only durations.
    """
    durations = steps.values("duration_ns")
    spread = spreads(durations)
    waited = _waited_for(last)
    numbers = steps.steps.tolist()
    worst = steps.ranks[np.maximum(spread.place, 0)]
    last_rank = [waited.get(step, (-1, 0))[0] for step in numbers]
    nobody = [rank < 0 for rank in last_rank]
    data: dict[str, Values] = {
        "step": steps.steps,
        "ranks": (~np.isnan(durations)).sum(axis=1),
        "duration_ns": recorded(spread.median),
        "duration_ns_spread": recorded(spread.spread),
        "duration_ns_worst": recorded(spread.worst),
        "duration_ns_worst_rank": np.ma.MaskedArray(worst, spread.place < 0),
        "last_rank": np.ma.MaskedArray(np.array(last_rank, np.int64), nobody),
        "others_ns": np.ma.MaskedArray(
            np.array([waited.get(step, (-1, 0))[1] for step in numbers], np.int64), nobody
        ),
    }
    if len(steps.ranks) < 2:
        columns = (
            Column("step", english("Step"), Role.ORDINAL, key=True),
            Column("duration_ns", english("Duration"), Role.DURATION),
        )
        return Table(columns, {column.name: data[column.name] for column in columns})
    return Table(
        (
            Column("step", english("Step"), Role.ORDINAL, key=True),
            Column("ranks", english("Ranks"), Role.COUNT),
            Column("duration_ns", english("Duration"), Role.DURATION),
            Column("duration_ns_spread", english("Spread"), Role.DURATION),
            Column("duration_ns_worst", english("Worst"), Role.DURATION),
            Column("duration_ns_worst_rank", english("Its rank"), Role.ID),
            Column("last_rank", english("Late rank"), Role.ID),
            Column("others_ns", english("Others waited"), Role.DURATION),
        ),
        data,
        notes=(
            english(
                "The spread is the interquartile range; the worst value is the farthest from the median."
            ),
        ),
    )


def _waited_for(last: LastOnes) -> dict[int, tuple[int, int]]:
    """For each step, the rank that was waited for longest, and the total wait of the others, ns."""
    known = last.blamed >= 0
    pairs, inverse = np.unique(np.stack([last.step[known], last.blamed[known]]), axis=1, return_inverse=True)
    sums = np.zeros(pairs.shape[1], np.int64)
    np.add.at(sums, inverse.reshape(-1), last.others_ns[known])
    longest: dict[int, tuple[int, int]] = {}
    for step, rank, others in zip(*pairs.tolist(), sums.tolist(), strict=True):
        # Ranks come in ascending order, so the lower of two equal ranks wins.
        if step not in longest or others > longest[step][1]:
            longest[step] = (rank, others)
    return longest
