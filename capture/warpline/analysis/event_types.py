"""Paddle's types of events (ProfileStep, Dataloader, Forward, Operator …) for captures of any framework."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.selection import Events, View
from warpline.model import UsageError

Int64Array = npt.NDArray[np.int64]

HOST_TYPES = (
    "ProfileStep",
    "Dataloader",
    "Forward",
    "Backward",
    "Optimization",
    "Operator",
    "OperatorInner",
    "DygraphKernelLaunch",
    "CudaRuntime",
    "UserDefined",
    "PythonUserDefined",
    "Communication",
    "PythonOp",
    "MluRuntime",
    "StaticKernelLaunch",
)
PHASES = ("Dataloader", "Forward", "Backward", "Optimization")
HOST_KINDS = ("phase", "range", "operator", "cuda_api", "python", "other")
"""Kinds whose events have one of the types."""

STEP = re.compile(r"^Profiler?Step(#|\s|\*|$)", re.IGNORECASE)
_BY_NAME = (
    ("ProfileStep", STEP),
    ("Dataloader", re.compile(r"DataLoader|data_loading|^dataload", re.IGNORECASE)),
    ("Optimization", re.compile(r"^Optimizer\.|^optimi[sz](er|ation)", re.IGNORECASE)),
    ("Forward", re.compile(r"^forward($|[ _#:.(])", re.IGNORECASE)),
    ("Backward", re.compile(r"^(gradient )?backward($|[ _#:.(])", re.IGNORECASE)),
    (
        "Communication",
        re.compile(r"^(nccl|rccl|hccl|c10d|gloo|oneccl)[:_]|^record_param_comms", re.IGNORECASE),
    ),
)
MEMORY_OPERATION = re.compile(r"memcpy|memorycopy|memset", re.IGNORECASE)
_DEFAULT_OF_KIND = {
    "phase": "UserDefined",
    "range": "PythonUserDefined",
    "operator": "Operator",
    "cuda_api": "CudaRuntime",
    "python": "PythonOp",
    "other": "UserDefined",
}


def type_code(name: str) -> int:
    """The code of a host type."""
    return HOST_TYPES.index(name)


def event_types(view: View, kind: str, events: Events) -> Int64Array:
    """Codes into `HOST_TYPES` of events of one of `HOST_KINDS`.

    What the recorder wrote as category decides where it is one of the types. Otherwise the name does (ProfilerStep#5,
    enumerate(DataLoader), Optimizer.step, forward …), else the kind.
    """
    default = type_code(_DEFAULT_OF_KIND[kind])
    if kind in {"cuda_api", "python"}:
        return np.full(len(events), default, np.int64)
    codes = _of_names(view, events.name, default)
    if "category" in view.capture.kinds[kind].attributes:
        category = view.column(kind, "category", events.index)
        known = _of_categories(view, np.ma.filled(category, 0))
        codes = np.where((known >= 0) & ~np.ma.getmaskarray(category), known, codes)
    return codes


def _of_names(view: View, names: npt.NDArray[np.uint32], default: int) -> Int64Array:
    distinct, inverse = np.unique(names, return_inverse=True)
    codes = np.full(len(distinct), default, np.int64)
    for place, text in enumerate(view.capture.strings.get(distinct.tolist())):
        for name, pattern in _BY_NAME:
            if pattern.search(text):
                codes[place] = type_code(name)
                break
    return codes[inverse]


def _of_categories(view: View, ids: npt.NDArray[Any]) -> Int64Array:
    distinct, inverse = np.unique(ids, return_inverse=True)
    by_text = {text.casefold(): code for code, text in enumerate(HOST_TYPES)}
    codes = np.array(
        [by_text.get(text.casefold(), -1) for text in view.capture.strings.get(distinct.tolist())], np.int64
    )
    return codes[inverse] if len(distinct) else np.full(len(ids), -1, np.int64)


def is_memory_operation(name: str) -> bool:
    """Whether a range's name says that it copies or sets memory (GpuMemcpyAsync:CPU->GPU …)."""
    return bool(MEMORY_OPERATION.search(name))


def step_pattern(step: str | None) -> re.Pattern[str]:
    """The names that are steps: ProfilerStep/ProfileStep, one exact name, or a regular expression between slashes.

    Raises UsageError for an expression that does not compile.
    """
    if not step:
        return STEP
    if len(step) > 2 and step.startswith("/") and step.endswith("/"):
        try:
            return re.compile(step[1:-1])
        except re.error as error:
            raise UsageError(f"not a regular expression: {step!r} ({error})") from error
    return re.compile(rf"^{re.escape(step)}$")
