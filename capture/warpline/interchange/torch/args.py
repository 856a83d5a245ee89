"""Arguments of events in traces of PyTorch and Paddle: what may be in them, and how they become columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Annotated, Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.framework.columns import (
    NO_INTEGER,
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
from warpline.interchange.trace_json.piece_columns import Loss

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
            values = map(none_as_number, values)
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
        return texts([bytes(value) for value in map(attrgetter(name), self.values)], _json_text)


def _json_text(value: bytes) -> str:
    return "" if value == b"null" else raw_text(value)


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
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        values = [_fitting(bytes(row.args), args_type, losses) for row in rows]
    return DecodedArguments(values, text, _names(args_type))


def _fitting(text: bytes, args_type: type[Any], losses: Counter[Loss]) -> Any:
    """Arguments of which some are not of the expected type."""
    try:
        return msgspec.json.decode(text or b"{}", type=args_type)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        losses[
            english("arguments of events"), english("not what the profiler writes there; the events are kept")
        ] += 1
    try:
        values = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return args_type()
    if not isinstance(values, dict):
        return args_type()
    result = args_type()
    for field in msgspec.structs.fields(args_type):
        value = values.get(field.encode_name)
        try:
            setattr(result, field.name, msgspec.convert(_plain(value, field.type), field.type))
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            continue
    return result


def _plain(value: Any, wanted: Any) -> Any:
    if wanted is float:
        return real(value)
    if wanted in (Int64, Int64 | None):
        return number_in(value)
    if wanted is msgspec.Raw and value is not None:
        return msgspec.Raw(msgspec.json.encode(value))
    return value


def none_as_number(number: int | None) -> int:
    """`NO_INTEGER` for None."""
    return _NONE if number is None else number


def number_in(value: Any) -> int | None:
    """A number, or the one at the end of a text such as ``stream 7``."""
    if isinstance(value, str):
        match = re.search(r"-?\d{1,18}$", value.strip())
        return int(match[0]) if match else None
    if isinstance(value, (int, float)) and abs(value) < 1 << 62:
        return int(value)
    return None
