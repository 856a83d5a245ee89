"""Paddle's types of events (ProfileStep, Dataloader, Forward, Operator …) for captures of any framework."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.selected.selected_events import SelectedEvents
from warpline.analysis.framework.selection import View
from warpline.model import UsageError
from warpline.model.communication import COMMUNICATION_CALL

if TYPE_CHECKING:
    from warpline.storage import Capture

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
"""Kinds whose events have a type."""

STEP = re.compile(r"^Profiler?Step(#|\s|\*|$)", re.IGNORECASE)
_BY_NAME = (
    ("ProfileStep", STEP),
    ("Dataloader", re.compile(r"DataLoader|data_loading|^dataload", re.IGNORECASE)),
    ("Optimization", re.compile(r"^Optimizer\.|^optimi[sz](er|ation)", re.IGNORECASE)),
    ("Forward", re.compile(r"^forward($|[ _#:.(])", re.IGNORECASE)),
    ("Backward", re.compile(r"^(gradient )?backward($|[ _#:.(])", re.IGNORECASE)),
    ("Communication", COMMUNICATION_CALL),
)
_NO_TYPE, _UNKNOWN = -1, -2
_CODES: WeakKeyDictionary[Capture, npt.NDArray[np.int8]] = WeakKeyDictionary()
"""The type that each string id's text implies, cached while the capture is open."""
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


def event_types(view: View, kind: str, events: SelectedEvents) -> Int64Array:
    """Codes into `HOST_TYPES` of events of one of `HOST_KINDS`.

    Determined by the recorded category if it is a type, else by the name (ProfilerStep#5, enumerate(DataLoader),
    Optimizer.step, forward …), else by the kind.
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


def types_of_names(view: View, kind: str, names: Int64Array) -> Int64Array | None:
    """Codes into `HOST_TYPES` of events of one of `HOST_KINDS` by name (string ids); None if categories decide."""
    default = type_code(_DEFAULT_OF_KIND[kind])
    if kind in {"cuda_api", "python"}:
        return np.full(len(names), default, np.int64)
    if "category" in view.capture.kinds[kind].attributes:
        return None
    return _of_names(view, names.astype(np.uint32), default)


def _of_names(view: View, names: npt.NDArray[np.uint32], default: int) -> Int64Array:
    known = _CODES.get(view.capture)
    if known is None:
        known = _CODES[view.capture] = np.full(max(len(view.capture.strings), 1), _UNKNOWN, np.int8)
    codes = known[names]
    if (codes == _UNKNOWN).any():
        distinct = _distinct(names[codes == _UNKNOWN], len(known))
        for name, text in zip(distinct.tolist(), view.capture.strings.get(distinct.tolist()), strict=True):
            matches = (type_code(title) for title, pattern in _BY_NAME if pattern.search(text))
            known[name] = next(matches, _NO_TYPE)
        codes = known[names]
    typed: Int64Array = np.where(codes >= 0, codes, default).astype(np.int64)
    return typed


def _of_categories(view: View, ids: npt.NDArray[Any]) -> Int64Array:
    n_strings = max(len(view.capture.strings), 1)
    ids = np.clip(ids, 0, n_strings - 1).astype(np.int64)
    distinct = _distinct(ids, n_strings)
    by_text = {text.casefold(): code for code, text in enumerate(HOST_TYPES)}
    codes = np.full(n_strings, -1, np.int8)
    codes[distinct] = [by_text.get(t.casefold(), -1) for t in view.capture.strings.get(distinct.tolist())]
    typed: Int64Array = codes[ids].astype(np.int64)
    return typed


def _distinct(ids: npt.NDArray[Any], n_strings: int) -> Int64Array:
    """The distinct string ids, ascending, without sorting."""
    used = np.zeros(n_strings, bool)
    used[ids] = True
    return np.flatnonzero(used).astype(np.int64)


def is_memory_operation(name: str) -> bool:
    """Whether a range's name denotes a copy or set of memory (GpuMemcpyAsync:CPU->GPU …)."""
    return bool(MEMORY_OPERATION.search(name))


def step_pattern(step: str | None) -> re.Pattern[str]:
    """The pattern of step names: ProfilerStep/ProfileStep, an exact name, or a regular expression between slashes.

    Raises UsageError for an invalid expression.
    """
    if not step:
        return STEP
    if len(step) > 2 and step.startswith("/") and step.endswith("/"):
        try:
            return re.compile(step[1:-1])
        except re.error as error:
            raise UsageError(f"not a regular expression: {step!r} ({error})") from error
    return re.compile(rf"^{re.escape(step)}$")
