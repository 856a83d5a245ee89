"""What PyTorch's profiler (Kineto) writes into a trace, as columns. Pure functions: decoded events in, columns out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from warpline.interchange.columns import (
    NO_INTEGER,
    Coder,
    TextColumn,
    plain_floats,
    plain_integers,
    raw_text,
    real,
    repeated_text,
    texts,
)
from warpline.interchange.trace_groups import (
    GENERIC_EXTRACTORS,
    INSTANTS,
    Extractor,
    Group,
    Loss,
    extract_points,
    generic_route,
    points,
    spans,
)

KERNEL, MEMCPY, MEMSET, SYNC = "kernel", "memcpy", "memset", "sync"
GPU_ANNOTATION, GPU_OTHER = "gpu_annotation", "gpu_event"
API, OPERATOR, ANNOTATION, PYTHON = "cuda_api", "operator", "annotation", "python"
MEMORY, OVERHEAD, PROFILER = "memory", "overhead", "profiler"
LAUNCH_FLOWS = "launch flows"

ROUTES: Mapping[str, str] = {
    "kernel": KERNEL,
    "gpu_memcpy": MEMCPY,
    "memcpy": MEMCPY,
    "gpu_memset": MEMSET,
    "memset": MEMSET,
    "cuda_sync": SYNC,
    "gpu_user_annotation": GPU_ANNOTATION,
    "runtime": API,
    "driver": API,
    "operator": OPERATOR,
    "cpu_op": OPERATOR,
    "user_annotation": ANNOTATION,
    "python_function": PYTHON,
    "pythonfunction": PYTHON,
    "overhead": OVERHEAD,
    "trace": PROFILER,
}
"""Groups of complete events by category, lower case; older spellings included."""
_API_CATEGORY = re.compile(r".*_(runtime|driver)")
_LAUNCH_FLOW_CATEGORIES = frozenset({"ac2g", "async", "async_cpu_to_gpu"})
_MEMORY_NAME = "[memory]"

CLAIMED = frozenset({LAUNCH_FLOWS})
"""Groups that need no columns: correlation ids say the same as these arrows."""
GPU_GROUPS = frozenset({KERNEL, MEMCPY, MEMSET, SYNC, GPU_ANNOTATION, GPU_OTHER})


def torch_route(phase: str, category: str) -> str:
    """The group of an event of a Kineto trace."""
    lower = category.lower()
    if phase == "X":
        found = ROUTES.get(lower)
        if found is None and _API_CATEGORY.fullmatch(lower):
            return API
        if found is not None:
            return found
    if phase in "stf" and phase and lower in _LAUNCH_FLOW_CATEGORIES:
        return LAUNCH_FLOWS
    return generic_route(phase, category)


_NONE = NO_INTEGER
_NAN = float("nan")
_NO_SHAPE = (_NONE, _NONE, _NONE)
_NO_JSON = msgspec.Raw(b"")


class _GpuArgs(
    msgspec.Struct,
    gc=False,
    rename={
        "registers": "registers per thread",
        "shared": "shared memory",
        "blocks": "blocks per SM",
        "warps": "warps per SM",
        "occupancy": "est. achieved occupancy %",
        "graph": "graph id",
        "graph_node": "graph node id",
        "sync_kind": "cuda_sync_kind",
        "event": "wait_on_cuda_event_id",
        "external": "External id",
        "correlation_paddle": "correlation id",
        "occupancy_paddle": "theoretical achieved occupancy %",
    },
):
    external: int = _NONE
    queued: int = _NONE
    device: int = _NONE
    context: int = _NONE
    stream: int = _NONE
    correlation: int = _NONE
    bytes: int = _NONE
    registers: int = _NONE
    shared: int = _NONE
    blocks: float = _NAN
    warps: float = _NAN
    grid: tuple[int, int, int] = _NO_SHAPE
    block: tuple[int, int, int] = _NO_SHAPE
    occupancy: float = _NAN
    priority: int = _NONE
    graph: int = _NONE
    graph_node: int = _NONE
    sync_kind: str = ""
    event: int = _NONE
    correlation_paddle: int = _NONE
    occupancy_paddle: float = _NAN
    value: int = _NONE


class _ApiArgs(msgspec.Struct, gc=False, rename={"correlation_paddle": "correlation id"}):
    cbid: int = _NONE
    correlation: int = _NONE
    cid: int = _NONE
    correlation_paddle: int = _NONE


class _OperatorArgs(
    msgspec.Struct,
    gc=False,
    rename={
        "external": "External id",
        "external_old": "external id",
        "sequence": "Sequence number",
        "forward": "Fwd thread id",
        "shapes": "Input Dims",
        "types": "Input type",
        "inputs": "Concrete Inputs",
        "stack": "Call stack",
    },
):
    external: int = _NONE
    external_old: int = _NONE
    sequence: int = _NONE
    forward: int = _NONE
    inputs: msgspec.Raw = _NO_JSON
    types: msgspec.Raw = _NO_JSON
    shapes: msgspec.Raw = _NO_JSON
    stack: str = ""


class _PythonArgs(msgspec.Struct, gc=False, rename={"parent": "Python parent id", "own": "Python id"}):
    parent: int | None = None
    own: int | None = None


class _MemoryArgs(
    msgspec.Struct,
    gc=False,
    rename={
        "reserved": "Total Reserved",
        "allocated": "Total Allocated",
        "size": "Bytes",
        "address": "Addr",
        "device": "Device Id",
        "device_type": "Device Type",
    },
):
    reserved: int = _NONE
    allocated: int = _NONE
    size: int = _NONE
    address: int = _NONE
    device: int = _NONE
    device_type: int = _NONE


def decode_args(rows: Sequence[Any], args_type: type[Any], losses: Counter[Loss]) -> list[Any]:
    """The arguments of events as structs; of arguments that do not fit, what fits, and they are counted."""
    text = b"[" + b",".join([row.args or b"{}" for row in rows]) + b"]"
    try:
        decoded: list[Any] = msgspec.json.decode(text, type=list[args_type])  # type: ignore[valid-type]  # run time
    except (msgspec.MsgspecError, RecursionError):
        return [_fitting(bytes(row.args), args_type, losses) for row in rows]
    return decoded


def _fitting(text: bytes, args_type: type[Any], losses: Counter[Loss]) -> Any:
    """Arguments of which some are not of the expected type."""
    try:
        return msgspec.json.decode(text or b"{}", type=args_type)
    except (msgspec.MsgspecError, RecursionError):
        losses["arguments of events", "not what the profiler writes there; the events are kept"] += 1
    try:
        values = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return args_type()
    if not isinstance(values, dict):
        return args_type()
    result = args_type()
    for field in msgspec.structs.fields(args_type):
        value = values.get(field.encode_name)
        try:
            setattr(result, field.name, msgspec.convert(_plain(value, field.type), field.type))
        except (msgspec.MsgspecError, RecursionError):
            continue
    return result


def _plain(value: Any, wanted: Any) -> Any:
    if wanted is float:
        return real(value)
    if wanted is int or wanted == int | None:
        number = _number(value)
        return number if number is not None and -(1 << 63) <= number < 1 << 63 else None
    if wanted is msgspec.Raw and value is not None:
        return msgspec.Raw(msgspec.json.encode(value))
    return value


def extract_gpu(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Work of a GPU: where it ran (device, context, stream), its correlation id and what else is told of it.

    ``thread`` holds codes into ``places`` here.
    """
    rows, group = spans(rows, losses)
    args = decode_args(rows, _GpuArgs, losses)
    places = Coder()
    group.thread = np.fromiter(
        map(
            places.__getitem__,
            zip(
                [arg.device for arg in args],
                [arg.context for arg in args],
                [arg.stream for arg in args],
                strict=True,
            ),
        ),
        np.uint32,
        len(rows),
    )
    if any(_NONE in (device, stream) for device, _context, stream in places):
        group.thread, places = _places_by_track(rows, args)
    group.places = [
        (*(None if number == _NONE else number for number in place),)  # type: ignore[misc]  # three of them
        for place in places
    ]
    numbers = group.numbers
    numbers["correlation"] = first_known(args, "correlation", "correlation_paddle")
    for name in (
        "bytes",
        "registers",
        "shared",
        "queued",
        "priority",
        "graph",
        "graph_node",
        "stream",
        "event",
        "external",
        "value",
    ):
        column = plain_integers([getattr(arg, name) for arg in args])
        if not column.mask.all():
            numbers[name] = column
    for name in ("blocks", "warps", "occupancy", "occupancy_paddle"):
        real_column = plain_floats([getattr(arg, name) for arg in args])
        if not real_column.mask.all():
            numbers[name.removesuffix("_paddle")] = real_column
    for name in ("grid", "block"):
        flat = chain.from_iterable([getattr(arg, name) for arg in args])
        shape = np.fromiter(flat, np.int64, 3 * len(args)).reshape(-1, 3)
        if (shape != _NONE).any():
            for axis, letter in enumerate("xyz"):
                numbers[f"{name}_{letter}"] = np.ma.MaskedArray(shape[:, axis], shape[:, axis] == _NONE)
    group.texts["sync_kind"] = texts([arg.sync_kind for arg in args])
    return group


