"""The steps of an inference engine: phase, requests, tokens and GPU work of each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Values
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import scope_text
from warpline.analysis.serving.batches import STEP_KINDS, EngineSteps, batches
from warpline.analysis.serving.step_names import UNKNOWN
from warpline.analysis.structure.launches import has_launches
from warpline.analysis.structure.projection import launches_of_host, project
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]
_MISSING = NotRecorded(
    english("no steps of an inference engine were recorded"),
    english(
        "import a trace of PyTorch's profiler or NVTX in which vLLM, SGLang or TensorRT-LLM annotate their steps"
    ),
)


def engine_steps(view: View, _options: Options) -> Table | NotRecorded:
    """Each step of the engine, by start."""
    found = batches(view)
    steps = found.steps
    if not len(steps):
        return _MISSING
    data: dict[str, Values] = {
        "name": view.capture.strings.get(view.capture.events.name[steps.row].tolist()),
        "phase": [name.phase or None for name in steps.names],
        "prefill_requests": _known([name.prefill for name in steps.names]),
        "decode_requests": _known([name.decode for name in steps.names]),
        "tokens": _known([name.tokens for name in steps.names]),
        "duration_ns": steps.stop - steps.start,
        "start_ns": steps.start - view.capture.span[0],
    }
    columns = [
        Column("name", "Engine step", Role.NAME),
        Column("phase", "Phase", Role.TEXT),
        Column("prefill_requests", "Prefill requests", Role.COUNT),
        Column("decode_requests", "Decode requests", Role.COUNT),
        Column("tokens", "Tokens", Role.COUNT),
        Column("duration_ns", "Duration", Role.DURATION, lead=1),
        Column("start_ns", "Start", Role.TIME),
    ]
    notes = []
    if steps.is_host and has_launches(view):
        data["gpu_operations"], data["gpu_ns"] = _launched(view, steps)
        columns[6:6] = [
            Column("gpu_operations", "GPU operations", Role.COUNT),
            Column("gpu_ns", "GPU work", Role.DURATION),
        ]
        notes.append(english("GPU work: durations of what the step launched, added up."))
    if len(found.requests.row):
        data["requests"] = np.bincount(found.step, minlength=len(steps))
        columns.insert(5, Column("requests", "Traced requests", Role.COUNT))
        notes.append(
            english("Traced requests: those that the step names, or that had left the queue when it began.")
        )
    return Table(
        tuple(columns),
        data,
        targets=Targets(rows=steps.row, starts=steps.start, stops=steps.stop),
        scope=scope_text(view, english("Engine steps")),
        notes=tuple(notes),
    )


def _known(values: list[int]) -> npt.NDArray[np.int64]:
    numbers = np.array(values, np.int64)
    return np.ma.MaskedArray(numbers, numbers == UNKNOWN)


def _launched(view: View, steps: EngineSteps) -> tuple[Int64Array, Int64Array]:
    """Number and summed duration (ns) of the GPU operations that each step launched on its thread."""
    launches, threads = launches_of_host(view), view.thread_of(steps.row)
    count, total = np.zeros(len(steps), np.int64), np.zeros(len(steps), np.int64)
    for thread in np.unique(threads).tolist():
        own = np.flatnonzero(threads == thread)
        work = project(launches.of_thread(thread), steps.start[own], steps.stop[own])
        count[own], total[own] = work.count, work.total_ns
    return count, total


report = ReportSpec("engine_steps", "Engine steps", "ranges", engine_steps, needs=STEP_KINDS, place=413)
