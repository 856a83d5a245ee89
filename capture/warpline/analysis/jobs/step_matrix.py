"""Steps × ranks: one matrix for each quantity, for heat maps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import Table, Values
from warpline.analysis.jobs.clocks import RankClock
from warpline.analysis.jobs.distribution import measures
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]
Float64Array = npt.NDArray[np.float64]
_START = "start_ns"
_NARROW = np.iinfo(np.uint32).max


@dataclass(frozen=True, eq=False)
class StepMatrix:
    """The steps of all ranks as matrices.

    ``steps`` and ``ranks`` are numbers, ascending, int64. ``columns`` are the quantities: ``duration_ns``; its parts
    (``computation_ns``, exposed ``communication_ns``, ``loader_ns``, …); and, where collectives align the clocks,
    ``late_ns``: how much later the step began than on the first rank. ``cells`` are integers (steps, ranks) of the
    narrowest type that fits; its largest value means "not recorded".
    """

    steps: Int64Array
    ranks: Int64Array
    columns: tuple[Column, ...]
    cells: Mapping[str, npt.NDArray[Any]]

    @property
    def parts(self) -> tuple[Column, ...]:
        """The columns that the duration of a step is made of."""
        return tuple(column for column in self.columns if column.name not in ("duration_ns", "late_ns"))

    def values(self, name: str) -> Float64Array:
        """A quantity as float64 (steps, ranks), ns; NaN when not recorded. Raises KeyError for an unknown column."""
        cells = self.cells[name]
        values = cells.astype(np.float64)
        values[cells == np.iinfo(cells.dtype).max] = np.nan
        return values

    def starts(self, rank: int) -> Int64Array:
        """The start of each step on a rank, int64 (steps), ns since the start of its capture; −1 for missing steps.

        Raises KeyError for a rank without steps.
        """
        own = self.cells[_START][:, self.place(rank)]
        return np.where(own == np.iinfo(own.dtype).max, -1, own.astype(np.int64))

    def place(self, rank: int) -> int:
        """The column of a rank in the matrices. Raises KeyError for a rank without steps."""
        place = int(np.searchsorted(self.ranks, rank))
        if place == len(self.ranks) or self.ranks[place] != rank:
            raise KeyError(rank)
        return place

    def table(self) -> Table:
        """A row for each step of each rank, by step, then rank. Causes that a rank lacks are not recorded."""
        durations = self.cells["duration_ns"]
        step, rank = np.nonzero(durations != np.iinfo(durations.dtype).max)
        late = [column for column in self.columns if column.name == "late_ns"]
        columns = (*late, *(column for column in self.columns if column.name != "late_ns"))
        data: dict[str, Values] = {"step": self.steps[step], "rank": self.ranks[rank]}
        for column in columns:
            cells = self.cells[column.name][step, rank]
            mask = cells == np.iinfo(cells.dtype).max
            data[column.name] = np.ma.MaskedArray(np.where(mask, 0, cells).astype(np.int64), mask)
        return Table(
            (
                Column("step", english("Step"), Role.ORDINAL, key=True),
                Column("rank", english("Rank"), Role.ID, key=True),
                *columns,
            ),
            data,
        )

    def with_clocks(self, clocks: Mapping[int, RankClock]) -> StepMatrix:
        """The matrices with ``late_ns`` by these clocks; not recorded for ranks without a clock."""
        start = self.cells[_START]
        far = np.iinfo(np.int64).max
        offsets = [clocks[rank].offset_ns if rank in clocks else 0 for rank in self.ranks.tolist()]
        known = np.array([rank in clocks for rank in self.ranks.tolist()], bool)
        is_there = (start != np.iinfo(start.dtype).max) & known
        aligned = np.where(is_there, start.astype(np.int64) - np.array(offsets, np.int64), far)
        # Only clocks with the same reference can be compared.
        groups = np.array(
            [clocks[rank].reference if rank in clocks else -1 for rank in self.ranks.tolist()], np.int64
        )
        late = np.full(aligned.shape, far)
        for group in np.unique(groups[known]).tolist():
            mine = aligned[:, groups == group]
            first = mine.min(axis=1, keepdims=True)
            late[:, groups == group] = np.where(mine == far, far, mine - np.where(mine == far, 0, first))
        columns = (*self.columns, Column("late_ns", english("Late start"), Role.DURATION))
        return replace(self, columns=columns, cells={**self.cells, "late_ns": _narrow(late)})


def step_matrix(tables: dict[int, Table]) -> StepMatrix:
    """The `rank_steps` of all ranks as matrices. Empties ``tables``."""
    ranks = np.array(sorted(tables), np.int64)
    numbers = {rank: np.asarray(table.data["step"], np.int64) for rank, table in tables.items()}
    steps = np.unique(np.concatenate([np.empty(0, np.int64), *numbers.values()]))
    places = [np.searchsorted(steps, numbers[rank]) for rank in ranks.tolist()]
    columns: dict[str, Column] = {}
    for rank in ranks.tolist():
        for column in measures(tables[rank]):
            columns.setdefault(column.name, column)
    cells = {}
    for name in (_START, "duration_ns", *columns):
        if name in cells:
            continue
        matrix = np.full((len(steps), len(ranks)), np.iinfo(np.int64).max)
        for number, (rank, place) in enumerate(zip(ranks.tolist(), places, strict=True)):
            values = tables[rank].data.get(name)
            if isinstance(values, np.ndarray):
                matrix[place, number] = np.ma.filled(values, np.iinfo(np.int64).max)
        cells[name] = _narrow(matrix)
    tables.clear()
    return StepMatrix(steps, ranks, tuple(columns.values()), cells)


def _narrow(matrix: Int64Array) -> npt.NDArray[Any]:
    """The matrix with four bytes per cell where the values fit: 4,096 ranks have millions of cells."""
    mask = matrix == np.iinfo(np.int64).max
    if matrix.size and (np.where(mask, 0, matrix).max() >= _NARROW or matrix.min() < 0):
        return matrix
    return np.where(mask, _NARROW, matrix).astype(np.uint32)
