"""Operators on the GPU against its peaks: FLOPs, bytes, arithmetic intensity, and what limits them."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Values
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import name_texts, ratio, scope_text
from warpline.analysis.hardware.devices import DeviceModel, device_of
from warpline.analysis.hardware.kernel_work import (
    NO_SHAPES,
    KernelWork,
    OperatorGroup,
    has_shapes,
    kernel_work,
)
from warpline.analysis.hardware.limits import Limit, judge
from warpline.analysis.structure.gpus import Gpu, gpus
from warpline.i18n import english

LIMITS = {
    Limit.COMPUTE: english("computation"),
    Limit.MEMORY: english("memory"),
    Limit.LATENCY: english("latency"),
    Limit.UNKNOWN: "",
}


def roofline(view: View, _options: Options) -> Table | NotRecorded:
    """Operators by name and input shapes: kernel time, FLOPs, bytes, rates, and the share of the device's limits."""
    if not view.has("kernel"):
        return missing("kernel")
    if not has_shapes(view.capture):
        return NO_SHAPES
    works = [(gpu, kernel_work(view, gpu)) for gpu in gpus(view)]
    entries = [(gpu, work, group) for gpu, work in works for group in work.groups]
    if not entries:
        return NO_SHAPES
    entries.sort(key=lambda entry: -entry[2].time_ns)
    devices = {gpu.tracks: device_of(view.capture, gpu.device, gpu.rank) for gpu, _ in works}
    return Table(
        _columns(len(works) > 1),
        _data(
            view,
            entries,
            {key: device for key, (device, _) in devices.items()},
            sum(w.time_ns for _, w in works),
        ),
        targets=Targets(
            names=np.array([group.kernel for _, _, group in entries], np.uint32),
            kinds=np.full(len(entries), view.capture.kinds["kernel"].code, np.int16),
        ),
        scope=scope_text(view, english("Operators with known shapes, without communication")),
        notes=tuple(_notes(works, devices)),
    )


def _columns(with_gpu: bool) -> tuple[Column, ...]:
    peak = english("the peak rate for this precision, from the vendor's data sheet")
    return (
        Column("name", "Operator", Role.NAME, key=True),
        *((Column("gpu", "GPU", Role.TEXT, key=True, ours=True),) if with_gpu else ()),
        Column("input_shapes", "Input shapes", Role.TEXT, key=True),
        Column("precision", "Precision", Role.TEXT),
        Column(
            "ratio", "Time", Role.SHARE, of=english("kernel time without communication"), heat=True, lead=1
        ),
        Column("total_ns", "GPU Time", Role.DURATION),
        Column("count", "Calls", Role.COUNT),
        Column("flops", "FLOPs", Role.COUNT),
        Column("moved_bytes", "Least bytes", Role.SIZE),
        Column("intensity", "FLOPs/byte", Role.NUMBER),
        Column("tflops_per_second", "TFLOP/s", Role.NUMBER),
        Column("compute_ratio", "Of peak FLOP/s", Role.RATIO, of=peak),
        Column("memory_bytes_per_second", "Bandwidth", Role.THROUGHPUT),
        Column("memory_ratio", "Of peak bandwidth", Role.RATIO, of=english("the memory's peak bandwidth")),
        Column("limit", "Limited by", Role.TEXT, ours=True),
        Column("kernel", "Longest kernel", Role.TEXT),
    )


def _data(
    view: View,
    entries: list[tuple[Gpu, KernelWork, OperatorGroup]],
    devices: dict[frozenset[int], DeviceModel | None],
    whole_ns: int,
) -> dict[str, Values]:
    groups = [group for _, _, group in entries]
    time = np.array([group.time_ns for group in groups], np.int64)
    judged = [
        None if (device := devices[gpu.tracks]) is None else judge(device, group) for gpu, _, group in entries
    ]
    seconds = np.maximum(time, 1) / 1e9
    flops = np.array([group.flops for group in groups])
    moved = np.array([group.bytes for group in groups])
    strings = view.capture.strings
    data: dict[str, Values] = {
        "name": name_texts(view, np.array([group.name for group in groups])),
        "input_shapes": [_one_line(strings[group.shapes]) for group in groups],
        "precision": [group.precision for group in groups],
        "ratio": ratio(time, whole_ns),
        "total_ns": time,
        "count": np.array([group.calls for group in groups], np.int64),
        "flops": np.rint(flops).astype(np.int64),
        "moved_bytes": np.rint(moved).astype(np.int64),
        "intensity": flops / np.maximum(moved, 1),
        "tflops_per_second": flops / seconds / 1e12,
        "compute_ratio": _masked([None if group is None else group.compute_ratio for group in judged]),
        "memory_bytes_per_second": moved / seconds,
        "memory_ratio": _masked([None if group is None else group.memory_ratio for group in judged]),
        "limit": [None if group is None else LIMITS[group.limit] or None for group in judged],
        "kernel": [strings[group.kernel] for group in groups],
    }
    if len(devices) > 1:
        data["gpu"] = [gpu.title for gpu, _, _ in entries]
    return data


def _one_line(text: str) -> str:
    """Shapes without the line breaks of the profiler's JSON."""
    return "".join(text.split()).replace(",", ", ")


def _masked(values: list[float | None]) -> np.ma.MaskedArray[tuple[int], np.dtype[np.float64]]:
    return np.ma.MaskedArray([value or 0.0 for value in values], [value is None for value in values])


def _notes(
    works: list[tuple[Gpu, KernelWork]], devices: dict[frozenset[int], tuple[DeviceModel | None, str]]
) -> list[str]:
    notes = [
        english("Bytes: each argument read once, each result written once; caches can make kernels faster."),
        english("Latency: less than half of both limits is reached."),
    ]
    for gpu, work in works:
        device, reason = devices[gpu.tracks]
        known = work.known_ns / max(work.time_ns, 1)
        if device is None:
            notes.append(english("{gpu} is not judged: {reason}.", gpu=gpu.title, reason=reason))
        else:
            notes.append(
                english(
                    "{gpu}: peaks of {device} ({source}).",
                    gpu=gpu.title,
                    device=device.name,
                    source=device.source,
                )
            )
        notes.append(
            english(
                "{gpu}: the work of {percent:.0f} % of the kernel time is known.",
                gpu=gpu.title,
                percent=100 * known,
            )
        )
    return notes


report = ReportSpec(
    "roofline", "Roofline: operators against the GPU's peaks", "gpu", roofline, needs=("kernel",), place=406,
    of_launches=True,
)  # fmt: skip
