"""Each step: duration, phases, GPU busy time, outliers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.framework.tables import name_texts, ratios, scope_text
from warpline.analysis.steps.copies_to_gpu import copies_to_gpu
from warpline.analysis.steps.step_groups import around_steps, gpu_union, owner_columns, step_groups
from warpline.analysis.structure.event_types import PHASES
from warpline.analysis.structure.overlap import covered_ns
from warpline.analysis.structure.steps import (
    STEP_KINDS,
    Steps,
    find_steps,
    mean_outliers,
    missing_steps,
    phase_unions,
)
from warpline.i18n import english
from warpline.model.intervals import merge_intervals

Int64Array = npt.NDArray[np.int64]


def _phase_columns(view: View, steps: Steps) -> tuple[dict[str, Int64Array], Int64Array]:
    """Time of each phase inside each step, and of their union (ns); omits phases that never occur."""
    wide = around_steps(view, steps)
    values, together = np.zeros((len(PHASES), len(steps)), np.int64), np.zeros(len(steps), np.int64)
    for process, rank, places in step_groups(steps):
        each = phase_unions(wide, [(phase,) for phase in PHASES], process, rank)
        union = merge_intervals(*(np.concatenate(side) for side in zip(*each, strict=True)))
        for times, intervals in zip((*values, together), (*each, union), strict=True):
            times[places] = covered_ns(intervals, steps.start[places], steps.stop[places])
    return {phase: times for phase, times in zip(PHASES, values, strict=True) if times.any()}, together


def _copies(view: View, steps: Steps) -> Int64Array:
    """Time (ns) in each step in which the host copied to a GPU, outside the phases."""
    wide = around_steps(view, steps)
    values = np.zeros(len(steps), np.int64)
    for process, rank, places in step_groups(steps):
        merged = copies_to_gpu(wide, PHASES, process, rank)
        values[places] = covered_ns(merged, steps.start[places], steps.stop[places])
    return values


def steps(view: View, options: Options) -> Table | NotRecorded:
    """Each step: duration, phases, GPU busy time, and whether it is an outlier."""
    all_steps = find_steps(view, options)
    if not len(all_steps):
        return missing_steps(options)
    duration = all_steps.stop - all_steps.start
    outlier = np.zeros(len(all_steps), bool)
    deviation = np.zeros(len(all_steps))
    for _, _, places in step_groups(all_steps):
        median, far = mean_outliers(duration[places])
        outlier[places] = far
        deviation[places] = duration[places] / median - 1 if median else 0.0
    phases, in_phases = _phase_columns(view, all_steps)
    columns, data = owner_columns(view, all_steps)
    columns += [
        Column("step", "Step", Role.ORDINAL, key=True),
        Column("name", "Name", Role.NAME),
        Column("start_ns", "Start", Role.TIME),
        Column("duration_ns", "Duration", Role.DURATION),
    ]
    data |= {
        "step": all_steps.number,
        "name": name_texts(view, all_steps.name),
        "start_ns": all_steps.start - view.capture.span[0],
        "duration_ns": duration,
    }
    for phase, values in phases.items():
        key = phase.lower()
        columns.append(Column(f"{key}_ns", phase, Role.DURATION))
        data[f"{key}_ns"] = values
    copies = _copies(view, all_steps)
    if copies.any():
        columns.append(Column("host_to_device_ns", "Copies to GPU", Role.DURATION))
        data["host_to_device_ns"] = copies
    if phases:
        columns.append(Column("others_ns", "Others", Role.DURATION))
        data["others_ns"] = duration - in_phases - copies
    if view.has(*GPU_KINDS):
        busy = np.zeros(len(all_steps), np.int64)
        wide = around_steps(view, all_steps)
        for _, rank, places in step_groups(all_steps):
            busy[places] = covered_ns(gpu_union(wide, rank), all_steps.start[places], all_steps.stop[places])
        columns += [
            Column("gpu_busy_ns", "GPU busy", Role.DURATION),
            Column("gpu_busy_ratio", "GPU busy", Role.RATIO, of=english("the step's duration")),
        ]
        data["gpu_busy_ns"] = busy
        data["gpu_busy_ratio"] = ratios(busy, duration)
    columns += [
        Column(
            "deviation_ratio", "Above median", Role.RATIO, of=english("the median duration of its process")
        ),
        Column("outlier", "Outlier", Role.FLAG),
    ]
    data["deviation_ratio"] = deviation
    data["outlier"] = outlier
    return Table(
        tuple(columns),
        data,
        targets=Targets(rows=all_steps.row, starts=all_steps.start, stops=all_steps.stop),
        scope=scope_text(view, english("Steps")),
        notes=(
            english("Steps that overlap the range are listed with their full duration."),
            english("An outlier exceeds the median by 10 % and by 3 scaled median absolute deviations."),
            *_overlap_note(phases, in_phases),
        ),
    )


def _overlap_note(phases: dict[str, Int64Array], in_phases: Int64Array) -> tuple[str, ...]:
    if not np.any(sum(phases.values(), np.zeros_like(in_phases)) > in_phases):
        return ()
    return (english("Phases overlap: shared moments count for each phase, but once for Others."),)


report = ReportSpec("steps", "Steps", "steps", steps, needs=STEP_KINDS, place=301)
