"""What a GPU waited for."""

from __future__ import annotations

from warpline.analysis.findings.finding import (
    Budget,
    BudgetPart,
    Diagnosis,
    Evidence,
    Finding,
    Severity,
    Where,
)
from warpline.analysis.framework.selection import View
from warpline.analysis.structure.gpu_gaps import CAUSES, Gaps, gpu_gaps
from warpline.analysis.structure.gpus import Gpu, activity_combinations, gpus
from warpline.i18n import english
from warpline.model.times import format_duration

_ACTIVITIES = (
    ("computation", english("computation")),
    ("communication", english("exposed communication")),
    ("copies", english("exposed copies")),
)
_IDLE = {
    "data_loading": (
        english("idle: data loading"),
        english("Load in workers, or give them less to do per item."),
    ),
    "synchronization": (
        english("idle: the host waits for the GPU"),
        english("Leave out calls that synchronise in the loop (.item(), .cpu(), blocking copies)."),
    ),
    "host": (
        english("idle: the host is late"),
        english("Launch less and larger work: fuse operators, compile, or use CUDA graphs."),
    ),
    "launch_latency": (
        english("idle: between launch and start"),
        english("Use CUDA graphs, or let the host run further ahead of the GPU."),
    ),
    "other": (
        english("idle: launched, not started"),
        english("See what the streams wait for on the timeline."),
    ),
    "end": (
        english("idle: after the last operation"),
        english("Choose a range that ends with the GPU's work."),
    ),
}
_CRITICAL, _WARNING, _NOTE = 0.3, 0.1, 0.05


def diagnose_gpu(view: View) -> Diagnosis:
    """The budget of the busiest GPU and the causes of its idle time."""
    found = gpus(view)
    busy = {gpu.title: activity_combinations(view, gpu) for gpu in found}
    gpu = max(found, key=lambda one: int(busy[one.title][1:].sum()))
    lengths = busy[gpu.title]
    # Bit 0 computation, 1 communication, 2 copies: of what overlaps, the first of these counts.
    parts = [
        BudgetPart("computation", _ACTIVITIES[0][1], int(lengths[1::2].sum())),
        BudgetPart("communication", _ACTIVITIES[1][1], int(lengths[2] + lengths[6])),
        BudgetPart("copies", _ACTIVITIES[2][1], int(lengths[4])),
    ]
    gaps = gpu_gaps(view, gpu)
    for place, cause in enumerate(CAUSES):
        parts.append(BudgetPart(cause, _IDLE[cause][0], int(gaps.causes[:, place].sum())))
    rest = view.duration_ns - sum(part.time_ns for part in parts)
    parts.append(BudgetPart("outside", english("before the first and after the last operation"), rest))
    budget = Budget(gpu.title, view.start_ns, view.stop_ns, tuple(part for part in parts if part.time_ns))
    findings = [
        finding
        for part in budget.parts
        if part.cause not in ("computation", "outside", "end")
        and (finding := _finding(part, budget, _evidence(part.cause, gaps, gpu))) is not None
    ]
    return Diagnosis(budget, tuple(findings))


def _evidence(cause: str, gaps: Gaps, gpu: Gpu) -> Evidence:
    """The gaps of a cause; of work that runs, the streams it runs on."""
    tracks = tuple(sorted(gpu.tracks))
    if cause not in CAUSES:
        return Evidence(tracks=tracks)
    here = gaps.causes[:, CAUSES.index(cause)] > 0
    return Evidence(
        tuple(zip(gaps.start[here].tolist(), gaps.stop[here].tolist(), strict=True)), tracks=tracks
    )


def _finding(part: BudgetPart, budget: Budget, evidence: Evidence) -> Finding | None:
    share = part.time_ns / max(budget.stop_ns - budget.start_ns, 1)
    if share < _NOTE:
        return None
    severity = (
        Severity.CRITICAL if share >= _CRITICAL else Severity.WARNING if share >= _WARNING else Severity.NOTE
    )
    if part.cause in _IDLE:
        title, remedy = _IDLE[part.cause]
    else:
        title, remedy = part.title, english("Let it run beside computation, on a stream of its own.")
    text = english(
        "{gpu}: {cause} takes {time} of {whole} ({percent:.0f} %).",
        gpu=budget.waited_for,
        cause=title,
        time=format_duration(part.time_ns),
        whole=format_duration(budget.stop_ns - budget.start_ns),
        percent=100 * share,
    )
    return Finding(
        f"gpu_{part.cause}", severity, title, text, part.time_ns, share, part.time_ns, Where(), remedy,
        evidence=evidence,
        needs=english("record the host with --trace cpu,osrt,python to see which line keeps the GPU waiting"),
    )  # fmt: skip
