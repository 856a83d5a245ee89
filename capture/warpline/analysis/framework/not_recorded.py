"""Why a report has no rows when a capture lacks something, and what to record."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from warpline.analysis.framework.report import NotRecorded
from warpline.analysis.framework.selection import GPU_KINDS
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
        english("record with --trace cuda, which links both"),
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
        english("what threads waited for was not recorded"),
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
        english("calls of modules were not recorded"),
        english(
            "record a program that uses PyTorch or Paddle with --trace steps, or import a trace of PyTorch's profiler"
            " for which with_stack was on"
        ),
    ),
    "phase": NotRecorded(
        english("steps and phases were not recorded"),
        english(
            "record a training with PyTorch or Paddle with --trace steps, or import a trace in which the framework"
            " profiler's step() was called; --step NAME declares a range the step"
        ),
    ),
    "thread_state": NotRecorded(
        english("thread states were not recorded"), english("record with --trace cpu")
    ),
    "cpu_slice": NotRecorded(
        english("which thread ran on which core was not recorded"), english("record with --trace cpu")
    ),
    "python": NotRecorded(
        english("Python calls were not recorded"),
        english("switch with_stack on in the framework's profiler and import its trace"),
    ),
    "samples": NotRecorded(
        english("stacks were not sampled"),
        english(
            "record a Python program with --trace python, or import an export of Nsight Systems with CPU samples"
        ),
    ),
    "memory": NotRecorded(
        english("memory allocations were not recorded"),
        english("switch memory profiling on in the framework's profiler"),
    ),
}


def missing(what: str) -> NotRecorded:
    """Why a report has no rows when the capture does not hold ``what``."""
    return NOT_RECORDED[what]


_TOGETHER = ((frozenset({"memcpy", "memset"}), "memory_operations"), (frozenset(GPU_KINDS), "gpu"))
"""What kinds are called that a report needs one of, where none has a name of its own."""


def lacking(spec: ReportSpec, capture: Capture) -> NotRecorded | None:
    """Why a report has no rows, as far as that is known without computing it: None where there is what it needs."""
    if spec.needs and not any(kind in capture.kinds and len(capture.kinds[kind]) for kind in spec.needs):
        together = (name for kinds, name in _TOGETHER if kinds.issuperset(spec.needs))
        known = spec.needs[0] if len(spec.needs) == 1 else next(together, "")
        known = known or next((kind for kind in ("operator", *spec.needs) if kind in spec.needs), "")
        answer = NOT_RECORDED.get(known)
        if answer is None:
            return NotRecorded(english("needs events of kind {kinds}", kinds=" / ".join(sorted(spec.needs))))
        if known in _OF_GPUS and "imported_from" in capture.meta:
            return NotRecorded(_NO_GPU)
        return answer
    return missing("launch") if spec.of_launches and not _has_launches(capture) else None


def _has_launches(capture: Capture) -> bool:
    """Whether calls are linked with the work they launched: the first such link answers."""
    links = capture.links
    code = links.kinds.index(LAUNCH) if LAUNCH in links.kinds else -1
    return any((links.kind[at : at + _AT_ONCE] == code).any() for at in range(0, len(links.kind), _AT_ONCE))


_AT_ONCE = 1 << 16
_NO_GPU = english("the imported trace holds no work of a GPU")
_OF_GPUS = frozenset({"kernel", "gpu", "memory_operations"})
_ACCELERATOR = re.compile(r"mtia|npu|xpu|hpu|tpu|mlu|musa|ipu|privateuse", re.IGNORECASE)
"""Categories in which traces put the work of devices that are told as ranges here."""


def of_import(answer: NotRecorded, capture: Capture) -> NotRecorded:
    """The same answer for a capture that another profiler recorded: what the trace does hold, or what to switch on."""
    asked = next((name for name, known in NOT_RECORDED.items() if known is answer), "")
    if asked not in _OF_GPUS or "imported_from" not in capture.meta:
        return answer
    categories = _device_categories(capture)
    return NotRecorded(
        _NO_GPU,
        english(
            "it holds work of another device as ranges ({categories}); nvtx_sum adds up their times",
            categories=", ".join(categories),
        )
        if categories
        else english("switch the activity of the GPU on in the profiler that wrote it"),
    )


def _device_categories(capture: Capture) -> list[str]:
    found: set[str] = set()
    for table in capture.kinds.values():
        if "category" in table.attributes:
            values, valid = table.column("category")
            ids = np.unique(np.asarray(values)[valid]).tolist()
            found.update(text for text in capture.strings.get(ids) if _ACCELERATOR.search(text))
    return sorted(found)[:4]
