"""Importer for reports of TVM's profilers (``Report.json()`` of tvm.runtime.profiling).

Source of the format: src/runtime/profiling.cc of https://github.com/apache/tvm, of versions before 0.25: an object
of *calls* in the order of execution, each with metrics. Each metric is an object whose one key tells its type
(``microseconds``, ``count``, ``string`` …).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from warpline.i18n import english
from warpline.interchange.framework.documents import read_document
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.layers import add_layers, strings
from warpline.model.progress import IsCancelled, Progress, check_cancelled

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_HEAD = re.compile(rb'\s*\{\s*"(?:calls|configuration|device_metrics)"\s*:')
_DURATION, _NAME, _DEVICE, _SHAPES = "Duration (us)", "Name", "Device", "Argument Shapes"
_LONGEST_US = 1e9
_GPUS = ("cuda", "rocm", "vulkan", "opencl", "metal", "webgpu")


class _Report(msgspec.Struct):
    calls: list[dict[str, Any]]


class TvmImporter:
    """The calls one after the other for each device: operators of the CPU, kernels of a GPU."""

    name = "tvm"
    title = english("TVM report (Report.json())")
    patterns = ("*.json",)
    position = 66

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
        del path
        is_ours = _HEAD.match(head) and b'"Duration (us)"' in head and b'"microseconds"' in head
        return CERTAIN if is_ours else NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        """See `Importer.convert`."""
        progress(0.0, path.name)
        report = read_document(path, _Report, cancelled)
        check_cancelled(cancelled)
        sink = EventSink(builder, options)
        calls: dict[str, list[tuple[str, int]]] = {}
        shapes: dict[str, list[str]] = {}
        lost = 0
        for call in report.calls:
            name, device, length = _text(call, _NAME), _text(call, _DEVICE) or "cpu0", _nanoseconds(call)
            if length is None or not name:
                lost += 1
                continue
            calls.setdefault(device, []).append((name, length))
            shapes.setdefault(device, []).append(_text(call, _SHAPES))
        sink.skip(english("calls"), lost, english("they have no name or no time"))
        for device, timed in calls.items():
            is_gpu = device.startswith(_GPUS)
            add_layers(
                sink,
                f"TVM {device}",
                english("Calls of {device}, one after the other", device=device),
                "kernel" if is_gpu else "operator",
                timed,
                None if is_gpu else {"input_shapes": strings(sink, shapes[device], optional=True)},
            )
        return sink.summary(None)


def _text(call: dict[str, Any], name: str) -> str:
    value = call.get(name)
    if isinstance(value, dict):
        value = value.get("string")
    return value if isinstance(value, str) else ""


def _nanoseconds(call: dict[str, Any]) -> int | None:
    value = call.get(_DURATION)
    value = value.get("microseconds") if isinstance(value, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LONGEST_US:
        return None
    return round(value * 1000)


importer = TvmImporter()
