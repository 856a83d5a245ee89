"""Writes attributes of events as arguments of a Chrome trace, with the PyTorch profiler's names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import orjson

from warpline.untrusted import number_in

if TYPE_CHECKING:
    from warpline.model import Track
    from warpline.storage import Capture, KindTable

Int64Array = npt.NDArray[np.int64]
ObjectArray = npt.NDArray[np.object_]

_STEP = re.compile(r"Profiler?Step#\d{1,12}")
_BANDWIDTH = "memory bandwidth (GB/s)"
_NUMBERS = {"event_index": "Ev Idx", "record_function_id": "Record function id"}
# Kind → attribute → argument. Other attributes keep their names.
_NAMES: Mapping[str, Mapping[str, str]] = {
    "kernel": {
        "registers_per_thread": "registers per thread",
        "blocks_per_sm": "blocks per SM",
        "warps_per_sm": "warps per SM",
        "priority": "priority",
        "graph_node_id": "graph node id",
        "graph_id": "graph id",
    },
    "memcpy": {"graph_node_id": "graph node id", "bandwidth_gb_per_s": _BANDWIDTH},
    "memset": {"graph_node_id": "graph node id", "bandwidth_gb_per_s": _BANDWIDTH},
    "cuda_api": {"callback_id": "cbid", "external_id": "External id"},
    "operator": {
        "sequence_number": "Sequence number",
        "external_id": "External id",
        "forward_thread": "Fwd thread id",
        "input_shapes": "Input Dims",
        "input_types": "Input type",
        "arguments": "Concrete Inputs",
        **_NUMBERS,
    },
    "range": _NUMBERS,
    "phase": _NUMBERS,
    "python": {
        "python_id": "Python id",
        "python_parent_id": "Python parent id",
        "module_id": "Python module id",
        **_NUMBERS,
    },
    "memory": {
        "address": "Addr",
        "total_allocated_bytes": "Total Allocated",
        "total_reserved_bytes": "Total Reserved",
        **_NUMBERS,
    },
    "sync": {
        "event_id": "wait_on_cuda_event_id",
        "recorded_by": "wait_on_cuda_event_record_corr_id",
    },
}
_VECTORS = {"grid": ("grid_x", "grid_y", "grid_z"), "block": ("block_x", "block_y", "block_z")}
_SHARED = ("static_shared_memory_bytes", "dynamic_shared_memory_bytes")
_SHARED_TOTAL = "shared_memory_bytes"
"""Used by importers of formats that do not distinguish the two."""
_AS_JSON = frozenset({"input_shapes", "input_types", "arguments"})
"""String attributes that hold JSON and are written unquoted."""
_SYNC_KINDS = ("", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync")
# c10::DeviceType by the importer's name for the device of a memory event.
_DEVICE_TYPES = {"CPU": 0, "GPU": 1, "XLA": 9, "XPU": 12, "device": 20}


@dataclass
class JsonTexts:
    """Encodes strings as JSON, each only once."""

    capture: Capture
    _quoted: ObjectArray = field(init=False)
    _plain: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._quoted = np.full(len(self.capture.strings) + 1, None, object)

    def quoted(self, ids: npt.NDArray[Any]) -> ObjectArray:
        """The texts as JSON strings."""
        ids = np.minimum(ids, len(self._quoted) - 1)
        new = np.unique(ids)
        new = new[self._quoted[new] == None]  # noqa: E711  # elementwise
        for string_id in new.tolist():
            text = self.capture.strings[string_id]
            self._quoted[string_id] = orjson.dumps(text.encode("utf-8", "replace").decode()).decode()
        texts: ObjectArray = self._quoted[ids]
        return texts

    def plain(self, ids: npt.NDArray[Any]) -> ObjectArray:
        """The texts unchanged."""
        unique, inverse = np.unique(ids, return_inverse=True)
        texts: ObjectArray = np.array([*self.capture.strings.get(unique.tolist()), ""], object)[:-1]
        return texts[inverse.reshape(-1)]

    def stacks(self, stacks: npt.NDArray[Any]) -> ObjectArray:
        """Stacks as JSON strings: frames separated by semicolons, innermost first."""
        unique, inverse = np.unique(stacks, return_inverse=True)
        texts = [
            orjson.dumps(";".join(self.capture.stack_frames(stack))).decode() for stack in unique.tolist()
        ]
        return np.array(texts, object)[inverse.reshape(-1)]

    def json(self, ids: npt.NDArray[Any]) -> ObjectArray:
        """Texts that are JSON unchanged, others as JSON strings."""
        unique, inverse = np.unique(ids, return_inverse=True)
        rendered = np.empty(len(unique), object)
        for index, string_id in enumerate(unique.tolist()):
            if string_id not in self._plain:
                text = self.capture.strings[string_id]
                self._plain[string_id] = text if _is_json(text) else orjson.dumps(text).decode()
            rendered[index] = self._plain[string_id]
        return rendered[inverse.reshape(-1)]


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


@dataclass
class EventArguments:
    """Arguments of a batch of events: a template for ``%``, and a column per placeholder."""

    template: str = ""
    columns: list[npt.NDArray[Any]] = field(default_factory=list)

    def constant(self, name: str, value: int | str) -> None:
        """Add an argument that all events share."""
        text = orjson.dumps(value).decode().replace("%", "%%")
        self.template += f'{"," if self.template else ""}"{name}":{text}'

    def spread(self, texts: ObjectArray, valid: npt.NDArray[np.bool_], name: str) -> None:
        """Add a payload: members of a JSON object become arguments, anything else the argument ``name``."""
        unique, codes = _unique(np.where(valid, texts, ""))
        pieces = np.array([_members(text, name) for text in unique], object)[codes]
        if not self.template:
            self.constant("kind", "event")
        self.template += "%s"
        self.columns.append(pieces)

    def column(self, name: str, values: npt.NDArray[Any], valid: npt.NDArray[np.bool_]) -> None:
        """Add an argument with a value per event; events without a value lack the argument."""
        if not valid.any():
            return
        key = orjson.dumps(name).decode().replace("%", "%%")
        if valid.all():
            self.template += f"{',' if self.template else ''}{key}:%s"
            self.columns.append(values)
            return
        pieces = np.full(len(values), "", object)
        head = f",{key.replace('%%', '%')}:"
        unique, inverse = _unique(values[valid])
        texts = np.array([f"{head}{value}" for value in unique], object)
        pieces[valid] = texts[inverse]
        if not self.template:
            self.constant("kind", "event")
        self.template += "%s"
        self.columns.append(pieces)


def _members(text: str, name: str) -> str:
    """The members of a JSON object, or the text as one member, after a comma; "" for no text."""
    if not text:
        return ""
    if text.startswith("{") and _is_json(text):
        inner = text.strip()[1:-1].strip()
        return f",{inner}" if inner else ""
    # An array is the shapes of an annotation.
    is_shapes = text.startswith("[") and _is_json(text)
    return f',"Input Dims":{text}' if is_shapes else f',"{name}":{orjson.dumps(text).decode()}'


def _unique(values: npt.NDArray[Any]) -> tuple[list[Any], Int64Array]:
    if values.dtype == object:
        texts: dict[Any, int] = {}
        codes = np.fromiter((texts.setdefault(v, len(texts)) for v in values.tolist()), np.int64, len(values))
        return list(texts), codes
    unique, inverse = np.unique(values, return_inverse=True)
    return unique.tolist(), inverse.reshape(-1)


def arguments_of(
    capture: Capture,
    texts: JsonTexts,
    track: Track,
    kind: str,
    rows: Int64Array,
    correlation: Mapping[int, int] | None = None,
) -> EventArguments:
    """Arguments of events of one kind on one track. ``correlation`` is from `keys.correlation_offsets`."""
    arguments = EventArguments()
    if track.device is not None:
        arguments.constant("device", track.device)
        if track.context is not None:
            arguments.constant("context", track.context)
        if track.stream is not None and kind != "sync":
            arguments.constant("stream", track.stream)
    table = capture.kinds[kind]
    position = table.indices_of(rows)
    names = _NAMES.get(kind, {})
    done: set[str] = set()
    if kind == "kernel":
        done = _kernel_arguments(capture, position, arguments)
    if kind == "memory" and track.thread is not None:
        done = _memory_arguments(capture, position, arguments)
    if kind in ("thread_state", "cpu_slice", "osrt", "release"):
        done = _owner_arguments(capture, track, table, rows, position, arguments)
    for spec in table.spec.attributes:
        if spec.name in done or (spec.name == "category" and kind in ("range", "other")):
            continue
        column, validity = table.column(spec.name)
        values, valid = column[position], validity[position]
        name = names.get(spec.name, spec.name)
        if not valid.any():
            continue
        if kind == "phase" and spec.name == "step":
            valid = valid & ~_names_its_step(capture, rows)
        if spec.dtype == "stack":
            if kind in ("operator", "osrt", "thread_state", "release"):
                arguments.column("Call stack", texts.stacks(np.where(valid, values, 0)), valid)
            continue
        if spec.name == "correlation" and correlation is not None:
            values = values.astype(np.int64) + correlation.get(
                -1 if track.process is None else track.process, 0
            )
        if spec.dtype == "string":
            if spec.name == "payload" or (spec.name == "arguments" and kind != "operator"):
                arguments.spread(texts.plain(values), valid, spec.name)
                continue
            values = texts.json(values) if spec.name in _AS_JSON else texts.quoted(values)
        elif spec.name == "sync_type":
            labels = np.array([orjson.dumps(text).decode() for text in _SYNC_KINDS], object)
            values, valid = labels[np.minimum(values, len(labels) - 1)], valid & (values < len(labels))
            name = "cuda_sync_kind"
        elif spec.name == "queued_ns":
            values, name = values // 1000, "queued"
        elif values.dtype.kind == "f":
            valid = valid & np.isfinite(values)
            values = _shortest(values)
        elif spec.dtype == "bool":
            values = np.array(["false", "true"], object)[(values != 0).astype(np.int64)]
        arguments.column(name, values, valid)
    if kind == "memcpy" and "bytes" in table.attributes and "bandwidth_gb_per_s" not in table.attributes:
        _bandwidth(capture, rows, position, arguments)
    return arguments


def _names_its_step(capture: Capture, rows: Int64Array) -> npt.NDArray[np.bool_]:
    """Whether the name of a phase contains its step, as in ``ProfilerStep#4``."""
    ids, inverse = np.unique(capture.events.name[rows], return_inverse=True)
    known = [_STEP.fullmatch(text) is not None for text in capture.strings.get(ids.tolist())]
    return np.array(known, bool)[inverse.reshape(-1)]


