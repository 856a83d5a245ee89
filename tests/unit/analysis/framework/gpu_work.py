"""Random work of a GPU, and selections of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from warpline.analysis.framework.selection import Selection
from warpline.model import Packing
from warpline.storage import Capture, CaptureBuilder, open_capture

KINDS = ("kernel", "memcpy", "memset", "sync")


def write_work(path: Path, seed: int) -> Capture:
    """Streams with clocks of their own, on which kernels, copies and other events overlap."""
    rng = np.random.default_rng(seed)
    with CaptureBuilder(path) as builder:
        names = builder.strings(("gemm", "ncclDevKernel_AllReduce", "relu", "copy"))
        builder.add_device(0, "Test GPU")
        gpu = builder.track("gpu/0", role="gpu", device=0)
        for stream in range(int(rng.integers(1, 5))):
            clock = builder.add_clock("c", int(rng.integers(-50, 50)))
            track = builder.track(
                f"gpu/0/context/1/stream/{stream}",
                role="stream",
                parent=gpu,
                device=0,
                context=1,
                stream=stream,
                clock=clock,
                packing=Packing.PACK,
            )
            for kind in KINDS:
                n = int(rng.integers(0, 25))
                start, duration = rng.integers(0, 300, n), rng.integers(0, 15, n)
                builder.add_events(track, kind, start, duration, rng.choice(names, n))
        builder.finish()
    return open_capture(path)


def selections(capture: Capture, seed: int) -> Iterator[Selection]:
    """The whole and a range of it, of all names and of two."""
    rng = np.random.default_rng(seed)
    low, high = capture.span
    for names in (None, frozenset(rng.integers(0, 6, 2).tolist())):
        yield Selection(names=names)
        start, stop = np.sort(rng.integers(low - 9, high + 9, 2)).tolist()
        yield Selection(start, stop, names=names)
