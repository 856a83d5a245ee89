"""What PyTorch's profiler (Kineto) writes into a trace, as columns. Pure functions: decoded events in, columns out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from warpline.interchange.columns import Coder, floats, integers, raw_text, texts
from warpline.interchange.trace_events import Scalar
from warpline.interchange.trace_groups import (
    GENERIC_EXTRACTORS,
    Extractor,
    Group,
    Loss,
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
_INSTANT_MEMORY = "[memory]"

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


Value = int | float | str | list[Any] | dict[str, Any] | bool | None


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
    },
):
    device: Value = None
    context: Value = None
    stream: Value = None
    correlation: Value = None
    bytes: Value = None
    queued: Value = None
    registers: Value = None
    shared: Value = None
    blocks: Value = None
    warps: Value = None
    grid: list[Value] | None = None
    block: list[Value] | None = None
    occupancy: Value = None
    priority: Value = None
    graph: Value = None
    graph_node: Value = None
    sync_kind: Value = None
    event: Value = None
    external: Value = None


class _ApiArgs(msgspec.Struct, gc=False):
    correlation: Value = None
    cbid: Value = None
    cid: Value = None


_NOTHING = msgspec.Raw(b"")


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
    external: Value = None
    external_old: Value = None
    sequence: Value = None
    forward: Value = None
    inputs: msgspec.Raw = _NOTHING
    types: msgspec.Raw = _NOTHING
    shapes: msgspec.Raw = _NOTHING
    stack: Value = None


class _PythonArgs(msgspec.Struct, gc=False, rename={"parent": "Python parent id", "own": "Python id"}):
    parent: Value = None
    own: Value = None


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
    reserved: Value = None
    allocated: Value = None
    size: Value = None
    address: Value = None
    device: Value = None
    device_type: Value = None


def decode_args(rows: Sequence[Any], args_type: type[Any], losses: Counter[Loss]) -> list[Any]:
    """The arguments of events as structs; those that do not fit are empty and counted."""
    text = b"[" + b",".join([bytes(row.args) or b"{}" for row in rows]) + b"]"
    try:
        decoded: list[Any] = msgspec.json.decode(text, type=list[args_type])  # type: ignore[valid-type]  # run time
        return decoded
    except (msgspec.MsgspecError, RecursionError):
        pass
    result = []
    for row in rows:
        try:
            result.append(msgspec.json.decode(bytes(row.args) or b"{}", type=args_type))
        except (msgspec.MsgspecError, RecursionError):
            losses["arguments of events", "not what the profiler writes there; the events are kept"] += 1
            result.append(args_type())
    return result


def extract_gpu(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Work of a GPU: where it ran (device, context, stream), its correlation id and what else is told of it.

    ``thread`` holds codes into ``places`` here.
    """
    rows, group = spans(rows, losses)
    args = decode_args(rows, _GpuArgs, losses)
    places = Coder()
    group.thread = np.fromiter(
        (
            places[
                _number(row.pid if arg.device is None else arg.device),
                _number(arg.context),
                _number(row.tid if arg.stream is None else arg.stream),
            ]
            for row, arg in zip(rows, args, strict=True)
        ),
        np.uint32,
        len(rows),
    )
    group.places = list(places)
    numbers = group.numbers
    numbers["correlation"] = integers([arg.correlation for arg in args])
    for name, column in (
        ("bytes", [arg.bytes for arg in args]),
        ("registers", [arg.registers for arg in args]),
        ("shared", [arg.shared for arg in args]),
        ("queued", [arg.queued for arg in args]),
        ("priority", [arg.priority for arg in args]),
        ("graph", [arg.graph for arg in args]),
        ("graph_node", [arg.graph_node for arg in args]),
        ("stream", [_number(arg.stream) for arg in args]),
        ("event", [arg.event for arg in args]),
    ):
        if any(value is not None for value in column):
            numbers[name] = integers(column)
    for name, column in (
        ("blocks", [arg.blocks for arg in args]),
        ("warps", [arg.warps for arg in args]),
        ("occupancy", [arg.occupancy for arg in args]),
    ):
        if any(value is not None for value in column):
            numbers[name] = floats(column)
    for name in ("grid", "block"):
        shapes = [getattr(arg, name) for arg in args]
        if any(shape is not None for shape in shapes):
            for axis, letter in enumerate("xyz"):
                numbers[f"{name}_{letter}"] = integers(
                    [shape[axis] if shape is not None and len(shape) > axis else None for shape in shapes]
                )
    if any(arg.external is not None for arg in args):
        numbers["external"] = integers([arg.external for arg in args])
    group.texts["sync_kind"] = texts([_scalar(arg.sync_kind) for arg in args])
    return group


