"""A job as a map of ranks and steps: which rows it has, in which order, and what stands in its cells."""

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
"""Columns whose cells are kept: going back to one costs nothing."""


class JobMap:
    """The cells of a job: a row for each rank (also those that have none to show), a column for each step.

    Ranks without a file have no rows where they would be the most: two files of a job of 128 ranks are looked at for
    these two. ``without_rows`` tells how many that are. Rows are counted as the job counts its ranks, steps as
    `StepMatrix.steps` does; both from 0.
    """

    def __init__(self, job: TrainingJob) -> None:
        self.job = job
        present = tuple(one for one in job.ranks if one.path is not None)
        self.without_rows = 0 if len(job.ranks) <= 2 * len(present) else len(job.ranks) - len(present)
        self.ranks: tuple[JobRank, ...] = present if self.without_rows else job.ranks
        self.steps: Int64Array = job.steps.steps
        self.columns: tuple[Column, ...] = tuple(job.steps.columns)
        numbers = np.array([one.rank for one in self.ranks], np.int64)
        self._row_of = {number: row for row, number in enumerate(numbers.tolist())}
        self._rows_with_steps = np.searchsorted(numbers, job.steps.ranks)
        self._cells: dict[str, Float32Array] = {}
        self._medians: dict[str, npt.NDArray[np.float64]] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and steps there are."""
        return len(self.ranks), len(self.steps)

    @property
    def has_hosts(self) -> bool:
        """Whether any rank tells its host."""
        return any(one.host for one in self.ranks)

    def row_of(self, rank: int) -> int | None:
        """The row of a rank; None when the job has no such rank."""
        return self._row_of.get(rank)

    def place_of(self, step: int) -> int | None:
        """The column of a step's number; None when no rank has it."""
        place = int(np.searchsorted(self.steps, step))
        return place if place < len(self.steps) and self.steps[place] == step else None

    def column(self, name: str) -> Column | None:
        """The column of that name; None when the job has none."""
        return next((column for column in self.columns if column.name == name), None)

    def has_steps(self, row: int) -> bool:
        """Whether the rank of a row has any step."""
        place = int(np.searchsorted(self._rows_with_steps, row))
        return place < len(self._rows_with_steps) and bool(self._rows_with_steps[place] == row)

    def cells(self, name: str) -> Float32Array:
        """A quantity as float32 (rows, steps), NaN where nothing was recorded. Raises KeyError for another name."""
        known = self._cells.pop(name, None)
        if known is None:
            known = np.full(self.shape, np.nan, np.float32)
            known[self._rows_with_steps] = self.job.steps.values(name).T
        self._cells[name] = known
        while len(self._cells) > _KEPT:
            del self._cells[next(iter(self._cells))]
        return known

    def value(self, name: str, row: int, step: int) -> float | None:
        """One cell, None where nothing was recorded. Raises KeyError for another name."""
        found = float(self.cells(name)[row, step])
        return None if np.isnan(found) else found

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
            hosts = [one.host for one in self.ranks]
            return np.array(
                sorted(rows.tolist(), key=lambda row: (not hosts[row], natural_key(hosts[row]), row))
            )
        if by is RowOrder.VALUE and self.column(name) is not None:
            means = self.row_means(name)
            return np.argsort(np.where(np.isnan(means), np.inf, -means), kind="stable")
        return rows

    def first_column(self, wanted: Sequence[str]) -> str:
        """The first of these names that the job has, else its first column; empty where it has none."""
        names = [column.name for column in self.columns]
        return next((name for name in wanted if name in names), names[0] if names else "")
