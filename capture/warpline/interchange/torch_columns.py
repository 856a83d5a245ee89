"""What PyTorch's profiler (Kineto) writes into a trace, as columns. Pure functions: decoded events in, columns out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Annotated, Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

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
MEMORY, OVERHEAD, PROFILER, PHASE = "memory", "overhead", "profiler", "phase"
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
    **dict.fromkeys(("profilestep", "dataloader", "forward", "backward", "optimization"), PHASE),
}
"""Groups of complete events by category, lower case; older spellings included."""
_API_CATEGORY = re.compile(r".*_(runtime|driver)")
_LAUNCH_FLOW_CATEGORIES = frozenset({"ac2g", "async", "async_cpu_to_gpu"})
MEMORY_NAME = "[memory]"

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


class GpuArgs(
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
    """Arguments of GPU work, of PyTorch and Paddle."""

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


class ApiArgs(msgspec.Struct, gc=False, rename={"correlation_paddle": "correlation id"}):
    """Arguments of runtime and driver calls."""

    cbid: Int64 = _NONE
    correlation: Int64 = _NONE
    cid: Int64 = _NONE
    correlation_paddle: Int64 = _NONE


class OperatorArgs(
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
    """Arguments of operators and annotations."""

    external: Int64 = _NONE
    external_old: Int64 = _NONE
    sequence: Int64 = _NONE
    forward: Int64 = _NONE
    inputs: msgspec.Raw = _NO_JSON
    types: msgspec.Raw = _NO_JSON
    shapes: msgspec.Raw = _NO_JSON
    stack: str = ""


class PythonArgs(msgspec.Struct, gc=False, rename={"parent": "Python parent id", "own": "Python id"}):
    """Arguments of Python functions; the outermost has null for its caller."""

    parent: Int64 | None = None
    own: Int64 | None = None


class MemoryArgs(
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
    """Arguments of allocations."""

    reserved: Int64 = _NONE
    allocated: Int64 = _NONE
    size: Int64 = _NONE
    address: Int64 = _NONE
    device: Int64 = _NONE
    device_type: Int64 = _NONE


class Arguments(Protocol):
    """Arguments of events as columns, in the order of the events; fields are those of a struct type."""

    def __len__(self) -> int: ...

    def has(self, name: str) -> bool:
        """Whether a field may occur."""
        ...

    def integers(self, name: str) -> MaskedColumn:
        """A field of integers, masked where it is missing."""
        ...

    def floats(self, name: str) -> MaskedColumn:
        """A field of floats, masked where it is missing."""
        ...

    def triples(self, name: str) -> npt.NDArray[np.int64]:
        """A field of three integers, one row per event, `NO_INTEGER` where it is missing."""
        ...

    def texts(self, name: str) -> TextColumn:
        """A field of texts, "" where it is missing."""
        ...

    def json_texts(self, name: str) -> TextColumn:
        """A field of any JSON as text, "" where it is missing."""
        ...


def either(args: Arguments, name: str, other: str) -> MaskedColumn:
    """A number that other versions of a profiler call otherwise."""
    column = args.integers(name)
    if not args.has(other) or not column.mask.any():
        return column
    second = args.integers(other)
    return np.ma.MaskedArray(np.where(column.mask, second.data, column.data), column.mask & second.mask)


@dataclass(frozen=True)
class DecodedArguments:
    """`Arguments` from decoded structs and the text they came from."""

    values: list[Any]
    text: bytes
    names: Mapping[str, bytes]
    """What each field is called in the text."""

    def __len__(self) -> int:
        return len(self.values)

    def has(self, name: str) -> bool:
        """Whether a field may occur; asking the text is quicker than looking at every event."""
        return self.names[name] in self.text

    def integers(self, name: str) -> MaskedColumn:
        """A field of integers, masked where it is missing."""
        if not self.has(name):
            return missing_numbers(len(self.values))
        values: Iterable[Any] = map(attrgetter(name), self.values)
        if isinstance(self.values[0], PythonArgs):
            values = map(_none, values)
        return plain_integers(values, len(self.values))

    def floats(self, name: str) -> MaskedColumn:
        """A field of floats, masked where it is missing."""
        return plain_floats(map(attrgetter(name), self.values), len(self.values))

    def triples(self, name: str) -> npt.NDArray[np.int64]:
        """See `Arguments.triples`."""
        flat = chain.from_iterable(map(attrgetter(name), self.values))
        return np.fromiter(flat, np.int64, 3 * len(self.values)).reshape(-1, 3)

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


def decode_args(rows: Sequence[Any], args_type: type[Any], losses: Counter[Loss]) -> DecodedArguments:
    """The arguments of events as structs; of arguments that do not fit, what fits, and they are counted."""
    text = b"[" + b",".join([row.args or b"{}" for row in rows]) + b"]"
    try:
        values: list[Any] = msgspec.json.decode(text, type=list[args_type])  # type: ignore[valid-type]  # run time
    except (msgspec.MsgspecError, RecursionError):
        values = [_fitting(bytes(row.args), args_type, losses) for row in rows]
    return DecodedArguments(values, text, _names(args_type))


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
    """Work of a GPU; see `fill_gpu`."""
    rows, group = spans(rows, losses, bare=True)
    args = decode_args(rows, GpuArgs, losses)
    if not fill_gpu(group, args):
        group.thread, places = _places_by_track(rows, args.values)
        group.places = _places(places)
    return group


def fill_gpu(group: Group, args: Arguments) -> bool:
    """Add where work ran (device, context, stream), its correlation id and what else is told of it.

    ``thread`` then holds codes into ``places``. False when the arguments do not tell the place of all.
    """
    numbers = group.numbers
    numbers["correlation"] = either(args, "correlation", "correlation_paddle")
    for name in _GPU_INTEGERS:
        if args.has(name):
            numbers[name] = args.integers(name)
    for name in ("blocks", "warps", "occupancy", "occupancy_paddle"):
        if args.has(name):
            numbers[name.removesuffix("_paddle")] = args.floats(name)
    for name in ("grid", "block"):
        if args.has(name):
            shape = args.triples(name)
            for axis, letter in enumerate("xyz"):
                numbers[f"{name}_{letter}"] = np.ma.MaskedArray(shape[:, axis], shape[:, axis] == _NONE)
    group.texts["sync_kind"] = args.texts("sync_kind")
    columns = [args.integers(name).filled(_NONE).tolist() for name in ("device", "context", "stream")]
    places = Coder()
    group.thread = np.fromiter(map(places.__getitem__, zip(*columns, strict=True)), np.uint32, len(args))
    group.places = _places(places)
    return not any(device is None or stream is None for device, _context, stream in group.places)


def _places(numbers: Iterable[tuple[int, ...]]) -> list[tuple[int | None, int | None, int | None]]:
    return [
        (*(None if number == _NONE else number for number in place),)  # type: ignore[misc]  # three of them
        for place in numbers
    ]


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


def _extractor(args_type: type[Any], fill: Callable[[Group, Arguments], bool]) -> Extractor:
    def extract(rows: list[Any], losses: Counter[Loss]) -> Group:
        rows, group = spans(rows, losses)
        fill(group, decode_args(rows, args_type, losses))
        return group

    return extract


def fill_api(group: Group, args: Arguments) -> bool:
    """Add what is told of runtime and driver calls."""
    group.numbers["correlation"] = either(args, "correlation", "correlation_paddle")
    group.numbers["callback"] = either(args, "cbid", "cid")
    return True


def fill_operators(group: Group, args: Arguments) -> bool:
    """Add what is told of operators and user annotations: shapes, sequence numbers, stacks."""
    group.numbers["external"] = either(args, "external", "external_old")
    # Kineto writes -1 for operators that have none.
    group.numbers["sequence"] = np.ma.masked_less(args.integers("sequence"), 0)
    group.numbers["forward"] = args.integers("forward")
    for name in ("shapes", "types", "inputs"):
        group.texts[name] = args.json_texts(name)
    group.texts["stack"] = args.texts("stack")
    return True


def fill_python(group: Group, args: Arguments) -> bool:
    """Add the ids of Python functions and of their callers."""
    group.numbers["own"] = args.integers("own")
    group.numbers["parent"] = args.integers("parent")
    return True


def fill_memory(group: Group, args: Arguments) -> bool:
    """Add sizes, addresses, totals and devices of allocations."""
    for name in ("reserved", "allocated", "size", "address", "device", "device_type"):
        group.numbers[name] = args.integers(name)
    return True


def extract_spans(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Events of which only name and time matter."""
    return spans(rows, losses)[1]


