"""Random work of threads and what they launched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np

from warpline.model import Packing
from warpline.storage import Capture, CaptureBuilder, open_capture


def stretched(path: Path, write: Callable[[Path, int], Capture]) -> Iterator[tuple[int, Capture]]:
    """Captures whose events overlap in their lanes, as only damaged ones do, and the seed of each."""
    for seed in range(8):
        write(path, seed).close()
        with h5py.File(path, "r+") as file:
            durations = file["events/duration"]
            durations[...] = np.asarray(durations[...]) * 5
        with open_capture(path) as capture:
            yield seed, capture


def write_launches(path: Path, seed: int) -> Capture:
    """Operators and ranges that nest on threads with clocks of their own, calls of theirs, and kernels on streams."""
    random = np.random.default_rng(seed)
    with CaptureBuilder(path) as builder:
        names = builder.strings(
            ("aten::add", "add compute", "MemcpyAsync", "memset compute", "forward", "nccl")
        )
        types = builder.strings(("Operator", "Forward", "mine"))
        process = builder.add_process(7, name="python")
        calls, kernels = [], []
        for number in range(int(random.integers(1, 4))):
            thread = builder.add_thread(process, 10 + number)
            clock = builder.add_clock(f"c{number}", int(random.integers(-40, 40)))
            for part, kinds in (
                ("operators", ("operator", "range")),
                ("ranges", ("range", "phase", "operator")),
                ("api", ("cuda_api",)),
            ):
                track = builder.track(
                    f"process/7/thread/{number}/{part}",
                    role=part,
                    process=process,
                    thread=thread,
                    clock=clock,
                    packing=Packing.PACK,
                )
                for kind in kinds:
                    n = int(random.integers(0, 20))
                    start = random.integers(0, 300, n)
                    told = {"category": random.choice(types, n)} if seed % 2 and kind == "range" else {}
                    first = builder.add_events(
                        track,
                        kind,
                        start,
                        random.integers(0, 60, n),
                        random.choice(names, n),
                        attributes=told,
                    )
                    if kind == "cuda_api":
                        calls.append(first + np.arange(n))
        builder.add_device(0, "Test GPU")
        for stream in range(2):
            track = builder.track(
                f"gpu/0/context/1/stream/{stream}", role="stream", device=0, context=1, stream=stream
            )
            n = int(random.integers(0, 30))
            start = np.arange(n) * 12 + random.integers(0, 5, n)
            first = builder.add_events(
                track, "kernel", start, random.integers(0, 7, n), random.choice(names, n)
            )
            kernels.append(first + np.arange(n))
        made, work = np.concatenate(calls), np.concatenate(kernels)
        count = int(random.integers(0, 60))
        if count and len(made) and len(work):
            builder.add_links("launch", random.choice(made, count), random.choice(work, count))
        builder.finish()
    return open_capture(path)
