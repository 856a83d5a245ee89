"""Sentences about what limits a GPU as a whole: from the work of its kernels, and from its measured units."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.categories import NUMBER
from warpline.analysis.findings.kernels.gpu_counters import counter_of, while_busy
from warpline.analysis.findings.kernels.memory_room import with_room
from warpline.analysis.findings.kernels.target_work import TargetWork, operator_text
from warpline.analysis.hardware.limits import Limit
from warpline.i18n import english, joined

_SAMPLES = 5
_BUSY_DRAM, _BUSY_TENSOR = 0.6, 0.5
"""Share of the peak from which a unit limits a GPU; NVIDIA's Nsight Compute calls 0.6 high."""
_IDLE = 0.3
_HALVES = ("bf16", "fp16")


class Bound(NamedTuple):
    """What limits a GPU: the identifier and title of the finding, sentences, the remedy, and the kernel to name."""

    id: str
    title: str
    text: str
    remedy: str
    kernel: int


def bound_by_work(case: Case, target: TargetWork) -> Bound | None:
    """What limits the target by the work of its kernels; None unless most of it is known."""
    if not target.is_known or target.model is None:
        return None
    times = target.times()
    known = max(sum(times.values()), 1)
    limit = max((Limit.COMPUTE, Limit.MEMORY, Limit.LATENCY), key=lambda candidate: times[candidate])
    number = next(n for n, assessment in enumerate(target.assessments) if assessment.limit == limit)
    group, assessment = target.work.groups[number], target.assessments[number]
    needed = sum(
        a.compute_ns for a, g in zip(target.assessments, target.work.groups, strict=True) if g.work.is_matrix
    )
    shares = english(
        "Computation limits {compute:.0f} % of the kernel time, memory {memory:.0f} %, neither {latency:.0f} %.",
        compute=100 * times[Limit.COMPUTE] / known, memory=100 * times[Limit.MEMORY] / known,
        latency=100 * times[Limit.LATENCY] / known,
    )  # fmt: skip
    most = english(
        "The longest of these is {operator}, at {percent:.0f} % of the peak of {model}.",
        operator=operator_text(case, group), percent=100 * assessment.roof_ratio, model=target.model.name,
    )  # fmt: skip
    use = english("FLOPs utilization (MFU) is {percent:.1f} %.", percent=100 * needed / case.whole_ns)
    text = joined(" ", [part for part in (shares, most, use, _measured(case)[0]) if part])
    name, title, remedy = _named(case, limit, target)
    return Bound(name, title, text, remedy, group.kernel)


def _named(case: Case, limit: Limit, target: TargetWork) -> tuple[str, str, str]:
    """Identifier, title and remedy of a limit."""
    if limit == Limit.COMPUTE:
        halves = any(group.precision in _HALVES for group in target.work.groups if group.work.is_matrix)
        remedy = (
            english("Less work, or FP8 where the accuracy allows it.")
            if halves and target.model is not None and "fp8" in target.model.peaks
            else english("Only less work helps: the kernels use the hardware well.")
        )
        return (
            "gpu_compute_bound",
            english("The {device} is limited by computation", device=case.device),
            remedy,
        )
    if limit == Limit.MEMORY:
        single = any(group.precision == "fp32" for group in target.work.groups)
        remedy = (
            english("Move fewer bytes: bfloat16 (autocast) instead of float32, and fused operators.")
            if single
            else english(
                "Move fewer bytes: fuse operators, or use larger batches for products with few rows."
            )
        )
        return (
            "gpu_memory_bound",
            english("The {device} is limited by its memory", device=case.device),
            remedy,
        )
    title = english("Kernels use less than half of the {device}", device=case.device)
    remedy = english("Give each kernel more work: larger batches, fused operators.")
    return "gpu_small_kernels", title, with_room(case, remedy)


_UNITS = {
    "sm": re.compile(r"^SM active$"),
    "tensor": re.compile(r"^Tensor cores active$"),
    "dram": re.compile(r"^DRAM bandwidth$"),
}


def _measured(case: Case) -> tuple[str, dict[str, float]]:
    """The means of the GPU's counters while it computed: as a sentence, empty unless all are known, and by unit."""
    busy = case.pieces_of_category(NUMBER["computation"])
    means: dict[str, float] = {}
    for unit, pattern in _UNITS.items():
        counter = counter_of(case, pattern)
        values = while_busy(case, counter, busy) if counter is not None else np.empty(0)
        if len(values) >= _SAMPLES:
            means[unit] = float(values.mean())
    if len(means) < len(_UNITS):
        return "", means
    return english(
        "Measured while computing: SM active {sm:.0f} %, tensor cores {tensor:.0f} %, DRAM {dram:.0f} %.",
        **{unit: 100 * mean for unit, mean in means.items()},
    ), means  # fmt: skip


def bound_by_counters(case: Case) -> tuple[str, str]:
    """What limits the target by its own counters (GPM): identifier (empty: unclear) and sentence."""
    sentence, means = _measured(case)
    if not {"dram", "tensor"} <= set(means):
        return "", sentence
    if means["dram"] >= _BUSY_DRAM:
        return "gpu_memory_bound", sentence
    if means["tensor"] >= _BUSY_TENSOR:
        return "gpu_compute_bound", sentence
    if max(means["dram"], means["tensor"]) < _IDLE:
        return "gpu_small_kernels", sentence
    return "", sentence
