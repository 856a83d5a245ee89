"""Steps x ranks: one matrix for each quantity, as a heat map wants it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import Table
from warpline.analysis.jobs.arrivals import RankClock
from warpline.analysis.jobs.job_steps import quantities
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]
Float64Array = npt.NDArray[np.float64]
_NONE = np.iinfo(np.int64).min


@dataclass(frozen=True, eq=False)
class StepMatrix:
    """What every step of every rank was like.

    ``steps`` are the numbers of the steps, ascending, int64 (steps); ``ranks`` those of the ranks that have steps,
    ascending, int64 (ranks). ``columns`` name the quantities: ``duration_ns``, then the parts it is cut into
    (``computation_ns``, ``communication_ns`` that is exposed, ``loader_ns``, …), then ``late_ns``, how much later the
    step began than on the rank that began it first, where collectives put the clocks of ranks together.
    """

    steps: Int64Array
    ranks: Int64Array
    columns: tuple[Column, ...]
    cells: Mapping[str, npt.NDArray[Any]]

    def values(self, name: str) -> Float64Array:
        """A quantity as float64 (steps, ranks), ns; NaN where the rank has no such step or did not record it.

        Raises KeyError when there is no such column.
        """
        cells = self.cells[name]
        found = cells.astype(np.float64)
        found[cells == _NONE] = np.nan
        return found

    def starts(self, rank: int) -> Int64Array:
        """When each step began on a rank, int64 (steps), ns since its own capture began; −1 where it has none.

        Raises KeyError when no such rank has steps.
        """
        place = int(np.searchsorted(self.ranks, rank))
        if place == len(self.ranks) or self.ranks[place] != rank:
            raise KeyError(rank)
        own = self.cells["start_ns"][:, place]
        return np.where(own == _NONE, -1, own)


def step_matrix(tables: Mapping[int, Table], clocks: Mapping[int, RankClock]) -> StepMatrix:
    """The `rank_steps` of every rank as matrices."""
    ranks = np.array(sorted(tables), np.int64)
    numbers = [np.asarray(tables[rank].data["step"], np.int64) for rank in ranks.tolist()]
    steps = np.unique(np.concatenate([np.empty(0, np.int64), *numbers]))
    names = quantities(tables)
    cells = {name: np.full((len(steps), len(ranks)), _NONE, np.int64) for name in ("start_ns", *names)}
    for place, (rank, number) in enumerate(zip(ranks.tolist(), numbers, strict=True)):
        at = np.searchsorted(steps, number)
        table = tables[rank]
        for name, matrix in cells.items():
            values = table.data.get(name)
            if isinstance(values, np.ndarray):
                matrix[at, place] = np.ma.filled(values, _NONE)
    cells["late_ns"] = _late(cells["start_ns"], ranks, clocks)
    columns = (*names.values(), Column("late_ns", english("Began late by"), Role.DURATION))
    return StepMatrix(steps, ranks, columns, cells)


def _late(start: Int64Array, ranks: Int64Array, clocks: Mapping[int, RankClock]) -> Int64Array:
    offsets = np.array([clocks[rank].offset_ns if rank in clocks else 0 for rank in ranks.tolist()], np.int64)
    known = np.array([rank in clocks for rank in ranks.tolist()], bool)
    is_there = (start != _NONE) & known
    aligned = np.where(is_there, start - offsets, np.iinfo(np.int64).max)
    first = aligned.min(axis=1, initial=np.iinfo(np.int64).max, keepdims=True)
    return np.where(is_there, aligned - np.where(is_there, first, 0), _NONE)
