"""The steps of all ranks as one table, and the ranks with what their steps are like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import Table, Values, unrecorded
from warpline.analysis.jobs.arrivals import LastOnes, RankClock
from warpline.analysis.jobs.distribution import masked, measures, spread_of
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]


def quantities(tables: Mapping[int, Table]) -> dict[str, Column]:
    """Every duration that any rank's `rank_steps` has, in the order of the lowest rank that has it."""
    found: dict[str, Column] = {}
    for _, table in sorted(tables.items()):
        for column in measures(table):
            found.setdefault(column.name, column)
    return found


def column_of(table: Table, name: str) -> npt.NDArray[Any]:
    """A column of numbers, all masked where the table has none of that name."""
    values = table.data.get(name)
    return values if isinstance(values, np.ndarray) else unrecorded(len(table), np.int64)


def steps_by_rank(tables: Mapping[int, Table], clocks: Mapping[int, RankClock]) -> Table:
    """A row for each step of each rank, by step, then rank: its duration and the causes of its time.

    ``late_ns`` is how much later the step began than on the rank that began it first, by the clocks that collectives
    put together; not recorded for ranks without such a clock. A cause that a rank does not tell apart is not recorded.
    """
    ranks = sorted(tables)
    names = quantities(tables)
    step = _joined([tables[rank].data["step"] for rank in ranks])
    rank_of = _joined([np.full(len(tables[rank]), rank) for rank in ranks])
    order = np.lexsort((rank_of, step))
    columns = [
        Column("step", english("Step"), Role.ORDINAL, key=True),
        Column("rank", english("Rank"), Role.ID, key=True),
        Column("late_ns", english("Began late by"), Role.DURATION),
    ]
    late = _joined_masked([_aligned_starts(tables[rank], clocks.get(rank)) for rank in ranks])
    data: dict[str, Values] = {
        "step": step[order],
        "rank": rank_of[order],
        "late_ns": _after_first(step[order], late[order]),
    }
    for name, column in names.items():
        columns.append(Column(name, column.title, column.role))
        data[name] = _joined_masked([column_of(tables[rank], name) for rank in ranks])[order]
    return Table(tuple(columns), data)


def ranks_table(tables: Mapping[int, Table]) -> Table:
    """A row for each rank: how many steps it has, and the median of each quantity over them."""
    ranks = sorted(tables)
    columns = [
        Column("rank", english("Rank"), Role.ID, key=True),
        Column("steps", english("Steps"), Role.COUNT),
    ]
    data: dict[str, Values] = {
        "rank": np.array(ranks, np.int64),
        "steps": np.array([len(tables[rank]) for rank in ranks], np.int64),
    }
    for name, column in quantities(tables).items():
        medians = [_median(column_of(tables[rank], name)) for rank in ranks]
        columns.append(Column(name, column.title, column.role))
        data[name] = masked(medians, np.float64)
    return Table(tuple(columns), data, notes=(english("Times are medians over the steps of each rank."),))


def steps_table(tables: Mapping[int, Table], last: LastOnes) -> Table:
    """A row for each step: over how many ranks, the median and spread of its durations, the worst and its rank.

    ``last_rank`` is the rank that the others waited for longest in the step's collectives, ``others_ns`` how long all
    of them together; not recorded where they waited for nobody.
    """
    durations: dict[int, dict[int, float]] = {}
    for rank, table in sorted(tables.items()):
        pairs = zip(table.values("step"), table.values("duration_ns"), strict=True)
        for step, duration in pairs:
            durations.setdefault(step, {})[rank] = duration
    steps = sorted(durations)
    spreads = [spread_of(durations[step]) or (0.0, 0.0, 0.0, None) for step in steps]
    waited = _waited_for(last)
    data: dict[str, Values] = {
        "step": np.array(steps, np.int64),
        "ranks": np.array([len(durations[step]) for step in steps], np.int64),
    }
    for place, name in enumerate(("duration_ns", "duration_ns_spread", "duration_ns_worst")):
        data[name] = np.array([one[place] for one in spreads], np.float64)
    data["duration_ns_worst_rank"] = masked([one[3] for one in spreads], np.int64)
    data["last_rank"] = masked([waited.get(step, (None, None))[0] for step in steps], np.int64)
    data["others_ns"] = masked([waited.get(step, (None, None))[1] for step in steps], np.int64)
    return Table(
        (
            Column("step", english("Step"), Role.ORDINAL, key=True),
            Column("ranks", english("Ranks"), Role.COUNT),
            Column("duration_ns", english("Duration"), Role.DURATION),
            Column("duration_ns_spread", english("Spread"), Role.DURATION),
            Column("duration_ns_worst", english("Worst"), Role.DURATION),
            Column("duration_ns_worst_rank", english("Its rank"), Role.ID),
            Column("last_rank", english("Waited for rank"), Role.ID),
            Column("others_ns", english("Others waited"), Role.DURATION),
        ),
        data,
        notes=(
            english(
                "The spread is the distance between the quartiles; the worst is farthest from the median."
            ),
        ),
    )


def _waited_for(last: LastOnes) -> dict[int, tuple[int, int]]:
    """Of each step the rank that was waited for longest, and how long all others waited for it together (ns)."""
    sums: dict[int, dict[int, int]] = {}
    for step, rank, others in zip(
        last.step.tolist(), last.rank.tolist(), last.others_ns.tolist(), strict=True
    ):
        if rank >= 0:
            of_step = sums.setdefault(step, {})
            of_step[rank] = of_step.get(rank, 0) + others
    return {step: max(by.items(), key=lambda one: (one[1], -one[0])) for step, by in sums.items()}


def _median(values: npt.NDArray[Any]) -> float | None:
    known = np.ma.getdata(values)[~np.ma.getmaskarray(values)]
    return float(np.median(known)) if len(known) else None


def _joined(parts: list[Any]) -> Int64Array:
    return np.concatenate([np.empty(0, np.int64), *(np.asarray(part, np.int64) for part in parts)])


def _joined_masked(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    gone = [np.zeros(0, bool), *(np.ma.getmaskarray(part) for part in parts)]
    return np.ma.MaskedArray(_joined([np.ma.getdata(part) for part in parts]), np.concatenate(gone))


def _aligned_starts(table: Table, clock: RankClock | None) -> npt.NDArray[Any]:
    if clock is None:
        return unrecorded(len(table), np.int64)
    return np.asarray(table.data["start_ns"], np.int64) - clock.offset_ns


def _after_first(step: Int64Array, starts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Each start after the first one of its step; ``step`` ascends."""
    if not len(step):
        return starts
    first = np.flatnonzero(np.diff(step, prepend=step[0] - 1))
    gone = np.ma.getmaskarray(starts)
    filled = np.where(gone, np.iinfo(np.int64).max, np.ma.getdata(starts))
    earliest = np.repeat(np.minimum.reduceat(filled, first), np.diff(np.append(first, len(step))))
    return np.ma.MaskedArray(np.where(gone, 0, filled - np.where(gone, 0, earliest)), gone)
