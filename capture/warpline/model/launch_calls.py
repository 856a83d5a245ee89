"""Calls that launch work on an accelerator, and what to say when that work itself was not recorded."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from warpline.i18n import english

LAUNCH_CALL = re.compile(
    r"^(cuda|cu|hip)(Ext|Module|Device)?(Graph)?Launch|^(cuda|hip)Memcpy\w*Async|^cuMemcpy\w*Async"
    r"|^aclrtLaunch|^rtKernelLaunch|^launch$|^Node@launch"
)
"""Names of launching calls in CUDA, HIP and Ascend's runtime (`launch` of CANN)."""
WORK_KINDS = frozenset(("kernel", "memcpy", "memset", "graph", "gpu_event"))
"""Kinds of events that occupy a GPU."""
_HOW_TO_RECORD = {
    "torch": english("Profile with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]."),
    "nsys": english("Record with nsys profile --trace=cuda, without --cuda-event-trace=false."),
    "nsys-hdf5": english("Record with nsys profile --trace=cuda, without --cuda-event-trace=false."),
    "paddle": english("Profile with targets=[ProfilerTarget.CPU, ProfilerTarget.GPU]."),
    "paddle-pb": english("Profile with targets=[ProfilerTarget.CPU, ProfilerTarget.GPU]."),
    "ascend": english("Profile with activities=[ProfilerActivity.CPU, ProfilerActivity.NPU]."),
}
_WITH_ROCPROF = english("Record with rocprofv3 --sys-trace.")
_AMD = re.compile(r"\b(AMD|gfx\d+|Instinct|Radeon)\b", re.IGNORECASE)


def is_of_amd(device: str) -> bool:
    """Whether a GPU is AMD's, by its name: Warpline does not record those."""
    return _AMD.search(device) is not None


def missing_work(kinds: Collection[str], names: Iterable[str], formats: Iterable[str]) -> str:
    """A stored sentence about missing GPU work and how to record it; empty if there is some, or nothing was launched.

    ``kinds`` are those with events, ``names`` those of the API calls, ``formats`` the importers of the files (none: a
    recording of Warpline).
    """
    if "cuda_api" not in kinds or WORK_KINDS & set(kinds):
        return ""
    launches = {match[0] for name in names if (match := LAUNCH_CALL.match(name))}
    if not launches:
        return ""
    known = [_HOW_TO_RECORD[name] for name in formats if name in _HOW_TO_RECORD]
    is_hip = any(name.startswith("hip") for name in launches)
    how = (
        known[0]
        if known
        else _WITH_ROCPROF
        if is_hip
        else english("Record with warpline record --trace cuda.")
    )
    return english(
        "The program launched GPU work, but the work itself was not recorded: whether the GPU waited is unknown. {how}",
        how=how,
    )
