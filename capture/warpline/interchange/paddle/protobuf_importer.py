"""Importer for Paddle's own profile files (``.pb``); Paddle need not be installed.

The messages are those of ``nodetree.proto`` of PaddlePaddle; times are nanoseconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from warpline.i18n import english, tr, tr_n
from warpline.interchange.framework.columns import (
    MAX_TIME_NS,
    Coder,
    floats,
    integers,
    missing_numbers,
    repeated_text,
    texts,
)
from warpline.interchange.framework.importer import CERTAIN, ImportOptions, ImportSummary
from warpline.interchange.framework.protobuf import (
    FieldStream,
    Message,
    ProtobufError,
    Value,
    float_of,
    integer_of,
    integers_of,
    message_of,
    read_fields,
    signed,
    text_of,
)
from warpline.interchange.framework.unpacking import UNPACKING_ERRORS, unpacked
from warpline.interchange.paddle.columns import (
    MEMORY_CATEGORIES,
    RANGE,
    ROUTES,
    TYPES,
    device_of_place,
)
from warpline.interchange.paddle.converter import PaddleConverter
from warpline.interchange.torch.columns import API, KERNEL, MEMCPY, MEMORY, MEMSET, PHASE
from warpline.interchange.trace_json.json_stream import StreamState
from warpline.interchange.trace_json.piece_columns import Group, Piece
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, Progress, check_cancelled

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_BATCH = 20_000
_ROOT = "root node"
_VERSION, _THREAD, _EXTRA_INFO, _DEVICE = 1, 3, 4, 5
"""Fields of the profile."""
_NODE = 2
"""The field of a thread's tree that holds one host node."""
_KERNEL_NUMBERS = {
    4: "grid_x", 5: "grid_y", 6: "grid_z", 1: "block_x", 2: "block_y", 3: "block_z", 9: "registers",
}  # fmt: skip


