"""Theoretical occupancy of kernels: the warps that a launch can keep resident on a multiprocessor.

The rules are those of NVIDIA's occupancy calculator for compute capability 5 and newer. Registers are allocated to
warps in units of 256 within each partition of a multiprocessor. Shared memory is allocated to blocks in units of 256
bytes (7.x and older), or of 128 bytes after 1 KiB for the driver (8.0 and newer), and assumed to be configured to its
maximum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.recording.spool.string_columns import distinct

Int64Array = npt.NDArray[np.int64]

_REGISTER_UNIT = 256
_DRIVER_SHARED_BYTES = 1024
_FEW = 256


@dataclass(frozen=True, kw_only=True)
class Multiprocessor:
    """The limits of one multiprocessor."""

    compute_major: int
    compute_minor: int
    threads_per_warp: int
    max_warps: int
    max_blocks: int
    registers: int
    registers_per_block: int
    shared_bytes: int

    @property
    def partitions(self) -> int:
        """Number of partitions, each with its own scheduler and registers."""
        return 2 if (self.compute_major, self.compute_minor) == (6, 0) else 4


def occupancy(
    device: Multiprocessor, threads: npt.ArrayLike, registers: npt.ArrayLike, shared_bytes: npt.ArrayLike
) -> np.ma.MaskedArray[tuple[int], np.dtype[np.float64]]:
    """Ratio 0–1 of resident warps to the maximum, float64 [n].

    ``threads`` per block, ``registers`` per thread, ``shared_bytes`` static and dynamic per block: int [n]. Masked
    where a launch does not fit, or the device's limits are unknown.
    """
    threads, registers, shared_bytes = (
        np.atleast_1d(np.asarray(column, np.int64)) for column in (threads, registers, shared_bytes)
    )
    if min(device.threads_per_warp, device.max_warps, device.max_blocks, device.registers) <= 0:
        return np.ma.MaskedArray(np.zeros(len(threads)), True)
    # Programs launch few shapes: each is computed once.
    if len(threads) > _FEW and max(map(np.max, (threads, registers, shared_bytes))) < 1 << 20:
        shape = (threads << 40) | (registers << 20) | shared_bytes
        shapes, each = distinct(shape)
        if len(shapes) <= _FEW:
            mask = (1 << 20) - 1
            ratios = occupancy(device, shapes >> 40, shapes >> 20 & mask, shapes & mask)
            return np.ma.MaskedArray(ratios.data[each], np.ma.getmaskarray(ratios)[each])
    warps = _divide_up(threads, device.threads_per_warp)
    by_warps = device.max_warps // np.maximum(warps, 1)
    by_registers = _blocks_by_registers(device, warps, registers)
    by_shared = _blocks_by_shared_memory(device, shared_bytes)
    blocks = np.minimum(np.minimum(by_warps, by_registers), np.minimum(by_shared, device.max_blocks))
    ratio = blocks * warps / device.max_warps
    return np.ma.MaskedArray(ratio, (blocks <= 0) | (threads <= 0))


def _divide_up(value: Int64Array, unit: int) -> Int64Array:
    return -(-value // unit)


def _blocks_by_registers(device: Multiprocessor, warps: Int64Array, registers: Int64Array) -> Int64Array:
    per_warp = _divide_up(registers * device.threads_per_warp, _REGISTER_UNIT) * _REGISTER_UNIT
    per_partition = device.registers // device.partitions
    resident_warps = per_partition // np.maximum(per_warp, 1) * device.partitions
    blocks = resident_warps // np.maximum(warps, 1)
    # The check assumes that a block's warps are spread evenly over the partitions.
    assumed = per_warp * _divide_up(warps, device.partitions) * device.partitions
    fits = assumed <= (device.registers_per_block or device.registers)
    return np.where(per_warp == 0, device.max_blocks, np.where(fits, blocks, 0))


def _blocks_by_shared_memory(device: Multiprocessor, shared_bytes: Int64Array) -> Int64Array:
    is_new = device.compute_major >= 8
    unit = 128 if is_new else 256
    per_block = _divide_up(shared_bytes + (_DRIVER_SHARED_BYTES if is_new else 0), unit) * unit
    blocks = device.shared_bytes // np.maximum(per_block, 1)
    return np.where(per_block == 0, device.max_blocks, blocks)
