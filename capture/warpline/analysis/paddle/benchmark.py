"""Paddle's benchmark: reader cost, batch cost and steps per second."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import scope_text
from warpline.analysis.structure.overlap import covered_ns
from warpline.analysis.structure.steps import STEP_KINDS, find_steps, missing_steps, phase_intervals
from warpline.i18n import english


def benchmark(view: View, options: Options) -> Table | NotRecorded:
    """Reader cost, batch cost and steps per second."""
    steps = find_steps(view, options)
    if not len(steps):
        return missing_steps(options)
    batch = steps.stop - steps.start
    reader = np.zeros(len(steps), np.int64)
    wide = view.everything()
    for process, rank in sorted(set(zip(steps.process.tolist(), steps.rank.tolist(), strict=True))):
        here = np.flatnonzero((steps.process == process) & (steps.rank == rank))
        loading = phase_intervals(wide, "Dataloader", process, rank)
        reader[here] = covered_ns(loading, steps.start[here], steps.stop[here])
    has_reader = bool(reader.any())
    rate = 1e9 / np.maximum(batch, 1)
    nan = float("nan")
    times = [
        (float(values.mean()), float(values.max()), float(values.min())) if present else (nan, nan, nan)
        for values, present in ((reader, has_reader), (batch, True))
    ]
    notes = [english("ips counts steps per second; its average is 1 / the average batch cost.")]
    if not has_reader:
        notes.append(english("Reader cost: not recorded; mark data loading with a range named Dataloader."))
    share = float(reader.sum()) / float(batch.sum()) if has_reader and batch.sum() else nan
    return Table(
        (
            Column("name", "Name", Role.NAME, key=True),
            Column("avg_ns", "Avg", Role.DURATION),
            Column("max_ns", "Max", Role.DURATION),
            Column("min_ns", "Min", Role.DURATION),
            Column("avg_per_second", "Avg steps/s", Role.NUMBER),
            Column("max_per_second", "Max steps/s", Role.NUMBER),
            Column("min_per_second", "Min steps/s", Role.NUMBER),
            Column("ratio", "Reader ratio", Role.SHARE, of=english("the batch cost"), heat=True, lead=1),
        ),
        {
            "name": ["reader_cost", "batch_cost", "ips"],
            "avg_ns": np.array([times[0][0], times[1][0], nan]),
            "max_ns": np.array([times[0][1], times[1][1], nan]),
            "min_ns": np.array([times[0][2], times[1][2], nan]),
            "avg_per_second": np.array([nan, nan, 1e9 / max(times[1][0], 1)]),
            "max_per_second": np.array([nan, nan, float(rate.max())]),
            "min_per_second": np.array([nan, nan, float(rate.min())]),
            "ratio": np.array([share, nan, nan]),
        },
        scope=scope_text(view, english("Steps")),
        notes=tuple(notes),
    )


report = ReportSpec(
    "benchmark", "Benchmark: reader and batch cost", "framework", benchmark, needs=STEP_KINDS, place=212
)