def _shortest(values: npt.NDArray[Any]) -> ObjectArray:
    """Reals with the fewest digits that identify them; `str` of a numpy float32 is its shortest form."""
    unique, inverse = np.unique(values, return_inverse=True)
    texts = np.array([str(value) if np.isfinite(value) else "0" for value in unique], object)
    return texts[inverse.reshape(-1)]


def _kernel_arguments(capture: Capture, position: Int64Array, arguments: EventArguments) -> set[str]:
    """Adds vectors and sums, which the PyTorch profiler writes as one argument; returns the attributes used."""
    table = capture.kinds["kernel"]
    done: set[str] = set()
    for name, parts in _VECTORS.items():
        if not set(parts) <= set(table.attributes):
            continue
        columns = [table.column(part) for part in parts]
        valid = np.logical_and.reduce([validity[position] for _, validity in columns])
        if valid.any():
            values = np.stack([column[position] for column, _ in columns], 1)
            unique, inverse = np.unique(values, axis=0, return_inverse=True)
            texts = np.array([f"[{x},{y},{z}]" for x, y, z in unique.tolist()], object)
            arguments.column(name, texts[inverse.reshape(-1)], valid)
            done |= set(parts)
    shared, known = _shared_memory(table, position)
    if known.any():
        arguments.column("shared memory", shared, known)
    done.add(_SHARED_TOTAL)
    if "occupancy_ratio" in table.attributes:
        ratio, validity = table.column("occupancy_ratio")
        valid = validity[position] & np.isfinite(ratio[position])
        percent = np.rint(np.where(valid, ratio[position], 0) * 100).astype(np.int64)
        arguments.column("est. achieved occupancy %", percent, valid)
    return done


