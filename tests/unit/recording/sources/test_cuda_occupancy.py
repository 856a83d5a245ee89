"""Occupancy against NVIDIA's own calculator (cuda_occupancy.h 12.1, compiled on a host: resident blocks per SM)."""

from __future__ import annotations

import numpy as np
import pytest

from warpline.recording.sources.cuda.occupancy import Multiprocessor, occupancy

# Largest shared memory carve-out; blocks and warps per SM as the hardware tables of the CUDA programming guide say.
DEVICES = {
    "V100": Multiprocessor(
        compute_major=7,
        compute_minor=0,
        threads_per_warp=32,
        max_warps=64,
        max_blocks=32,
        registers=65536,
        registers_per_block=65536,
        shared_bytes=98304,
    ),
    "T4": Multiprocessor(
        compute_major=7,
        compute_minor=5,
        threads_per_warp=32,
        max_warps=32,
        max_blocks=16,
        registers=65536,
        registers_per_block=65536,
        shared_bytes=65536,
    ),
    "A100": Multiprocessor(
        compute_major=8,
        compute_minor=0,
        threads_per_warp=32,
        max_warps=64,
        max_blocks=32,
        registers=65536,
        registers_per_block=65536,
        shared_bytes=167936,
    ),
    "A10": Multiprocessor(
        compute_major=8,
        compute_minor=6,
        threads_per_warp=32,
        max_warps=48,
        max_blocks=16,
        registers=65536,
        registers_per_block=65536,
        shared_bytes=102400,
    ),
    "H100": Multiprocessor(
        compute_major=9,
        compute_minor=0,
        threads_per_warp=32,
        max_warps=64,
        max_blocks=32,
        registers=65536,
        registers_per_block=65536,
        shared_bytes=233472,
    ),
}
# Threads per block, registers per thread, bytes of shared memory per block.
LAUNCHES = (
    (256, 40, 5120),
    (128, 255, 0),
    (1024, 32, 0),
    (1024, 64, 49152),
    (96, 72, 16384),
    (32, 16, 0),
    (512, 128, 65536),
    (256, 168, 40000),
    (160, 33, 1000),
    (384, 64, 100000),
    (64, 24, 2048),
)
RESIDENT_BLOCKS = {
    "V100": (6, 2, 2, 1, 6, 32, 1, 1, 9, 0, 32),
    "T4": (4, 2, 1, 1, 4, 16, 1, 1, 6, 0, 16),
    "A100": (6, 2, 2, 1, 9, 32, 1, 1, 9, 1, 32),
    "A10": (6, 2, 1, 1, 5, 16, 1, 1, 9, 1, 16),
    "H100": (6, 2, 2, 1, 9, 32, 1, 1, 9, 2, 32),
}


@pytest.mark.parametrize("name", DEVICES)
def test_resident_warps_are_those_of_nvidias_calculator(name: str) -> None:
    device = DEVICES[name]
    threads, registers, shared = np.array(LAUNCHES).T
    found = occupancy(device, threads, registers, shared)
    blocks = np.array(RESIDENT_BLOCKS[name])
    expected = blocks * -(-threads // 32) / device.max_warps
    assert np.ma.getmaskarray(found).tolist() == (blocks == 0).tolist()
    np.testing.assert_allclose(np.ma.filled(found, 0), expected)


def test_an_unknown_device_has_no_occupancy() -> None:
    nothing = Multiprocessor(
        compute_major=0,
        compute_minor=0,
        threads_per_warp=0,
        max_warps=0,
        max_blocks=0,
        registers=0,
        registers_per_block=0,
        shared_bytes=0,
    )
    assert np.ma.getmaskarray(occupancy(nothing, [128], [32], [0])).all()
