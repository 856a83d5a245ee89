"""What a GPU did, in traces whose GPUs are processes: of JAX, XProf, TensorFlow, rocprof and rocmProfileData.

The names are those that ``tensorflow/core/profiler`` and XProf (``/device:GPU:0`` with a thread for each stream),
``tensorflow.python.client.timeline`` (``/device:GPU:0/stream:7 Compute``), rocprof's ``tblextr.py`` (``GPU0``,
``COPY``) and rocmProfileData's ``rpd2tracing.py`` (``GPU0``) write.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from warpline.interchange.framework.columns import NO_INTEGER, TextColumn
from warpline.interchange.framework.copies import copy_codes, memory_code

KERNEL, COPY, SET, ANNOTATION = "kernel", "memcpy", "memset", "gpu_annotation"

_DEVICE = re.compile(
    r"/device:(?P<sort>GPU|TPU):(?P<number>\d{1,6})(?P<rest>\b.*)|/gpu:(?P<gpu>\d{1,6})/(?P<context>.*)"
    r"|(?:\d+ )?GPU ?(?P<plain>\d{1,6})|(?:\d+ )?(?P<copies>COPY)",
    re.IGNORECASE,
)
_STREAM = re.compile(r"stream\s*[:#]?\s*(\d{1,9})", re.IGNORECASE)
_ALL_STREAMS = re.compile(r"stream:all\b", re.IGNORECASE)
_TPU_WORK = re.compile(r"XLA Ops", re.IGNORECASE)
_COPIES = re.compile(r"(hip_?|cuda_?)?mem_?cpy|copy(host|device|to|from|\b)|edge_.*memcpy", re.IGNORECASE)
_SETS = re.compile(r"(hip_?|cuda_?)?mem_?set|fill_?buffer", re.IGNORECASE)
CALL = re.compile(r"(cu[A-Z]|cuda[A-Z]|hip[A-Z]|hsa_)\w+")
"""Names of calls of a driver or runtime."""


@dataclass(frozen=True)
class DeviceProcess:
    """A process of a trace that is a GPU, or one of its streams."""

    device: int
    stream: int | None = None
    has_streams: bool = False
    """Whether its threads are streams and other rows, which differ in their names."""
    is_tpu: bool = False
    repeats: bool = False
    """Whether its work is repeated on the rows of streams."""


def device_process(name: str) -> DeviceProcess | None:
    """The device that a process name stands for; None for other processes."""
    match = _DEVICE.fullmatch(name.strip())
    if match is None:
        return None
    number = match["number"] or match["gpu"] or match["plain"] or "0"
    rest = match["rest"] or match["context"] or ""
    stream = _STREAM.search(rest)
    return DeviceProcess(
        device=int(number),
        stream=int(stream[1]) if stream else None,
        has_streams=match["sort"] is not None and not rest,
        is_tpu=(match["sort"] or "").upper() == "TPU",
        repeats=_ALL_STREAMS.search(rest) is not None,
    )


@dataclass(frozen=True)
class DeviceRow:
    """A row of a device: a stream with work, or ranges (``is_work`` is False)."""

    stream: int | None
    is_work: bool
    title: str = ""


def device_row(process: DeviceProcess, thread: str, tid: int) -> DeviceRow:
    """The device row for a thread of a device's process, from the thread's name and number."""
    if not process.has_streams:
        title = "" if process.stream is not None or not process.repeats else "all streams"
        return DeviceRow(tid if process.stream is None else process.stream, not process.repeats, title)
    stream = _STREAM.match(thread)
    if stream is not None:
        return DeviceRow(int(stream[1]), True)
    if process.is_tpu and _TPU_WORK.fullmatch(thread):
        return DeviceRow(tid, True, thread)
    return DeviceRow(None, False, thread or str(tid))


class _WorkArgs(msgspec.Struct):
    """The arguments of GPU work that become columns."""

    correlation_id: Any = None
    kernel_details: Any = None
    memcpy_details: Any = None
    bytes: Any = None
    desc: Any = None


def work_kinds(names: TextColumn, payloads: TextColumn) -> npt.NDArray[Any]:
    """The kind of each event of a stream, by its name and arguments."""
    pairs, index = np.unique(np.stack([names.codes, payloads.codes]), axis=1, return_inverse=True)
    kinds = [_kind(names.table[name], payloads.table[payload]) for name, payload in pairs.T.tolist()]
    return np.array(kinds or [""])[index.reshape(-1)]


def _kind(name: str, payload: str) -> str:
    args = _args(payload)
    if (
        args.memcpy_details is not None
        or _COPIES.match(name)
        or (isinstance(args.desc, str) and _COPIES.match(args.desc))
    ):
        return COPY
    return SET if _SETS.match(name) else KERNEL


def _args(payload: str) -> _WorkArgs:
    try:
        return msgspec.json.decode(payload, type=_WorkArgs) if payload else _WorkArgs()
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return _WorkArgs()


def work_attributes(kind: str, names: TextColumn, payloads: TextColumn) -> dict[str, Any]:
    """The attributes of events of one kind, from their names and arguments."""
    args = [_args(text) for text in payloads.table]
    columns: dict[str, Any] = {
        "correlation": _column([_number(entry.correlation_id) for entry in args], payloads)
    }
    if kind == KERNEL:
        details = [_details(entry.kernel_details) for entry in args]
        for name, key in (("registers_per_thread", "regs"), ("static_shared_memory_bytes", "static_shared"),
                          ("dynamic_shared_memory_bytes", "dynamic_shared")):  # fmt: skip
            columns[name] = _column([_number(entry.get(key)) for entry in details], payloads)
        for shape in ("grid", "block"):
            shapes = [entry.get(shape, "").split(",") for entry in details]
            for index, axis in enumerate("xyz"):
                values = [_number(size[index]) if len(size) == 3 else NO_INTEGER for size in shapes]
                columns[f"{shape}_{axis}"] = _column(values, payloads)
    elif kind == COPY:
        codes = np.array([copy_codes(text) for text in names.table], np.uint8).reshape(-1, 3)[names.codes]
        columns |= {name: codes[:, index] for index, name in enumerate(("copy_kind", "src_kind", "dst_kind"))}
        sizes = [_number(_details(entry.memcpy_details).get("size", entry.bytes)) for entry in args]
        columns["bytes"] = _column(sizes, payloads)
    elif kind == SET:
        columns["memory_kind"] = np.array([memory_code(text) for text in names.table], np.uint8)[names.codes]
    return columns


def _details(value: Any) -> dict[str, str]:
    """``regs:32 grid:1,1,1`` as a dictionary."""
    if not isinstance(value, str):
        return {}
    return dict(part.split(":", 1) for part in value.split() if ":" in part)


def _number(value: Any) -> int:
    """A number from 0 to 2^31, as text or not; `NO_INTEGER` for anything else."""
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None
    is_number = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62
    return value if is_number else NO_INTEGER


def _column(values: list[int], payloads: TextColumn) -> np.ma.MaskedArray[Any, Any]:
    table = np.array(values or [NO_INTEGER], np.int64)
    column = table[payloads.codes]
    return np.ma.MaskedArray(np.maximum(column, 0), column == NO_INTEGER)