def extract_instants(rows: list[Any], losses: Counter[Loss]) -> dict[str, Group]:
    """Instants, with allocations apart from the others."""
    groups: dict[str, Group] = {}
    memory = [row for row in rows if row.name == MEMORY_NAME]
    if memory:
        memory, group = points(memory, losses)
        fill_memory(group, decode_args(memory, MemoryArgs, losses))
        groups[MEMORY] = group
    if len(memory) < len(rows):
        groups[INSTANTS] = extract_points([row for row in rows if row.name != MEMORY_NAME], losses)
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


FILLERS: Mapping[str, tuple[type[Any] | None, Callable[[Group, Arguments], bool] | None]] = {
    **dict.fromkeys((KERNEL, MEMCPY, MEMSET, SYNC, GPU_ANNOTATION), (GpuArgs, fill_gpu)),
    API: (ApiArgs, fill_api),
    OPERATOR: (OperatorArgs, fill_operators),
    ANNOTATION: (OperatorArgs, fill_operators),
    PYTHON: (PythonArgs, fill_python),
    MEMORY: (MemoryArgs, fill_memory),
    OVERHEAD: (None, None),
    PROFILER: (None, None),
    PHASE: (None, None),
}
"""For each group the type of its arguments and what adds them to the group's columns."""

TORCH_EXTRACTORS: Mapping[str, Extractor] = {
    **GENERIC_EXTRACTORS,
    **dict.fromkeys((KERNEL, MEMCPY, MEMSET, SYNC, GPU_ANNOTATION, GPU_OTHER), extract_gpu),
    API: _extractor(ApiArgs, fill_api),
    OPERATOR: _extractor(OperatorArgs, fill_operators),
    ANNOTATION: _extractor(OperatorArgs, fill_operators),
    PYTHON: _extractor(PythonArgs, fill_python),
    OVERHEAD: extract_spans,
    PROFILER: extract_spans,
    PHASE: extract_spans,
    INSTANTS: extract_instants,
}
