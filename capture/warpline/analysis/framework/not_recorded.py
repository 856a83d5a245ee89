"""Why a report has no rows when a capture lacks something, and what to record."""

from __future__ import annotations

from warpline.analysis.framework.report import NotRecorded
from warpline.i18n import english

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
        english("import a trace of the framework's profiler"),
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
