"""What PyTorch's profiler (Kineto) writes into a trace, as columns. Pure functions: decoded events in, columns out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Annotated, Any

import msgspec
import numpy as np

from warpline.interchange.columns import (
    NO_INTEGER,
    Coder,
    MaskedColumn,
    TextColumn,
    missing_numbers,
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


Int64 = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]

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
    external: Int64 = _NONE
    queued: Int64 = _NONE
    device: Int64 = _NONE
    context: Int64 = _NONE
    stream: Int64 = _NONE
    correlation: Int64 = _NONE
    bytes: Int64 = _NONE
    registers: Int64 = _NONE
    shared: Int64 = _NONE
    blocks: float = _NAN
    warps: float = _NAN
    grid: tuple[Int64, Int64, Int64] = _NO_SHAPE
    block: tuple[Int64, Int64, Int64] = _NO_SHAPE
    occupancy: float = _NAN
    priority: Int64 = _NONE
    graph: Int64 = _NONE
    graph_node: Int64 = _NONE
    sync_kind: str = ""
    event: Int64 = _NONE
    correlation_paddle: Int64 = _NONE
    occupancy_paddle: float = _NAN
    value: Int64 = _NONE


class _ApiArgs(msgspec.Struct, gc=False, rename={"correlation_paddle": "correlation id"}):
    cbid: Int64 = _NONE
    correlation: Int64 = _NONE
    cid: Int64 = _NONE
    correlation_paddle: Int64 = _NONE


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
    external: Int64 = _NONE
    external_old: Int64 = _NONE
    sequence: Int64 = _NONE
    forward: Int64 = _NONE
    inputs: msgspec.Raw = _NO_JSON
    types: msgspec.Raw = _NO_JSON
    shapes: msgspec.Raw = _NO_JSON
    stack: str = ""


class _PythonArgs(msgspec.Struct, gc=False, rename={"parent": "Python parent id", "own": "Python id"}):
    parent: Int64 | None = None
    own: Int64 | None = None


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
    reserved: Int64 = _NONE
    allocated: Int64 = _NONE
    size: Int64 = _NONE
    address: Int64 = _NONE
    device: Int64 = _NONE
    device_type: Int64 = _NONE


@dataclass(frozen=True)
class Arguments:
    """Decoded arguments of events: structs in the order of the events, and the text they came from."""

    values: list[Any]
    text: bytes
    names: Mapping[str, bytes]
    """What each field is called in the text."""

    def has(self, name: str) -> bool:
        """Whether a field may occur; asking the text is quicker than looking at every event."""
        return self.names[name] in self.text

    def integers(self, name: str) -> MaskedColumn:
        """A field of integers, masked where it is missing."""
        if not self.has(name):
            return missing_numbers(len(self.values))
        return plain_integers(map(attrgetter(name), self.values), len(self.values))

    def floats(self, name: str) -> MaskedColumn:
        """A field of floats, masked where it is missing."""
        return plain_floats(map(attrgetter(name), self.values), len(self.values))

    def either(self, name: str, other: str) -> MaskedColumn:
        """A number that other versions of a profiler call otherwise."""
        column = self.integers(name)
        if not self.has(other) or not column.mask.any():
            return column
        second = self.integers(other)
        return np.ma.MaskedArray(np.where(column.mask, second.data, column.data), column.mask & second.mask)

    def texts(self, name: str) -> TextColumn:
        """A field of texts, "" where it is missing."""
        if not self.has(name):
            return repeated_text("", len(self.values))
        return texts(list(map(attrgetter(name), self.values)))

    def json_texts(self, name: str) -> TextColumn:
        """A field of any JSON as text, "" where it is missing."""
        if not self.has(name):
            return repeated_text("", len(self.values))
        return texts([bytes(value) for value in map(attrgetter(name), self.values)], raw_text)


_NAMES: dict[str, Mapping[str, bytes]] = {}


def _names(args_type: type[Any]) -> Mapping[str, bytes]:
    """What each field of a struct is called in JSON text, quotation marks included."""
    key = f"{args_type.__module__}.{args_type.__qualname__}"
    if key not in _NAMES:
        _NAMES[key] = {
            field.name: f'"{field.encode_name}"'.encode() for field in msgspec.structs.fields(args_type)
        }
    return _NAMES[key]


def decode_args(rows: Sequence[Any], args_type: type[Any], losses: Counter[Loss]) -> Arguments:
    """The arguments of events as structs; of arguments that do not fit, what fits, and they are counted."""
    text = b"[" + b",".join([row.args or b"{}" for row in rows]) + b"]"
    try:
        values: list[Any] = msgspec.json.decode(text, type=list[args_type])  # type: ignore[valid-type]  # run time
    except (msgspec.MsgspecError, RecursionError):
        values = [_fitting(bytes(row.args), args_type, losses) for row in rows]
    return Arguments(values, text, _names(args_type))


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
    if wanted in (Int64, Int64 | None):
        return _number(value)
    if wanted is msgspec.Raw and value is not None:
        return msgspec.Raw(msgspec.json.encode(value))
    return value


_GPU_INTEGERS = (
    "bytes", "registers", "shared", "queued", "priority", "graph", "graph_node", "stream", "event", "external", "value",
)  # fmt: skip


def extract_gpu(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Work of a GPU: where it ran (device, context, stream), its correlation id and what else is told of it.

    ``thread`` holds codes into ``places`` here.
    """
    rows, group = spans(rows, losses, bare=True)
    args = decode_args(rows, _GpuArgs, losses)
    places = Coder()
    fields = (map(attrgetter(name), args.values) for name in ("device", "context", "stream"))
    group.thread = np.fromiter(map(places.__getitem__, zip(*fields, strict=True)), np.uint32, len(rows))
    if any(_NONE in (device, stream) for device, _context, stream in places):
        group.thread, places = _places_by_track(rows, args.values)
    group.places = [
        (*(None if number == _NONE else number for number in place),)  # type: ignore[misc]  # three of them
        for place in places
    ]
    numbers = group.numbers
    numbers["correlation"] = args.either("correlation", "correlation_paddle")
    for name in _GPU_INTEGERS:
        if args.has(name):
            numbers[name] = args.integers(name)
    for name in ("blocks", "warps", "occupancy", "occupancy_paddle"):
        if args.has(name):
            numbers[name.removesuffix("_paddle")] = args.floats(name)
    for name in ("grid", "block"):
        if args.has(name):
            flat = chain.from_iterable(map(attrgetter(name), args.values))
            shape = np.fromiter(flat, np.int64, 3 * len(rows)).reshape(-1, 3)
            for axis, letter in enumerate("xyz"):
                numbers[f"{name}_{letter}"] = np.ma.MaskedArray(shape[:, axis], shape[:, axis] == _NONE)
    group.texts["sync_kind"] = args.texts("sync_kind")
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
    group.numbers["correlation"] = args.either("correlation", "correlation_paddle")
    group.numbers["callback"] = args.either("cbid", "cid")
    return group


def extract_operators(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Operators and user annotations, with shapes, sequence numbers and stacks where they were recorded."""
    rows, group = spans(rows, losses)
    args = decode_args(rows, _OperatorArgs, losses)
    group.numbers["external"] = args.either("external", "external_old")
    # Kineto writes -1 for operators that have none.
    group.numbers["sequence"] = np.ma.masked_less(args.integers("sequence"), 0)
    group.numbers["forward"] = args.integers("forward")
    for name in ("shapes", "types", "inputs"):
        group.texts[name] = args.json_texts(name)
    group.texts["stack"] = args.texts("stack")
    return group


def extract_python(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Python functions with their ids and those of their callers."""
    rows, group = spans(rows, losses)
    args = decode_args(rows, _PythonArgs, losses)
    group.numbers["own"] = plain_integers((_none(arg.own) for arg in args.values), len(rows))
    group.numbers["parent"] = plain_integers((_none(arg.parent) for arg in args.values), len(rows))
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
            group.numbers[name] = args.integers(name)
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
