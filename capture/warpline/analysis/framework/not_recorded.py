"""Reasons why a report has no rows, and what to record."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from warpline.analysis.framework.report import NotRecorded
from warpline.analysis.framework.selection import GPU_KINDS, own_kinds, recorded_kinds
from warpline.i18n import english
from warpline.model.links import LAUNCH

if TYPE_CHECKING:
    from warpline.analysis.framework.report_spec import ReportSpec
    from warpline.storage import Capture

NOT_RECORDED = {
    "cuda_api": NotRecorded(
        english("CUDA API calls were not recorded"),
        english("record with --trace cuda, or import a capture that holds them"),
    ),
    "kernel": NotRecorded(
        english("GPU kernels were not recorded"),
        english("record on a machine with a GPU with --trace cuda, or import a capture that holds them"),
    ),
    "memory_operations": NotRecorded(
        english("GPU copies and sets were not recorded"), english("record with --trace cuda")
    ),
    "gpu": NotRecorded(
        english("GPU work was not recorded"), english("record on a machine with a GPU with --trace cuda")
    ),
    "launch": NotRecorded(
        english("no GPU work is linked to the call that launched it"),
        english("record with --trace cuda"),
    ),
    "range": NotRecorded(
        english("ranges were not recorded"),
        english("annotate the program with NVTX and record with --trace nvtx"),
    ),
    "osrt": NotRecorded(
        english("OS runtime calls were not recorded"),
        english("record with --trace osrt, or import an export of Nsight Systems with OS runtime calls"),
    ),
    "wait": NotRecorded(
        english("reasons for waiting were not recorded"),
        english("record the program with Warpline and --trace cpu,osrt"),
    ),
    "operator": NotRecorded(
        english("operators were not recorded"),
        english(
            "record a program with --trace torch (PyTorch) or --trace paddle (Paddle),"
            " or import a trace of its profiler"
        ),
    ),
    "module": NotRecorded(
        english("module calls were not recorded"),
        english(
            "record a PyTorch or Paddle program with --trace steps, or import a trace of PyTorch's profiler"
            " taken with with_stack"
        ),
    ),
    "phase": NotRecorded(
        english("steps and phases were not recorded"),
        english(
            "record a PyTorch or Paddle training with --trace steps, or import a trace for which the framework"
            " profiler's step() was called; --step NAME uses a range as the step"
        ),
    ),
    "thread_state": NotRecorded(
        english("thread states were not recorded"), english("record with --trace cpu")
    ),
    "cpu_slice": NotRecorded(
        english("use of the cores was not recorded"), english("record with --trace cpu")
    ),
    "python": NotRecorded(
        english("Python calls were not recorded"),
        english("turn on with_stack in the framework's profiler and import its trace"),
    ),
    "samples": NotRecorded(
        english("stack samples were not recorded"),
        english(
            "record a Python program with --trace python, or import an export of Nsight Systems with CPU samples"
        ),
    ),
    "memory": NotRecorded(
        english("memory allocations were not recorded"),
        english("turn on memory profiling in the framework's profiler"),
    ),
}


def missing(what: str) -> NotRecorded:
    """The reason for a report without rows when the capture lacks ``what``."""
    return NOT_RECORDED[what]


_TOGETHER = ((frozenset({"memcpy", "memset"}), "memory_operations"), (frozenset(GPU_KINDS), "gpu"))
"""Names of sets of kinds of which a report needs at least one."""


def lacking(spec: ReportSpec, capture: Capture) -> NotRecorded | None:
    """Why a report cannot have rows, without computing it; None if the capture holds what it needs."""
    if spec.needs and own_kinds(capture).isdisjoint(spec.needs):
        together = (name for kinds, name in _TOGETHER if kinds.issuperset(spec.needs))
        known = spec.needs[0] if len(spec.needs) == 1 else next(together, "")
        known = known or next((kind for kind in ("operator", *spec.needs) if kind in spec.needs), "")
        answer = NOT_RECORDED.get(known)
        if not recorded_kinds(capture).isdisjoint(spec.needs):
            return _NOT_IN_PART
        if answer is None:
            return NotRecorded(english("needs events of kind {kinds}", kinds=" / ".join(sorted(spec.needs))))
        if known in _OF_GPUS and "imported_from" in capture.meta:
            return NotRecorded(_NO_GPU)
        return answer
    return missing("launch") if spec.of_launches and not _has_launches(capture) else None


def _has_launches(capture: Capture) -> bool:
    """Whether the capture links any call to the work it launched."""
    links = capture.links
    code = links.kinds.index(LAUNCH) if LAUNCH in links.kinds else -1
    return any((links.kind[at : at + _AT_ONCE] == code).any() for at in range(0, len(links.kind), _AT_ONCE))


_AT_ONCE = 1 << 16
_NOT_IN_PART = NotRecorded(
    english("the exported range holds no such events, but the whole capture does"),
    english("export a longer range"),
)
_NO_GPU = english("the imported trace contains no GPU work")
_OF_GPUS = frozenset({"kernel", "gpu", "memory_operations"})
_ACCELERATOR = re.compile(r"mtia|npu|xpu|hpu|tpu|mlu|musa|ipu|privateuse", re.IGNORECASE)
"""Categories of device work that importers store as ranges."""


def of_import(answer: NotRecorded, capture: Capture) -> NotRecorded:
    """The answer adapted to a capture that is a part of another one, or was imported: what the trace contains instead,
    or what to turn on.
    """
    subject = next((name for name, known in NOT_RECORDED.items() if known is answer), "")
    kinds = next((kinds for kinds, name in _TOGETHER if name == subject), {subject})
    if not (recorded_kinds(capture) - own_kinds(capture)).isdisjoint(kinds):
        return _NOT_IN_PART
    if subject not in _OF_GPUS or "imported_from" not in capture.meta:
        return answer
    categories = _device_categories(capture)
    return NotRecorded(
        _NO_GPU,
        english(
            "work of another device is stored as ranges ({categories}); nvtx_sum sums their times",
            categories=", ".join(categories),
        )
        if categories
        else english("turn on GPU activity in the profiler that wrote it"),
    )


def _device_categories(capture: Capture) -> list[str]:
    names: set[str] = set()
    for table in capture.kinds.values():
        if "category" in table.attributes:
            values, valid = table.column("category")
            ids = np.unique(np.asarray(values)[valid]).tolist()
            names.update(text for text in capture.strings.get(ids) if _ACCELERATOR.search(text))
    return sorted(names)[:4]
