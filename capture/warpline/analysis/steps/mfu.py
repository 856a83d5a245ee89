"""Model FLOPs utilization of each step, or of the range: FLOPs of the operators against the GPU's peak."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Values
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import scope_text
from warpline.analysis.hardware.devices import device_of
from warpline.analysis.hardware.kernel_work import NO_SHAPES, has_shapes, kernel_work
from warpline.analysis.hardware.limits import judge
from warpline.analysis.steps.step_breakdown import device_windows
from warpline.analysis.steps.step_groups import step_groups
from warpline.analysis.structure.gpus import Gpu, gpus
from warpline.analysis.structure.steps import find_steps
from warpline.i18n import english


class _Entry(NamedTuple):
    """One row: the GPU, the name of the step (empty: the range), its event row (−1: none) and its time."""

    gpu: Gpu
    step: str
    row: int
    start: int
    stop: int


def mfu(view: View, options: Options) -> Table | NotRecorded:
    """FLOPs of each step (without steps, of the range) on each GPU, and the share of what its peak allows.

    Operators of several precisions count by the time that each needs at its own peak. Kernels that compute again what
    was computed before (activation checkpointing) count, too.
    """
    if not view.has("kernel"):
        return missing("kernel")
    if not has_shapes(view.capture):
        return NO_SHAPES
    entries = _entries(view, options)
    values = [_of_entry(view, entry) for entry in entries]
    length = np.array([entry.stop - entry.start for entry in entries], np.int64)
    flops = np.array([value[0] for value in values])
    data: dict[str, Values] = {
        "name": [entry.step or english("the range") for entry in entries],
        "gpu": [entry.gpu.title for entry in entries],
        "total_ns": length,
        "flops": np.rint(flops).astype(np.int64),
        "tflops_per_second": flops / np.maximum(length, 1) / 1e3,
        "mfu_ratio": _masked([value[1] for value in values]),
        "bandwidth_ratio": _masked([value[2] for value in values]),
        "known_ratio": _masked([value[3] for value in values]),
        "reason": [value[4] or None for value in values],
    }
    return Table(
        (
            Column("name", "Step", Role.NAME, key=True, ours=True),
            Column("gpu", "GPU", Role.TEXT, key=True, ours=True),
            Column("total_ns", "Time", Role.DURATION),
            Column("flops", "FLOPs", Role.COUNT),
            Column("tflops_per_second", "TFLOP/s", Role.NUMBER),
            Column(
                "mfu_ratio",
                "MFU",
                Role.RATIO,
                of=english("the GPU's peak FLOP/s over the step"),
                heat=True,
                lead=1,
            ),
            Column("bandwidth_ratio", "Bandwidth", Role.RATIO, of=english("the memory's peak over the step")),
            Column("known_ratio", "Known", Role.RATIO, of=english("kernel time without communication")),
            Column("reason", "Not judged because", Role.REASON),
        ),
        data,
        targets=Targets(
            rows=np.array([entry.row for entry in entries], np.int64),
            starts=np.array([entry.start for entry in entries], np.int64),
            stops=np.array([entry.stop for entry in entries], np.int64),
        ),
        scope=scope_text(view, english("Steps, until their GPU work has finished")),
        notes=(english("Operators without known shapes count as 0 FLOPs: see Known."),),
    )


def _entries(view: View, options: Options) -> list[_Entry]:
    steps = find_steps(view, options)
    devices = gpus(view)
    entries = []
    for _process, rank, places in step_groups(steps):
        starts, stops = device_windows(view, steps, places)
        for place, start, stop in zip(places.tolist(), starts.tolist(), stops.tolist(), strict=True):
            name = view.capture.strings[int(steps.name[place])]
            entries += [
                _Entry(gpu, name, int(steps.row[place]), start, stop)
                for gpu in devices
                if gpu.rank is None or rank < 0 or gpu.rank == rank
            ]
    return entries or [_Entry(gpu, "", -1, view.start_ns, view.stop_ns) for gpu in devices]


def _of_entry(view: View, entry: _Entry) -> tuple[float, float | None, float | None, float | None, str]:
    """FLOPs, MFU, share of the bandwidth, share of kernel time with known work, and why there is no MFU."""
    work = kernel_work(view.restrict(entry.start, entry.stop), entry.gpu)
    length = max(entry.stop - entry.start, 1)
    known = work.known_ns / work.time_ns if work.time_ns else None
    flops = sum(group.flops for group in work.groups)
    device, reason = device_of(view.capture, entry.gpu.device, entry.gpu.rank)
    if device is None:
        return flops, None, None, known, reason
    needed = sum(judge(device, group).compute_ns for group in work.groups if group.work.is_matrix)
    moved = sum(group.bytes for group in work.groups)
    return flops, needed / length, moved / (device.bytes_per_second * length / 1e9), known, ""


def _masked(values: list[float | None]) -> npt.NDArray[np.float64]:
    return np.ma.MaskedArray([value or 0.0 for value in values], [value is None for value in values])


report = ReportSpec(
    "mfu", "FLOPs utilization (MFU) by step", "steps", mfu, needs=("kernel",), place=305, of_launches=True
)
