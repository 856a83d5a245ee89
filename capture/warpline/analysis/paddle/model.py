"""Paddle's model summary: time of the phases of a step."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.nesting import window_sums, windows
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.framework.tables import scope_text
from warpline.analysis.paddle.cpu_gpu import SideRows, side_columns
from warpline.analysis.paddle.phases import phase_times, tracks_of_host
from warpline.analysis.structure.event_types import PHASES
from warpline.analysis.structure.launches import launch_portions
from warpline.analysis.structure.projection import LaunchesByThread
from warpline.analysis.structure.steps import STEP_KINDS, Steps, find_steps, missing_steps
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]


def _launched_inside(view: View, steps: Steps) -> Int64Array:
    """GPU time (ns) launched inside each step by its rank and process."""
    tracks = view.capture.tracks
    times = np.zeros(len(steps), np.int64)
    for launches in launch_portions(view):
        track = view.track_of(launches.call) if len(launches) else launches.call
        for number in np.unique(track).tolist():
            own = steps.around(tracks[number].process, tracks[number].rank)
            calls = launches.take(track == number)
            first, last = windows(calls.call_start, steps.start[own], steps.stop[own])
            times[own] += window_sums(calls.work_ns, first, last)
    return times


def model(view: View, options: Options) -> Table | NotRecorded:
    """The phases of a step: Dataloader, Forward, Backward, Optimization and Others."""
    steps = find_steps(view, options)
    if not len(steps):
        return missing_steps(options)
    tracks = tracks_of_host(view)
    launches = LaunchesByThread(view, of_selected=True)
    cpu = np.minimum(steps.stop, view.stop_ns) - np.maximum(steps.start, view.start_ns)
    gpu = _launched_inside(view, steps)
    rows = SideRows()
    names: list[str | None] = ["ProfileStep"]
    cpu_whole, gpu_whole = int(cpu.sum()), int(gpu.sum())
    has_gpu = view.has(*GPU_KINDS)

    def side(values: Int64Array) -> tuple[float, ...]:
        if not len(values):
            return (0.0, float("nan"), float("nan"), float("nan"))
        return (float(values.sum()), float(values.mean()), float(values.max()), float(values.min()))

    rows.add(len(steps), side(cpu), side(gpu) if has_gpu else None, cpu_whole, gpu_whole)
    rest_cpu, rest_gpu = cpu_whole, gpu_whole
    for phase in PHASES:
        phase_cpu, phase_gpu = phase_times(view, phase, tracks, launches)
        if not len(phase_cpu):
            continue
        names.append(phase)
        rows.add(len(phase_cpu), side(phase_cpu), side(phase_gpu) if has_gpu else None, cpu_whole, gpu_whole)
        rest_cpu -= int(phase_cpu.sum())
        rest_gpu -= int(phase_gpu.sum())
    nan = float("nan")
    names.append(english("Others"))
    rows.add(
        nan, (rest_cpu, nan, nan, nan), (rest_gpu, nan, nan, nan) if has_gpu else None, cpu_whole, gpu_whole
    )
    notes = [
        english(
            "GPU time is that of work launched inside a phase on its thread; "
            "a step counts launches of all threads of its process."
        )
    ]
    absent = [phase for phase in PHASES if phase not in names]
    if absent:
        notes.append(
            english(
                "{phases}: not recorded; mark them with ranges of these names.",
                phases=", ".join(absent),
            )
        )
    return Table(
        (
            Column("name", "Name", Role.NAME, key=True, ours=True),
            *side_columns(english("the CPU time of all steps"), english("the GPU time of all steps")),
        ),
        {"name": names, **rows.data()},
        depth=np.array([0] + [1] * (len(names) - 1), np.int16),
        scope=scope_text(view, english("Steps and their phases")),
        notes=tuple(notes),
    )


report = ReportSpec("model", "Model: phases of a step", "framework", model, needs=STEP_KINDS, place=203)
