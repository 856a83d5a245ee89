"""Paddle's distributed summary: communication, computation and their overlap."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import ratios, scope_text
from warpline.analysis.paddle.phases import OF_RANGE, OF_STEPS, step_times
from warpline.analysis.structure.gpus import COMMUNICATION, COMPUTATION, activity_combinations, gpus
from warpline.analysis.structure.overlap import time_of, time_of_all
from warpline.i18n import english


def distributed(view: View, options: Options) -> Table | NotRecorded:
    """Communication, computation and their overlap, per GPU."""
    if not view.has("kernel"):
        return missing("kernel")
    steps = step_times(view, options)
    whole: list[int] = []
    names: list[str | None] = []
    depth: list[int] = []
    times: list[int] = []
    for gpu in gpus(view):
        combinations = activity_combinations(view, gpu)
        names += [gpu.title, english("Communication"), english("Computation"), english("Overlap")]
        depth += [0, 1, 1, 1]
        whole += [steps.get(-1 if gpu.rank is None else gpu.rank, 0) or sum(steps.values())] * 4
        times += [
            time_of(combinations, COMMUNICATION | COMPUTATION),
            time_of(combinations, COMMUNICATION),
            time_of(combinations, COMPUTATION),
            time_of_all(combinations, COMMUNICATION | COMPUTATION),
        ]
    total = np.array(times, np.int64)
    references = np.array(whole, np.int64) if sum(steps.values()) else np.full(len(total), view.duration_ns)
    return Table(
        (
            Column("name", "Name", Role.NAME, key=True, ours=True),
            Column("total_ns", "Total Time", Role.DURATION),
            Column("ratio", "Ratio", Role.SHARE, of=OF_STEPS if steps else OF_RANGE, heat=True, lead=1),
        ),
        {"name": names, "total_ns": total, "ratio": ratios(total, references)},
        depth=np.array(depth, np.int16),
        scope=scope_text(view, english("Kernels of each GPU")),
        notes=(english("Communication kernels are recognised by name; copies count as neither."),),
    )


report = ReportSpec(
    "distributed", "Communication and computation", "framework", distributed, needs=("kernel",), place=204
)
