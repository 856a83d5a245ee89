"""Importer for profiles of ONNX Runtime (``SessionOptions.enable_profiling``).

Source of the format: onnxruntime/core/common/profiler.cc and core/providers/cuda/cupti_manager.cc of
https://github.com/microsoft/onnxruntime: an array of complete events in microseconds. *Session* holds calls of the
session, *Node* the parts of each node (``…_kernel_time``; older versions also fences), *Kernel* work of the GPU, whose
process and thread are -1; all arguments are texts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from warpline.i18n import english, tr
from warpline.interchange.framework.columns import MAX_TIME_NS
from warpline.interchange.framework.event_sink import EventSink, Holder
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.json_parts import DECODING_ERRORS, JsonParts, decode_elements
from warpline.interchange.framework.layers import strings
from warpline.interchange.framework.unpacking import unpacked
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, Progress, check_cancelled

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_HEAD = re.compile(
    rb'\s*\[\s*\{\s*"cat"\s*:\s*"Session"\s*,\s*"pid"\s*:\s*\d+\s*,(?:[^{}]|\{\})*"name"\s*:\s*"(?:model_loading|session_init)'
)
_KERNEL_TIME = "_kernel_time"
_AXES = tuple(f"{part}_{axis}" for part in ("grid", "block") for axis in "xyz")
_MOST = 1 << 31
_MOST_US = MAX_TIME_NS // 1000
_Number = Annotated[int, msgspec.Meta(ge=-1, le=(1 << 63) - 1)]


class _Event(msgspec.Struct, gc=False):
    cat: str
    pid: _Number
    tid: _Number
    name: str
    ts: Annotated[int, msgspec.Meta(ge=-_MOST_US, le=_MOST_US)]
    dur: Annotated[int, msgspec.Meta(ge=0, le=_MOST_US)]
    args: dict[str, Any] = {}


_EVENTS = msgspec.json.Decoder(list[_Event])


class OnnxRuntimeImporter:
    """Nodes as operators with their shapes, below the session's calls; kernels of the GPU on their streams."""

    name = "onnxruntime"
    title = english("ONNX Runtime profile")
    patterns = ("*.json",)
    position = 62

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
        del path
        return CERTAIN if _HEAD.match(head) else NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        """See `Importer.convert`."""
        sink = EventSink(builder, options)
        size = max(1, path.stat().st_size)
        with path.open("rb") as file:
            parts = JsonParts(unpacked(file, path), arrays=[()])
            for part in parts:
                check_cancelled(cancelled)
                progress(file.tell() / size, tr("reading {what}", what=path.name))
                try:
                    events, lost = decode_elements(part.text, _EVENTS)
                except DECODING_ERRORS as error:
                    raise ImportFormatError(
                        tr("{path}: damaged, or not complete: {reason}", path=path, reason=error)
                    ) from error
                sink.skip(english("events"), lost, english("they are damaged"))
                _add(sink, events)
        if not sink.events and parts.problem:
            raise ImportFormatError(
                tr("{path}: damaged, or not complete: {reason}", path=path, reason=parts.problem)
            )
        return sink.summary(None)


def _add(sink: EventSink, events: Sequence[_Event]) -> None:
    """Add the events of one piece."""
    hosts = [event for event in events if event.cat != "Kernel"]
    for thread in {(event.pid, event.tid) for event in hosts}:
        of_thread = [event for event in hosts if (event.pid, event.tid) == thread]
        row = sink.thread(*thread)
        nodes = [event for event in of_thread if event.cat == "Node"]
        _add_nodes(sink, row, nodes)
        _add_ranges(sink, row, [event for event in of_thread if event.cat != "Node"])
    kernels = [event for event in events if event.cat == "Kernel"]
    for stream in {_text(event, "stream") for event in kernels}:
        _add_kernels(sink, stream, [event for event in kernels if _text(event, "stream") == stream])


def _add_nodes(sink: EventSink, row: Holder, nodes: Sequence[_Event]) -> None:
    if not nodes:
        return
    names = [_text(node, "op_name") or node.name.removesuffix(_KERNEL_TIME) for node in nodes]
    sink.add(
        sink.thread_track(row, "ranges"),
        "operator",
        *_times(nodes),
        strings(sink, names),
        attributes={
            "input_shapes": strings(sink, [_shapes(node) for node in nodes], optional=True),
            "arguments": strings(sink, [_arguments(node) for node in nodes]),
        },
    )


def _add_ranges(sink: EventSink, row: Holder, calls: Sequence[_Event]) -> None:
    if calls:
        names = strings(sink, [call.name for call in calls])
        sink.add(sink.thread_track(row, "ranges"), "range", *_times(calls), names)


def _add_kernels(sink: EventSink, stream: str, kernels: Sequence[_Event]) -> None:
    process = sink.first_process() or sink.process("ONNX Runtime", "ONNX Runtime")
    number = int(stream) if stream.isdecimal() and int(stream) < _MOST else None
    sizes = {name: _numbers([_text(kernel, name) for kernel in kernels]) for name in _AXES}
    sink.add(
        sink.stream(0, process, number, name="" if number is not None else stream),
        "kernel",
        *_times(kernels),
        strings(sink, [kernel.name for kernel in kernels]),
        attributes=sizes,
    )


def _times(events: Sequence[_Event]) -> tuple[Any, Any]:
    start = np.array([event.ts for event in events], np.int64) * 1000
    return start, start + np.array([event.dur for event in events], np.int64) * 1000


def _numbers(texts: Sequence[str]) -> Any:
    known = [text.isdecimal() and 0 < int(text) < _MOST for text in texts]
    values = [int(text) if is_known else 0 for text, is_known in zip(texts, known, strict=True)]
    return np.ma.MaskedArray(np.array(values, np.uint32), np.logical_not(known))


def _text(event: _Event, name: str) -> str:
    value = event.args.get(name, "")
    return value if isinstance(value, str) else ""


def _shapes(node: _Event) -> str:
    """``[[4, 3, 32, 32], [16, 3, 3, 3]]``, from a list of an object of type and shape for each input."""
    inputs = node.args.get("input_type_shape")
    if not isinstance(inputs, list):
        return ""
    shapes: list[Any] = [
        next(iter(entry.values()), []) if isinstance(entry, dict) else [] for entry in inputs
    ]
    return str(shapes)


def _arguments(node: _Event) -> str:
    """The name of the node, where it ran, and in which part of it the time was spent."""
    name = node.name.removesuffix(_KERNEL_TIME)
    return "; ".join(
        filter(None, (f"node={name}", _text(node, "provider") and f"provider={_text(node, 'provider')}"))
    )


importer = OnnxRuntimeImporter()
