"""Columns of the events that Paddle's profiler writes into a Chrome trace. Pure functions.

Source of the format: ``chrometracing_logger.cc`` and ``nodetree.proto`` of PaddlePaddle.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from warpline.interchange.framework.columns import (
    MaskedColumn,
    TextColumn,
    integers,
    missing_numbers,
    nanoseconds,
    texts,
)
from warpline.interchange.torch.columns import (
    API,
    KERNEL,
    MEMCPY,
    MEMORY,
    MEMSET,
    OPERATOR,
    PHASE,
    PYTHON,
    TORCH_EXTRACTORS,
    extract_gpu,
)
from warpline.interchange.trace_json.arguments import DecodedArguments, Int64, decode_args
from warpline.interchange.trace_json.piece_columns import (
    INSTANTS,
    Extractor,
    Group,
    Loss,
    generic_route,
    points,
    spans,
)
from warpline.interchange.trace_json.trace_format import TraceFormat

RANGE = "range"
LAUNCH_FLOWS = "launch flows"
"""Arrows that repeat what correlation ids say."""

TYPES: tuple[str, ...] = (
    "Operator",
    "Dataloader",
    "ProfileStep",
    "CudaRuntime",
    "Kernel",
    "Memcpy",
    "Memset",
    "UserDefined",
    "OperatorInner",
    "Forward",
    "Backward",
    "Optimization",
    "Communication",
    "PythonOp",
    "PythonUserDefined",
    "DygraphKernelLaunch",
    "StaticKernelLaunch",
)
"""Paddle's event types; the index is the number in its protobuf files."""

ROUTES: Mapping[str, str] = {
    **dict.fromkeys(("ProfileStep", "Dataloader", "Forward", "Backward", "Optimization"), PHASE),
    **dict.fromkeys(("Operator", "OperatorInner", "DygraphKernelLaunch", "StaticKernelLaunch"), OPERATOR),
    **dict.fromkeys(("UserDefined", "PythonUserDefined", "Communication"), RANGE),
    "PythonOp": PYTHON,
    "CudaRuntime": API,
    "MluRuntime": API,
    "Kernel": KERNEL,
    "Memcpy": MEMCPY,
    "Memset": MEMSET,
}
MEMORY_CATEGORIES = ("Allocate", "Free", "ReservedAllocate", "ReservedFree")

_DURATION_IN_NAME = re.compile(r"\[\d+(?:\.\d+)? (?:ns|us|ms|s)\]$")
_PLACE = re.compile(r"Place\((?:(\w+?))(?::(\d+))?\)")


def paddle_route(phase: str, category: str) -> str:
    """The group of an event of a Paddle trace."""
    if phase == "X":
        group = ROUTES.get(category)
        if group is not None:
            return group
    if phase == "i" and category in MEMORY_CATEGORIES:
        return MEMORY
    if phase in ("s", "f") and category == "async":
        return LAUNCH_FLOWS
    return generic_route(phase, category)


def plain_name(name: str) -> str:
    """``conv2d[12.3 us]`` without its duration."""
    return _DURATION_IN_NAME.sub("", name)


def device_of_place(place: str) -> str:
    """``GPU 0`` for ``Place(gpu:0)``, ``CPU`` for ``Place(cpu)``; other text unchanged."""
    match = _PLACE.fullmatch(place)
    if match is None:
        return place
    name = {"cpu": "CPU", "gpu": "GPU"}.get(match[1], match[1])
    return name if match[2] is None else f"{name} {match[2]}"


class _SpanArgs(
    msgspec.Struct,
    gc=False,
    rename={"shapes": "input_shapes", "types": "input_dtypes", "stack": "callstack", "inputs": "attributes"},
):
    start_time: str = ""
    end_time: str = ""
    shapes: msgspec.Raw = msgspec.Raw(b"")
    types: msgspec.Raw = msgspec.Raw(b"")
    stack: str = ""
    inputs: msgspec.Raw = msgspec.Raw(b"")


class _StartArgs(msgspec.Struct, gc=False):
    start_time: str = ""


class _MemoryArgs(msgspec.Struct, gc=False):
    place: str = ""
    addr: str | int | None = None
    increase_bytes: Int64 | None = None
    current_allocated: Int64 | None = None
    current_reserved: Int64 | None = None


def _relative(args: DecodedArguments) -> MaskedColumn:
    """Starts relative to the first event (``"12.345 us"``) as masked int64 ns."""
    ns, missing = nanoseconds([arg.start_time.removesuffix(" us") or None for arg in args.values])
    return np.ma.MaskedArray(ns, missing)


def _without_durations(names: TextColumn) -> TextColumn:
    return texts([plain_name(names.table[code]) for code in names.codes.tolist()])


def extract_host(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Ranges, phases and operators."""
    rows, group = spans(rows, losses)
    args = decode_args(rows, _SpanArgs, losses)
    group.name = _without_durations(group.name)
    group.numbers["relative"] = _relative(args)
    for name in ("shapes", "types", "inputs"):
        column = args.json_texts(name)
        group.texts[name] = TextColumn(column.codes, ["" if text == "{}" else text for text in column.table])
    group.texts["stack"] = args.texts("stack")
    group.texts["payload"] = args.rest()
    for name in ("external", "sequence", "forward"):
        group.numbers[name] = missing_numbers(len(group))
    return group


def _renamed(extract: Extractor) -> Extractor:
    def extract_without_durations(rows: list[Any], losses: Counter[Loss]) -> Group:
        group = extract(rows, losses)
        assert isinstance(group, Group)
        group.name = _without_durations(group.name)
        group.numbers["relative"] = _relative(decode_args(rows, _StartArgs, losses))
        return group

    return extract_without_durations


def extract_python(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Python operators."""
    group = extract_host(rows, losses)
    group.numbers["own"] = group.numbers["parent"] = missing_numbers(len(group))
    return group


def extract_memory(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Allocations and releases."""
    rows, group = points(rows, losses)
    args = decode_args(rows, _MemoryArgs, losses)
    group.numbers["size"] = integers([arg.increase_bytes for arg in args.values])
    group.numbers["address"] = integers([arg.addr for arg in args.values])
    group.numbers["allocated"] = integers([arg.current_allocated for arg in args.values])
    group.numbers["reserved"] = integers([arg.current_reserved for arg in args.values])
    group.texts["device"] = texts([arg.place for arg in args.values], device_of_place)
    group.texts["payload"] = args.rest()
    return group


PADDLE_EXTRACTORS: Mapping[str, Extractor] = {
    **TORCH_EXTRACTORS,
    **dict.fromkeys((PHASE, RANGE, OPERATOR), extract_host),
    **dict.fromkeys((KERNEL, MEMCPY, MEMSET), _renamed(extract_gpu)),
    API: _renamed(TORCH_EXTRACTORS[API]),
    PYTHON: extract_python,
    MEMORY: extract_memory,
    INSTANTS: TORCH_EXTRACTORS["instants"],
}

PADDLE = TraceFormat(
    route=paddle_route, extractors=PADDLE_EXTRACTORS, claimed=frozenset({LAUNCH_FLOWS}), scannable=False
)
"""Traces of Paddle's profiler. Not scannable: the scanner does not read the arguments that refine their starts."""
