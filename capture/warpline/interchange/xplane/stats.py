"""Stats of XPlane events: what kind of event they make it, and the columns that they become."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import numpy as np

from warpline.interchange.framework.columns import integer
from warpline.interchange.xplane.planes import Plane, PlaneEvents, StatValue

Stats = dict[str, StatValue]

MEMORY_OPERATIONS = {"MemoryAllocation": 0, "MemoryDeallocation": 1}
_DEVICE = re.compile(r"/device:(\w+):(\d+)|#Chip(\d+)")
_OF_THE_PROFILER = re.compile(r"\$profiler(_v2)?\.py:\d+ (start|stop)(_trace)?")
"""The frames in which JAX and TensorFlow start and stop the profiler, for seconds in which nothing else is recorded."""
_OPERATOR = re.compile(r"[\w./\\-]+:[A-Z]\w*")
"""TensorFlow names the execution of an op ``dense/MatMul:MatMul``."""
_OWN_STATS = frozenset(
    (
        "correlation_id",
        "kernel_details",
        "hlo_module",
        "hlo_op",
        "step_num",
        "_pt",
        "_p",
        "_ct",
        "_c",
        "tf_op",
    )
)


def device_number(plane: Plane) -> int | None:
    """The number of the device of a plane, None for the host's."""
    match = _DEVICE.match(plane.name)
    return int((match[2] or match[3])[:6]) if match else None


def stats_of(events: PlaneEvents, plane: Plane) -> list[Stats]:
    """The stats of each event, by name."""
    rows: list[Stats] = [{} for _ in range(len(events))]
    for event, key, value in zip(
        events.stat_event.tolist(), events.stat_key.tolist(), events.stat_values, strict=True
    ):
        rows[event][plane.stat_names.get(key, str(key))] = value
    return rows


def payload_of(row: Stats) -> str:
    """The stats without an attribute of their own, as JSON."""
    if not row:
        return ""
    rest = {key: value for key, value in row.items() if key not in _OWN_STATS}
    return msgspec.json.encode(rest).decode() if rest else ""


def framework_op(row: Stats) -> str:
    """The op of JAX or TensorFlow that work belongs to."""
    name = str(row.get("name", "") or row.get("tf_op", ""))
    return "" if name == "XlaModule:" else name


def work_kind(name: str, row: Stats) -> str:
    """The kind of an event of a stream."""
    lower = name.lower()
    if "memcpy_details" in row and "kernel_details" not in row:
        return "memcpy"
    return "memset" if "memset_details" in row or lower.startswith("memset") else "kernel"


def host_kind(name: str, row: Stats) -> str:
    """The kind of an event of a thread."""
    if name[:1] == "$":
        return "overhead" if _OF_THE_PROFILER.fullmatch(name) else "python"
    if "correlation_id" in row:
        return "cuda_api"
    if "step_num" in row:
        return "phase"
    if name in MEMORY_OPERATIONS:
        return "memory"
    return "operator" if _OPERATOR.fullmatch(name) else "range"


def integers(values: list[Any]) -> Any:
    """int64; what is no integer is masked."""
    plain = [value if isinstance(value, str | int | float) else None for value in values]
    known = {value: integer(value) for value in set(plain)}  # most columns repeat a few values
    numbers = list(map(known.__getitem__, plain))
    return np.ma.MaskedArray(
        np.array([value or 0 for value in numbers], np.int64), [value is None for value in numbers]
    )


def uint32(values: list[Any]) -> Any:
    """As `integers`, with numbers beyond 32 bits masked."""
    column = integers(values)
    data = np.ma.getdata(column)
    return np.ma.MaskedArray(data, np.ma.getmaskarray(column) | (data < 0) | (data >= 1 << 32))