def _places_by_track(rows: Sequence[Any], args: Sequence[Any]) -> tuple[Any, Coder]:
    """Device and stream from the ids of process and thread where the arguments lack them."""
    places = Coder()
    codes = [
        places[
            _none(_number(row.pid)) if arg.device == _NONE else arg.device,
            arg.context,
            _none(_number(row.tid)) if arg.stream == _NONE else arg.stream,
        ]
        for row, arg in zip(rows, args, strict=True)
    ]
    return np.array(codes, np.uint32), places


def extract_api(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Runtime and driver calls."""
    rows, group = spans(rows, losses)
    args = decode_args(rows, _ApiArgs, losses)
    group.numbers["correlation"] = first_known(args, "correlation", "correlation_paddle")
    group.numbers["callback"] = first_known(args, "cbid", "cid")
    return group


def extract_operators(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Operators and user annotations, with shapes, sequence numbers and stacks where they were recorded."""
    rows, group = spans(rows, losses)
    args = decode_args(rows, _OperatorArgs, losses)
    group.numbers["external"] = first_known(args, "external", "external_old")
    # Kineto writes -1 for operators that have none.
    group.numbers["sequence"] = np.ma.masked_less(plain_integers([arg.sequence for arg in args]), 0)
    group.numbers["forward"] = plain_integers([arg.forward for arg in args])
    for name in ("shapes", "types", "inputs"):
        group.texts[name] = json_texts([getattr(arg, name) for arg in args])
    group.texts["stack"] = texts([arg.stack for arg in args])
    return group


def first_known(args: Sequence[Any], name: str, other: str) -> Any:
    """A number that other versions of the profiler call otherwise."""
    column = plain_integers([getattr(arg, name) for arg in args])
    if not column.mask.any():
        return column
    second = plain_integers([getattr(arg, other) for arg in args])
    values = np.where(column.mask, second.data, column.data)
    return np.ma.MaskedArray(values, column.mask & second.mask)


def json_texts(values: list[msgspec.Raw]) -> TextColumn:
    if not any(values):
        return repeated_text("", len(values))
    return texts([bytes(value) for value in values], raw_text)


def extract_python(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Python functions with their ids and those of their callers."""
    rows, group = spans(rows, losses)
    args = decode_args(rows, _PythonArgs, losses)
    group.numbers["own"] = plain_integers([_none(arg.own) for arg in args])
    group.numbers["parent"] = plain_integers([_none(arg.parent) for arg in args])
    return group


def extract_spans(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Events of which only name and time matter."""
    return spans(rows, losses)[1]


def extract_instants(rows: list[Any], losses: Counter[Loss]) -> dict[str, Group]:
    """Instants, with allocations apart from the others."""
    groups: dict[str, Group] = {}
    memory = [row for row in rows if row.name == _MEMORY_NAME]
    if memory:
        memory, group = points(memory, losses)
        args = decode_args(memory, _MemoryArgs, losses)
        for name in ("reserved", "allocated", "size", "address", "device", "device_type"):
            group.numbers[name] = plain_integers([getattr(arg, name) for arg in args])
        groups[MEMORY] = group
    if len(memory) < len(rows):
        groups[INSTANTS] = extract_points([row for row in rows if row.name != _MEMORY_NAME], losses)
    return groups


def _none(number: int | None) -> int:
    return _NONE if number is None else number


def _number(value: Any) -> int | None:
    """A number, or the one at the end of a text such as ``stream 7``."""
    if isinstance(value, str):
        match = re.search(r"-?\d{1,18}$", value.strip())
        return int(match[0]) if match else None
    if isinstance(value, (int, float)) and abs(value) < 1 << 62:
        return int(value)
    return None


TORCH_EXTRACTORS: Mapping[str, Extractor] = {
    **GENERIC_EXTRACTORS,
    **dict.fromkeys((KERNEL, MEMCPY, MEMSET, SYNC, GPU_ANNOTATION, GPU_OTHER), extract_gpu),
    API: extract_api,
    OPERATOR: extract_operators,
    ANNOTATION: extract_operators,
    PYTHON: extract_python,
    OVERHEAD: extract_spans,
    PROFILER: extract_spans,
    INSTANTS: extract_instants,
}
