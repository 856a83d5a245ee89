"""Sums pieces of time into a budget of the range and of each step."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.categories import CATEGORIES, NUMBER
from warpline.analysis.findings.finding import Budget, BudgetPart, BudgetStep

Int64Array = npt.NDArray[np.int64]


def budget_of(case: Case) -> Budget:
    """The budget of a case: parts of the range, largest first; parts of each step in the same order."""
    totals = np.bincount(case.category, case.pieces.length, len(CATEGORIES)).astype(np.int64)
    order = [int(number) for number in np.argsort(-totals, kind="stable") if totals[number]]
    parts = tuple(
        BudgetPart(
            CATEGORIES[number].key, CATEGORIES[number].title.format(device=case.device), int(totals[number])
        )
        for number in order
    )
    view = case.view
    return Budget(
        waited_for=case.target.title,
        start_ns=view.start_ns,
        stop_ns=view.stop_ns,
        parts=parts,
        tracks=case.target.tracks,
        steps=_step_budgets(case, order),
    )


def ranges_of_cause(case: Case, cause: str) -> Int64Array:
    """When the actor's time went to a cause: int64 [n, 2], start and stop in capture ns, in order and apart.

    Raises KeyError for an unknown cause.
    """
    chosen = np.flatnonzero(case.category == NUMBER[cause])
    start, stop = case.pieces.start[chosen], case.pieces.stop[chosen]
    begins = np.flatnonzero(np.r_[True, start[1:] != stop[:-1]][: len(start)])
    ends = np.r_[begins[1:] - 1, len(start) - 1][: len(begins)]
    return np.column_stack((start[begins], stop[ends])).astype(np.int64).reshape(-1, 2)


def _step_budgets(case: Case, order: list[int]) -> tuple[BudgetStep, ...]:
    steps, pieces = case.scope.steps, case.pieces
    if not len(steps):
        return ()
    # Steps and pieces are sorted by time, and pieces are cut at the ends of steps.
    step = np.searchsorted(steps.start, pieces.start, "right") - 1
    inside = (step >= 0) & (pieces.start < steps.stop[np.maximum(step, 0)])
    size = len(CATEGORIES)
    cell = step[inside] * size + case.category[inside]
    times = np.bincount(cell, pieces.length[inside], len(steps) * size).astype(np.int64).reshape(-1, size)
    names = case.view.capture.strings.get(steps.name.tolist())
    return tuple(
        BudgetStep(name, int(row), int(start), int(stop), tuple(times[number, order].tolist()))
        for number, (name, row, start, stop) in enumerate(
            zip(names, steps.row.tolist(), steps.start.tolist(), steps.stop.tolist(), strict=True)
        )
    )
