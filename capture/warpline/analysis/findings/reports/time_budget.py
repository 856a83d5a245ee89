"""Report: where the time went, by cause, for the range and each step."""

from __future__ import annotations

import numpy as np

from warpline.analysis.findings.diagnose import budgets_of
from warpline.analysis.findings.finding import Budget, Diagnosis
from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Values
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import masked_below_zero, scope_text
from warpline.i18n import english


def time_budget(view: View, options: Options) -> Table | NotRecorded:
    """A tree of causes, with the time in each step below. With ranks, the budget of each rank."""
    budgets = budgets_of(view, options)
    if isinstance(budgets, Diagnosis):
        return NotRecorded(budgets.reason, budgets.remedy)
    names: list[str | None] = []
    numbers: list[tuple[int, ...]] = []
    for rank, budget in budgets:
        whole = max(budget.stop_ns - budget.start_ns, 1)
        for index, part in enumerate(budget.parts):
            names.append(part.title)
            numbers.append((rank, 0, -1, part.time_ns, whole, budget.start_ns, budget.stop_ns, -1))
            for number, step in enumerate(budget.steps):
                names.append(step.name)
                length = max(step.stop_ns - step.start_ns, 1)
                time = step.times_ns[index]
                numbers.append((rank, 1, number, time, length, step.start_ns, step.stop_ns, step.row))
    causes = [
        part.cause for _, budget in budgets for part in budget.parts for _ in range(len(budget.steps) + 1)
    ]
    table = np.array(numbers, np.int64).reshape(-1, 8)
    columns = [
        Column("name", "Cause", Role.NAME, key=True, ours=True),
        Column("cause", "Code", Role.CODE),
        Column("step", "Step", Role.ORDINAL, key=True),
        Column("total_ns", "Time", Role.DURATION),
        Column("ratio", "Share", Role.RATIO, of=english("the range, or the step"), heat=True, lead=1),
    ]
    data: dict[str, Values] = {
        "name": names,
        "cause": causes,
        "step": masked_below_zero(table[:, 2]),
        "total_ns": table[:, 3],
        "ratio": table[:, 3] / table[:, 4],
    }
    if any(rank >= 0 for rank, _ in budgets):
        columns.insert(0, Column("rank", "Rank", Role.ID, key=True))
        data["rank"] = masked_below_zero(table[:, 0])
    return Table(
        tuple(columns),
        data,
        depth=table[:, 1].astype(np.int16),
        targets=Targets(rows=table[:, 7], starts=table[:, 5], stops=table[:, 6]),
        scope=scope_text(view, english("Time of {subject}", subject=_subjects(budgets))),
        notes=(
            english(
                "Every nanosecond has one cause. Without a selected range, only steady steps count, if there are any."
            ),
        ),
    )


def _subjects(budgets: list[tuple[int, Budget]]) -> str:
    return ", ".join(dict.fromkeys(budget.waited_for for _, budget in budgets))


report = ReportSpec("time_budget", "Where the time went", "steps", time_budget, place=300)
