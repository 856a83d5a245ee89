"""Why a report has no rows when a capture lacks something, and what to record."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from warpline.analysis.framework.report import NotRecorded
from warpline.i18n import english

if TYPE_CHECKING:
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
        english("record a program that uses PyTorch with --trace torch, or import a trace of its profiler"),
    ),
    "module": NotRecorded(
        english("calls of modules were not recorded"),
        english(
            "record a program that uses PyTorch with --trace steps,"
            " or import a trace of its profiler for which with_stack was on"
        ),
    ),
    "phase": NotRecorded(
        english("steps and phases were not recorded"),
        english(
            "record a training with PyTorch with --trace steps, or import a trace in which the framework profiler's"
            " step() was called; --step NAME declares a range the step"
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
        english("the imported trace holds no work of a GPU"),
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
