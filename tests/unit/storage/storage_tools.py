"""Builds small captures for tests and answers questions about them by brute force."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from warpline.model import Flag, Packing
from warpline.storage import Capture, CaptureBuilder, open_capture

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Lane:
    """Sorted events that do not overlap."""

    start: Int64Array
    duration: Int64Array
    flags: npt.NDArray[np.uint8]


def random_lane(rng: np.random.Generator, n: int, shape: str, origin: int = 0) -> Lane:
    """``n`` events: ``uniform``, ``bursty`` (log-normal gaps), ``adjacent`` (no gaps) or ``instants``."""
    if shape == "uniform":
        gap, duration = rng.integers(0, 400, n), rng.integers(1, 300, n)
    elif shape == "bursty":
        gap = np.exp(rng.normal(3, 4, n)).astype(np.int64)
        duration = np.exp(rng.normal(3, 2.5, n)).astype(np.int64) + 1
    elif shape == "adjacent":
        gap, duration = np.zeros(n, np.int64), rng.integers(1, 1000, n)
    else:
        gap, duration = rng.integers(0, 50, n), np.zeros(n, np.int64)
    stop = np.cumsum(gap + duration) + origin
    flags = np.where(rng.random(n) < 0.2, int(Flag.IDLE), 0).astype(np.uint8)
    return Lane((stop - duration).astype(np.int64), duration.astype(np.int64), flags)


def write_lanes(path: Path, lanes: list[Lane], offset_ns: int = 0) -> Capture:
    """A capture with a track of one lane for each; shuffled on the way in."""
    rng = np.random.default_rng(len(lanes))
    with CaptureBuilder(path) as builder:
        clock = builder.add_clock("other", offset_ns)
        for index, lane in enumerate(lanes):
            track = builder.track(f"lane/{index}", clock=clock, packing=Packing.PACK)
            order = rng.permutation(len(lane.start))
            # A moment may hold several instants and one event: keep their order, the packer sees sorted ties only.
            for part in np.array_split(order, 3):
                builder.add_events(
                    track,
                    "range",
                    lane.start[part],
                    lane.duration[part],
                    builder.string("x"),
                    flags=lane.flags[part],
                )
        builder.finish()
    return open_capture(path)