class ProtobufImporter:
    """The file that ``paddle.profiler.export_protobuf`` writes."""

    name = "paddle-pb"
    title = english("Paddle profiler protobuf file")
    patterns = ("*.pb",)
    position = 30

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`: a version text, a number, then a tree of threads."""
        del path
        if head[:1] != b"\x0a" or len(head) < 8 or head[1] > 20:
            return 0.0
        after = 2 + head[1]
        version = head[2:after]
        is_version = version.replace(b".", b"").isdigit() and version.count(b".") == 2
        return (
            CERTAIN
            if is_version and head[after : after + 1] == b"\x10" and b"\x1a" in head[after : after + 13]
            else 0.0
        )

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        """See `Importer.convert`."""
        converter = PaddleConverter(builder, options)
        state = StreamState()
        size = max(1, path.stat().st_size)
        rows: list[Row] = []
        with path.open("rb") as file:
            for row in _rows(FieldStream(unpacked(file, path), enter={(_THREAD,)}), state):
                rows.append(row)
                if len(rows) >= _BATCH:
                    check_cancelled(cancelled)
                    converter.absorb(_piece(rows))
                    rows = []
                    count = converter.events
                    progress(
                        file.tell() / size,
                        tr_n(
                            "{count:,} event of {name}", "{count:,} events of {name}", count, name=path.name
                        ),
                    )
        converter.absorb(_piece(rows))
        if not converter.events:
            raise ImportFormatError(
                tr(
                    "{path}: a Paddle profile without events. Export it again with "
                    "paddle.profiler.export_chrome_tracing(folder)",
                    path=path,
                )
            )
        return converter.finish(state)


class Row(msgspec.Struct, gc=False, kw_only=True):
    """One event: its group, the name of its type, and its messages."""

    group: str
    category: str
    name: str
    start: int
    stop: int
    message: Message
    process: int = 0
    thread: int = 0
    detail: Message = {}  # msgspec copies it


def _rows(fields: FieldStream, state: StreamState) -> Iterator[Row]:
    extra: dict[str, str] = {}
    devices: list[dict[str, Any]] = []
    try:
        for path, value in fields:
            if value is None:
                continue
            if path == (_VERSION,):
                state.header["schemaVersion"] = text_of(value)
            elif path == (_THREAD, _NODE) and isinstance(value, bytes):
                yield from _node_rows(value)
            elif path == (_EXTRA_INFO,):
                pair = message_of(value)
                extra[text_of(pair.get(1, b""))] = text_of(pair.get(2, b""))
            elif path == (_DEVICE,):
                devices.append(_device(message_of(value)))
    except (ProtobufError, *UNPACKING_ERRORS) as error:
        state.truncated = english("the protobuf message is damaged or ends early ({error})", error=error)
    state.bytes_read = fields.position
    state.header["ExtraInfo"] = extra
    state.header["deviceProperties"] = devices


def _device(message: Message) -> dict[str, Any]:
    names = {
        3: "totalGlobalMem", 4: "computeMajor", 5: "computeMinor", 6: "maxThreadsPerBlock",
        7: "maxThreadsPerMultiprocessor", 8: "regsPerBlock", 9: "regsPerMultiprocessor", 10: "warpSize",
        11: "sharedMemPerBlock", 12: "sharedMemPerMultiprocessor", 13: "smCount", 14: "sharedMemPerBlockOptin",
    }  # fmt: skip
    return {
        "id": _integer(message, 1),
        "name": _text(message, 2),
        **{name: integer_of(message[number]) for number, name in names.items() if number in message},
    }


def _node_rows(node: bytes) -> Iterator[Row]:
    """The events of a host node: its own, API calls with their GPU work, allocations."""
    supplement: Message = {}
    host: Message | None = None
    children: list[tuple[int, bytes]] = []
    for number, value in read_fields(node):
        if number == 3:
            host = message_of(value)
        elif number in (4, 5) and isinstance(value, bytes):
            children.append((number, value))
        elif number == 6:
            supplement = message_of(message_of(value).get(1, b""))
    if host is not None and _text(host, 1) != _ROOT:
        category = _category(_integer(host, 2))
        yield Row(
            group=ROUTES.get(category, RANGE),
            category=category,
            name=_text(host, 1),
            start=_integer(host, 3),
            stop=_integer(host, 4),
            process=_integer(host, 5),
            thread=_integer(host, 6),
            message=host,
            detail=supplement,
        )
    for number, child in children:
        if number == 4:
            yield from _runtime_rows(child)
        else:
            event = message_of(message_of(child).get(1, b""))
            yield Row(
                group=MEMORY,
                category=MEMORY_CATEGORIES[_integer(event, 2) % 4],
                name="[memory]",
                start=_integer(event, 1),
                stop=_integer(event, 1),
                process=_integer(event, 4),
                thread=_integer(event, 5),
                message=event,
            )


def _runtime_rows(node: bytes) -> Iterator[Row]:
    for number, value in read_fields(node):
        if number == 1:
            call = message_of(value)
            yield Row(
                group=API,
                category="CudaRuntime",
                name=_text(call, 1),
                start=_integer(call, 2),
                stop=_integer(call, 3),
                process=_integer(call, 4),
                thread=_integer(call, 5),
                message=call,
            )
        elif number == 2:
            work = message_of(message_of(value).get(1, b""))
            category = _category(_integer(work, 2))
            yield Row(
                group=ROUTES.get(category, KERNEL),
                category=category,
                name=_text(work, 1),
                start=_integer(work, 3),
                stop=_integer(work, 4),
                message=work,
                detail=next((message_of(work[field]) for field in (9, 10, 11) if field in work), {}),
            )


def _category(code: int) -> str:
    return TYPES[code] if code < len(TYPES) else f"type {code}"


def _integer(message: Message, field: int) -> int:
    return integer_of(message.get(field, 0))


def _text(message: Message, field: int) -> str:
    return text_of(message.get(field, b""))


def _piece(rows: Sequence[Row]) -> Piece:
    piece = Piece(events=len(rows))
    sorted_rows: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.start <= row.stop <= MAX_TIME_NS:
            sorted_rows[row.group].append(row)
        else:
            piece.losses[
                english("events with impossible times"),
                english("they end before they begin, or are centuries away"),
            ] += 1
    piece.groups = {name: _group(name, members) for name, members in sorted_rows.items()}
    return piece


def _group(name: str, rows: Sequence[Row]) -> Group:
    count = len(rows)
    start = np.array([row.start for row in rows], np.int64)
    keys = Coder()
    thread = np.fromiter((keys[row.process, row.thread] for row in rows), np.uint32, count)
    group = Group(
        threads=list(keys),
        thread=thread,
        start=start,
        duration=np.array([row.stop for row in rows], np.int64) - start,
        name=texts([row.name for row in rows]),
        category=texts([row.category for row in rows]),
    )
    group.numbers["no_duration"] = np.zeros(count, np.bool_)
    if name in (KERNEL, MEMCPY, MEMSET):
        _add_device_columns(name, group, rows)
    elif name == API:
        group.numbers["correlation"] = integers([row.message.get(6) for row in rows])
        group.numbers["callback"] = integers([row.message.get(7) for row in rows])
    elif name == MEMORY:
        group.numbers["size"] = integers([signed(_integer(row.message, 6)) for row in rows])
        for column, field in (("address", 3), ("allocated", 8), ("reserved", 9)):
            group.numbers[column] = integers([row.message.get(field) for row in rows])
        group.texts["device"] = texts([_text(row.message, 7) for row in rows], device_of_place)
    elif name not in (PHASE, RANGE):
        for column in ("external", "sequence", "forward", "own", "parent"):
            group.numbers[column] = missing_numbers(count)
        group.texts["shapes"] = texts([_shapes(row.detail.get(5)) for row in rows])
        group.texts["types"] = texts([_dtypes(row.detail.get(6)) for row in rows])
        group.texts["inputs"] = repeated_text("", count)
        group.texts["stack"] = texts([_text(row.detail, 7) for row in rows])
    return group


def _add_device_columns(name: str, group: Group, rows: Sequence[Row]) -> None:
    places = Coder()
    group.thread = np.fromiter(
        (places[tuple(_integer(row.message, field) for field in (5, 6, 7))] for row in rows),
        np.uint32,
        len(rows),
    )
    group.places = list(places)
    numbers = group.numbers
    numbers["correlation"] = integers([row.message.get(8) for row in rows])
    group.texts["sync_kind"] = repeated_text("", len(rows))
    if name == KERNEL:
        for field, column in _KERNEL_NUMBERS.items():
            numbers[column] = integers([row.detail.get(field) for row in rows])
        numbers["shared"] = integers(
            [_integer(row.detail, 7) + _integer(row.detail, 8) if row.detail else None for row in rows]
        )
        numbers["blocks"] = floats([float_of(row.detail.get(15, 0)) for row in rows])
        numbers["warps"] = floats([float_of(row.detail.get(16, 0)) for row in rows])
    else:
        numbers["bytes"] = integers([row.detail.get(1) for row in rows])
        if name == MEMSET:
            numbers["value"] = integers([row.detail.get(3) for row in rows])


def _shapes(value: Value | None) -> str:
    """An operator's input shapes as JSON (``{"X": [[2, 3]]}``); "" without any."""
    try:
        keys, vectors = _keyed(value)
        shapes = [
            [
                _numbers(shape)
                for field, shape in read_fields(vector)
                if field == 1 and isinstance(shape, bytes)
            ]
            for vector in vectors
        ]
    except ProtobufError:
        return ""
    return msgspec.json.encode(dict(zip(keys, shapes, strict=False))).decode() if keys else ""


def _dtypes(value: Value | None) -> str:
    """The types of an operator's inputs as JSON (``{"X": ["float32"]}``); "" without any."""
    try:
        keys, vectors = _keyed(value)
        types = [[text_of(dtype) for field, dtype in read_fields(vector) if field == 1] for vector in vectors]
    except ProtobufError:
        return ""
    return msgspec.json.encode(dict(zip(keys, types, strict=False))).decode() if keys else ""


def _keyed(value: Value | None) -> tuple[list[str], list[bytes]]:
    keys: list[str] = []
    vectors: list[bytes] = []
    if isinstance(value, bytes):
        for field, part in read_fields(value):
            if field == 1:
                keys.append(text_of(part))
            elif field == 2 and isinstance(part, bytes):
                vectors.append(part)
    return keys, vectors


def _numbers(shape: bytes) -> list[int]:
    return [signed(size) for field, value in read_fields(shape) if field == 1 for size in integers_of(value)]


importer = ProtobufImporter()