def _shared_memory(table: KindTable, position: Int64Array) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    """Bytes of shared memory of each kernel, recorded as one number or two, and where they are known."""
    total = np.zeros(len(position), np.int64)
    known = np.zeros(len(position), bool)
    for parts in ((_SHARED_TOTAL,), _SHARED):
        if set(parts) <= set(table.attributes):
            columns = [table.column(part) for part in parts]
            here = np.logical_and.reduce([validity[position] for _, validity in columns])
            values = np.sum([column[position].astype(np.int64) for column, _ in columns], axis=0)
            total = np.where(here, values, total)
            known |= here
    return total, known


def _memory_arguments(capture: Capture, position: Int64Array, arguments: EventArguments) -> set[str]:
    """Adds size (negative for a release) and device (two numbers); returns the attributes used."""
    table = capture.kinds["memory"]
    if {"bytes", "operation"} <= set(table.attributes):
        (size, known), (operation, _) = table.column("bytes"), table.column("operation")
        signed = np.where(operation[position] == 1, -size[position], size[position])
        arguments.column("Bytes", signed, known[position])
    if "device" in table.attributes:
        ids, known = table.column("device")
        unique, inverse = np.unique(np.where(known[position], ids[position], 0), return_inverse=True)
        pairs = np.array([_device_numbers(text) for text in capture.strings.get(unique.tolist())], np.int64)
        kinds, numbers = pairs[inverse.reshape(-1)].T
        arguments.column("Device Type", kinds, kinds >= 0)
        arguments.column("Device Id", numbers, kinds >= 0)
    return {"bytes", "operation", "device"}


