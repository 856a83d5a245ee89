"""Utilization, SM efficiency, occupancy and tensor core use of each GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.framework.tables import scope_text
from warpline.analysis.steps.step_breakdown import device_windows
from warpline.analysis.steps.step_groups import step_groups
from warpline.analysis.structure.gpus import Gpu, gpus, windows_of
from warpline.analysis.structure.kernels import uses_tensor_cores
from warpline.analysis.structure.overlap import Intervals
from warpline.analysis.structure.steps import find_steps
from warpline.i18n import english
from warpline.model.intervals import intersect_intervals, merge_intervals

Int64Array = npt.NDArray[np.int64]
_TENSOR_KERNELS = "tensor_core_ratio"
_RATIOS = ("utilization_ratio", "sm_efficiency_ratio", "achieved_occupancy_ratio", _TENSOR_KERNELS)


def gpu_utilization(view: View, options: Options) -> Table | NotRecorded:
    """The GPU summary of torch_tb_profiler for each GPU, over the steps (without steps, over the selected range).

    By its definitions, utilization is the time with a kernel running / the time of the steps; a kernel's SM efficiency
    is min(blocks / SMs, 1), its occupancy the profiler's estimate. SM efficiency is weighted by duration, over the time
    of the steps; occupancy is the average weighted by duration; tensor cores is the share of kernel time, by name.
    """
    if not view.has("kernel"):
        return missing("kernel")
    devices = gpus(view)
    windows = _windows(view, options)
    values = [
        _of_gpu(view, gpu, windows.get(-1 if gpu.rank is None else gpu.rank, windows[-1])) for gpu in devices
    ]
    ratios = {key: _masked([row[key] for row in values]) for key in _RATIOS}
    return Table(
        (
            Column("name", "GPU", Role.NAME, key=True, ours=True),
            Column("total_ns", "Step Time", Role.DURATION),
            Column(
                "utilization_ratio",
                "GPU Utilization",
                Role.RATIO,
                of=english("the steps' time"),
            ),
            Column("sm_efficiency_ratio", "Est. SM Efficiency", Role.RATIO, of=english("the steps' time")),
            Column(
                "achieved_occupancy_ratio", "Est. Achieved Occupancy", Role.RATIO, of=english("kernel time")
            ),
            Column(
                _TENSOR_KERNELS,
                "Tensor Cores",
                Role.RATIO,
                of=english("kernel time; guessed from kernel names"),
            ),
        ),
        {
            "name": [gpu.title for gpu in devices],
            "total_ns": np.array([row["total_ns"] for row in values], np.int64),
            **ratios,
        },
        scope=scope_text(view, english("GPUs over all steps")),
    )


def _windows(view: View, options: Options) -> dict[int, Intervals]:
    """The time of the steps by rank, until the GPU has finished their work; the range for ranks without steps."""
    whole = np.array([view.start_ns], np.int64), np.array([view.stop_ns], np.int64)
    parts: dict[int, list[Intervals]] = {}
    steps = find_steps(view, options)
    for _process, rank, places in step_groups(steps):
        parts.setdefault(rank, []).append(device_windows(view, steps, places))
    return {-1: whole} | {
        rank: intersect_intervals(
            *merge_intervals(np.concatenate([a for a, _ in own]), np.concatenate([b for _, b in own])), *whole
        )
        for rank, own in parts.items()
    }


def _of_gpu(view: View, gpu: Gpu, windows: Intervals) -> dict[str, Any]:
    starts, stops = windows
    total = int((stops - starts).sum())
    has_grid = False
    busy = work = blocks = known_blocks = warps = known_warps = tensor = 0.0
    for part in windows_of(view, gpu.tracks, kinds=("kernel",)):
        events = part.events("kernel", gpu.tracks)
        if not len(events):
            continue
        # Kernels at a border of two parts run in both.
        start, stop = np.maximum(events.start, part.start_ns), np.minimum(events.stop, part.stop_ns)
        inside = _inside(start, stop, starts, stops)
        busy += _length(intersect_intervals(*merge_intervals(start, stop), starts, stops))
        work += float(inside.sum())
        sum_, weight = _weighted(part.column("kernel", "blocks_per_sm", events.index), inside, highest=1.0)
        blocks, known_blocks = blocks + sum_, known_blocks + weight
        sum_, weight = _weighted(part.column("kernel", "occupancy_ratio", events.index), inside)
        warps, known_warps = warps + sum_, known_warps + weight
        has_grid |= not np.ma.getmaskarray(part.column("kernel", "grid_x", events.index)).all()
        names, codes = np.unique(events.name, return_inverse=True)
        texts = view.capture.strings.get(names.tolist())
        tensor += float(inside[np.array([uses_tensor_cores(text) for text in texts], bool)[codes]].sum())
    return {
        "total_ns": total,
        "utilization_ratio": busy / total if total else None,
        "sm_efficiency_ratio": blocks / total if known_blocks and total else None,
        "achieved_occupancy_ratio": warps / known_warps if known_warps else None,
        # Kernels without a grid run on other accelerators, whose kernel names mean something else.
        _TENSOR_KERNELS: tensor / work if work and has_grid else None,
    }


def _inside(start: Int64Array, stop: Int64Array, starts: Int64Array, stops: Int64Array) -> Int64Array:
    """Time of each event inside the windows, which are sorted and disjoint (ns)."""
    before = np.r_[0, np.cumsum(stops - starts)]

    def passed(times: Int64Array) -> Int64Array:
        place = np.searchsorted(starts, times, "right") - 1
        known = np.maximum(place, 0)
        within = np.clip(times - starts[known], 0, stops[known] - starts[known])
        return np.where(place >= 0, before[known] + within, 0).astype(np.int64)

    return passed(stop) - passed(start)


def _weighted(values: Any, weights: Int64Array, highest: float | None = None) -> tuple[float, float]:
    """Sum of the known values times their weights, and the sum of these weights."""
    known = ~np.ma.getmaskarray(values)
    data = np.ma.getdata(values)[known].astype(np.float64)
    share = weights[known].astype(np.float64)
    return float(((data if highest is None else np.minimum(data, highest)) * share).sum()), float(share.sum())


def _length(intervals: Intervals) -> float:
    return float((intervals[1] - intervals[0]).sum())


def _masked(values: list[float | None]) -> npt.NDArray[Any]:
    return np.ma.MaskedArray([value or 0.0 for value in values], [value is None for value in values])


report = ReportSpec(
    "gpu_utilization",
    "GPU utilization, SM efficiency, occupancy",
    "gpu",
    gpu_utilization,
    needs=GPU_KINDS,
    place=400,
)
