"""A job as a map of ranks and steps: its rows, their order, and the values of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column
from warpline.untrusted import natural_key
from warpline_app.open.job.row_order import RowOrder

if TYPE_CHECKING:
    from warpline.library.jobs import JobRank, TrainingJob

Int64Array = npt.NDArray[np.int64]
Float32Array = npt.NDArray[np.float32]
_KEPT = 3
"""Number of columns whose cells are cached."""


class JobMap:
    """The cells of a job: a row for each rank, a column for each step, both counted from 0.

    Ranks without a file get no row if they are the majority: opening two files of a job of 128 ranks shows just those
    two. ``without_rows`` is their number.
    """

    def __init__(self, job: TrainingJob) -> None:
        self.job = job
        present = tuple(rank for rank in job.ranks if rank.path is not None)
        self.without_rows = 0 if len(job.ranks) <= 2 * len(present) else len(job.ranks) - len(present)
        self.ranks: tuple[JobRank, ...] = present if self.without_rows else job.ranks
        self.steps: Int64Array = job.steps.steps
        self.columns: tuple[Column, ...] = tuple(job.steps.columns)
        numbers = np.array([rank.rank for rank in self.ranks], np.int64)
        self._row_of = {number: row for row, number in enumerate(numbers.tolist())}
        self._rows_with_steps = np.searchsorted(numbers, job.steps.ranks)
        self._cells: dict[str, Float32Array] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and steps."""
        return len(self.ranks), len(self.steps)

    @property
    def has_hosts(self) -> bool:
        """Whether any rank recorded its host."""
        return any(rank.host for rank in self.ranks)

    def row_of(self, rank: int) -> int | None:
        """The row of a rank; None when the job does not have it."""
        return self._row_of.get(rank)

    def place_of(self, step: int) -> int | None:
        """The column of a step number; None when no rank has it."""
        place = int(np.searchsorted(self.steps, step))
        return place if place < len(self.steps) and self.steps[place] == step else None

    def column(self, name: str) -> Column | None:
        """The column with that name; None when the job has none."""
        return next((column for column in self.columns if column.name == name), None)

    def has_steps(self, row: int) -> bool:
        """Whether the rank of a row has any steps."""
        place = int(np.searchsorted(self._rows_with_steps, row))
        return place < len(self._rows_with_steps) and bool(self._rows_with_steps[place] == row)

    def cells(self, name: str) -> Float32Array:
        """A quantity as float32 (rows, steps), NaN where not recorded. Raises KeyError for an unknown name."""
        known = self._cells.pop(name, None)
        if known is None:
            known = np.full(self.shape, np.nan, np.float32)
            known[self._rows_with_steps] = self.job.steps.values(name).T
        self._cells[name] = known
        while len(self._cells) > _KEPT:
            del self._cells[next(iter(self._cells))]
        return known

    def value(self, name: str, row: int, step: int) -> float | None:
        """The value of a cell, None where not recorded. Raises KeyError for an unknown name."""
        cell = float(self.cells(name)[row, step])
        return None if np.isnan(cell) else cell

    def step_median(self, name: str, step: int) -> float | None:
        """The median of a quantity over the ranks in a step, None where no rank has it."""
        of_step = self.cells(name)[:, step]
        known = of_step[~np.isnan(of_step)]
        return float(np.median(known)) if len(known) else None

    def row_means(self, name: str) -> npt.NDArray[np.float64]:
        """The mean of a quantity over the steps of each row, float64 (rows), NaN for rows without any.

        The mean, not the median: a rank that is slow in every fourth step has a median like the others'.
        """
        cells = self.cells(name)
        known = ~np.isnan(cells)
        count = known.sum(axis=1)
        total = np.where(known, cells, 0).sum(axis=1, dtype=np.float64)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def order(self, by: RowOrder, name: str) -> Int64Array:
        """The rows as they stand from the top, int64 (rows).

        By host, ranks without one come last; by value, the largest mean comes first and rows without cells last.
        """
        rows = np.arange(len(self.ranks))
        if by is RowOrder.HOST:
            hosts = [rank.host for rank in self.ranks]
            return np.array(
                sorted(rows.tolist(), key=lambda row: (not hosts[row], natural_key(hosts[row]), row))
            )
        if by is RowOrder.VALUE and self.column(name) is not None:
            means = self.row_means(name)
            return np.argsort(np.where(np.isnan(means), np.inf, -means), kind="stable")
        return rows

    def first_column(self, wanted: Sequence[str]) -> str:
        """The first of these names that the job has, else its first column; empty when it has none."""
        names = [column.name for column in self.columns]
        return next((name for name in wanted if name in names), names[0] if names else "")