def _device_numbers(text: str) -> tuple[int, int]:
    name, _, number = text.partition(" ")
    return _DEVICE_TYPES.get(name, -1), number_in(number)


def _owner_arguments(
    capture: Capture,
    track: Track,
    table: KindTable,
    rows: Int64Array,
    position: Int64Array,
    arguments: EventArguments,
) -> set[str]:
    """Adds the thread or core of scheduling events, whose rows have made-up numbers; returns the attributes used."""
    flags = capture.events.flags[rows]
    if track.thread is not None:
        arguments.constant("tid", capture.threads[track.thread].tid)
    elif track.role == "core":
        arguments.constant("core", number_in(track.uri.rpartition("/")[2]))
        if "thread" in table.attributes:
            index, validity = table.column("thread")
            thread = index[position]
            known = validity[position] & (thread >= 0) & (thread < len(capture.threads))
            tids = np.array(
                [(thread.tid, capture.processes[thread.process].pid) for thread in capture.threads]
            )
            place = np.where(known, thread, 0)
            if known.any():
                arguments.column("tid", tids[place, 0], known)
                arguments.column("pid", tids[place, 1], known)
    arguments.column("flags", flags, flags != 0)
    return {"process", "thread"}


def _bandwidth(capture: Capture, rows: Int64Array, position: Int64Array, arguments: EventArguments) -> None:
    size, valid = capture.kinds["memcpy"].column("bytes")
    duration = capture.events.duration[rows]
    known = valid[position] & (duration > 0)
    rate = np.round(size[position] / np.maximum(duration, 1), 6)
    arguments.column(_BANDWIDTH, _shortest(rate), known)
