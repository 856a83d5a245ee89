"""Judges the work of kernels against the peaks of their device."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from warpline.analysis.hardware.devices import DeviceModel
from warpline.analysis.hardware.kernel_work import OperatorGroup

REACHED = 0.5
"""A kernel below this share of both limits is limited by neither: it is too short, too small or badly shaped."""


class Limit(StrEnum):
    """What limits an operator on a device."""

    COMPUTE = "compute"
    MEMORY = "memory"
    LATENCY = "latency"
    """Neither rate: the work is too small for the device, or the kernel uses it badly."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """How a group compares with its device: FLOPs per byte, rates, the share of the roof that it reaches, its limit.

    ``roof_ratio`` is the least time that the peaks allow divided by the measured time; None for unknown peaks.
    ``compute_ns`` is the least time for the FLOPs alone.
    """

    intensity: float
    flops_per_second: float
    bytes_per_second: float
    compute_ratio: float | None
    memory_ratio: float
    limit: Limit
    compute_ns: float

    @property
    def roof_ratio(self) -> float:
        """The share of the limit that is reached."""
        return max(self.compute_ratio or 0.0, self.memory_ratio)


def peak_of(device: DeviceModel, group: OperatorGroup) -> float | None:
    """The peak FLOP/s that a group could reach: its matrix rate for products, else the vector rate."""
    if not group.work.is_matrix:
        return device.flops_per_second("fp64" if group.precision == "fp64" else "fp32")
    matrix = device.flops_per_second(f"{group.precision}_matrix")
    if group.precision in ("fp32", "fp64") and (matrix is None or group.uses_tensor_cores is False):
        return device.flops_per_second(group.precision)
    return matrix or device.flops_per_second(group.precision)


def judge(device: DeviceModel, group: OperatorGroup) -> Assessment:
    """Compare the work of a group with the peaks of its device."""
    seconds = max(group.time_ns, 1) / 1e9
    peak = peak_of(device, group)
    flops, moved = group.flops / seconds, group.bytes / seconds
    compute = None if peak is None else flops / peak
    memory = moved / device.bytes_per_second
    if peak is None and group.work.is_matrix:
        limit = Limit.UNKNOWN
    elif max(compute or 0.0, memory) < REACHED:
        limit = Limit.LATENCY
    else:
        limit = Limit.COMPUTE if (compute or 0.0) >= memory else Limit.MEMORY
    return Assessment(
        intensity=group.flops / max(group.bytes, 1.0),
        flops_per_second=flops,
        bytes_per_second=moved,
        compute_ratio=compute,
        memory_ratio=memory,
        limit=limit,
        compute_ns=0.0 if peak is None else group.flops / peak * 1e9,
    )