def extract_api(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Runtime and driver calls."""
    rows, group = spans(rows, losses)
    args = decode_args(rows, _ApiArgs, losses)
    group.numbers["correlation"] = integers([arg.correlation for arg in args])
    group.numbers["callback"] = integers([arg.cid if arg.cbid is None else arg.cbid for arg in args])
    return group


def extract_operators(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Operators and user annotations, with shapes, sequence numbers and stacks where they were recorded."""
    rows, group = spans(rows, losses)
    args = decode_args(rows, _OperatorArgs, losses)
    group.numbers["external"] = integers(
        [arg.external_old if arg.external is None else arg.external for arg in args]
    )
    sequence = integers([arg.sequence for arg in args])
    # Kineto writes -1 for operators that have none.
    group.numbers["sequence"] = np.ma.masked_less(sequence, 0)
    group.numbers["forward"] = integers([arg.forward for arg in args])
    for name in ("shapes", "types", "inputs"):
        group.texts[name] = texts([bytes(getattr(arg, name)) for arg in args], raw_text)
    group.texts["stack"] = texts([_scalar(arg.stack) for arg in args])
    return group


def extract_python(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Python functions with their ids and those of their callers."""
    rows, group = spans(rows, losses)
    args = decode_args(rows, _PythonArgs, losses)
    group.numbers["own"] = integers([arg.own for arg in args])
    group.numbers["parent"] = integers([arg.parent for arg in args])
    return group


def extract_spans(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Events of which only name and time matter."""
    return spans(rows, losses)[1]


def extract_instants(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Instants; allocations among them bring their columns along (masked for other instants)."""
    group = GENERIC_EXTRACTORS["instants"](rows, losses)
    if _INSTANT_MEMORY not in group.name.table:
        return group
    timed = [row for row in rows if row.ts is not None]
    if len(timed) != len(group):
        timed, _ = points(rows, Counter())
    args = decode_args(timed, _MemoryArgs, losses)
    for name in ("reserved", "allocated", "size", "address", "device", "device_type"):
        group.numbers[name] = integers([getattr(arg, name) for arg in args])
    return group


def _number(value: Any) -> int | None:
    """A number, or the one at the end of a text such as ``stream 7``."""
    if isinstance(value, str):
        match = re.search(r"-?\d{1,18}$", value.strip())
        return int(match[0]) if match else None
    if isinstance(value, (int, float)) and abs(value) < 1 << 62:
        return int(value)
    return None


def _scalar(value: Any) -> Scalar:
    return value if isinstance(value, (int, float, str)) else None


TORCH_EXTRACTORS: Mapping[str, Extractor] = {
    **GENERIC_EXTRACTORS,
    **dict.fromkeys((KERNEL, MEMCPY, MEMSET, SYNC, GPU_ANNOTATION, GPU_OTHER), extract_gpu),
    API: extract_api,
    OPERATOR: extract_operators,
    ANNOTATION: extract_operators,
    PYTHON: extract_python,
    OVERHEAD: extract_spans,
    PROFILER: extract_spans,
    "instants": extract_instants,
}
