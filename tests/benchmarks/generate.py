"""Writes synthetic captures shaped like real ones, for benchmarks: never for correctness.

    python tests/benchmarks/generate.py OUT.h5 --events 10000000 [--lanes 60]

A training loop on 8 cores and 2 GPUs: core slices and thread states of a loader pool, nested ranges,
operators, CUDA calls and the kernels and copies they launch, with log-normal bursts, a few thousand names,
steps and pauses between them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from warpline.model import Flag, Packing
from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]

BATCH = 1 << 19
STEP_NS = 5_000_000


class _Clockwork:
    """Log-normal bursts, stretched so that all lanes cover the same time."""

    def __init__(self, seed: int, span_ns: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.span_ns = span_ns

    def lane(self, n: int, busy: float) -> tuple[Int64Array, Int64Array]:
        """``n`` disjoint events over the span, ``busy`` of the time covered."""
        weights = np.exp(self.rng.normal(0, 1.6, n)).astype(np.float32)
        gaps = np.exp(self.rng.normal(0, 2.2, n)).astype(np.float32)
        # Now and then the program waits for something: a burst ends.
        gaps[:: max(2, n // 400)] *= 2000
        duration = np.maximum(1, weights * (busy * self.span_ns / weights.sum())).astype(np.int64)
        gap = np.maximum(1, gaps * ((1 - busy) * self.span_ns / gaps.sum())).astype(np.int64)
        start = np.cumsum(gap + duration) - duration
        return start, duration


def generate(
    path: Path,
    events: int,
    lanes: int = 60,
    seed: int = 0,
    progress: Callable[[float, str], None] | None = None,
) -> Path:
    """Writes a capture of about ``events`` events on about ``lanes`` lanes."""
    per_lane = max(10, events // lanes)
    clockwork = _Clockwork(seed, per_lane * 12_000)
    rng = clockwork.rng
    with CaptureBuilder(path) as builder:
        kernels = builder.strings(
            f"void kernel_{i}<float, {i % 7}, cutlass::Shape<{i % 128}>>" for i in range(600)
        )
        operators = builder.strings(f"aten::operator_{i}" for i in range(400))
        calls = builder.strings(("cudaLaunchKernel", "cudaMemcpyAsync", "cudaStreamSynchronize"))
        ranges = builder.strings(f"layer {i}" for i in range(200))
        states = builder.strings(("running", "runnable", "blocked"))
        state_flags = np.array([0, int(Flag.WAITING), int(Flag.IDLE)], np.uint8)
        process = builder.add_process(71, name="python", command="python train.py")
        builder.add_device(0, "Synthetic GPU")
        core_lanes, thread_lanes = max(2, lanes // 8), max(2, lanes // 8)
        gpu_lanes = max(2, lanes // 6)
        nested_lanes = max(4, lanes - core_lanes - 2 * thread_lanes - gpu_lanes)

        cores = builder.track("cpu", title="CPU cores", role="cores")
        names = builder.strings(f"python {71 + i}" for i in range(thread_lanes))
        for core in range(core_lanes):
            track = builder.track(f"cpu/{core}", title=f"Core {core}", role="core", parent=cores)
            start, duration = clockwork.lane(per_lane, 0.5)
            _add(builder, track, "cpu_slice", start, duration, rng.choice(names, per_lane))

        owner = builder.track("process/71.1", title="python train.py [71]", role="process", process=process)
        launches: list[int] = []
        for thread in range(thread_lanes):
            index = builder.add_thread(process, 71 + thread, name=f"worker {thread}")
            uri = f"process/71.1/thread/{71 + thread}.1"
            parent = builder.track(
                uri,
                title=f"worker {thread}  {71 + thread}",
                role="thread",
                parent=owner,
                process=process,
                thread=index,
            )
            # As a recording has it: what lies below a thread is that thread's.
            below = partial(builder.track, parent=parent, process=process, thread=index)
            state = below(f"{uri}/state", title="State", role="state")
            start, duration = clockwork.lane(per_lane // 3, 0.6)
            edges = np.unique(np.concatenate([start, start + duration, start + duration + 400]))
            code = np.arange(len(edges) - 1) % 3
            _add(builder, state, "thread_state", edges[:-1], np.diff(edges), states[code], state_flags[code])
            api = below(f"{uri}/api", title="CUDA API", role="api")
            start, duration = clockwork.lane(per_lane, 0.25)
            first = _add(
                builder, api, "cuda_api", start, duration, rng.choice(calls, per_lane, p=[0.9, 0.07, 0.03])
            )
            launches.append(first)
            if not thread:
                _steps(builder, below(f"{uri}/phases", title="Phases", role="phases"), clockwork)
            levels = nested_lanes // thread_lanes or 1
            track = below(f"{uri}/operators", title="Operators", role="operators")
            _nest(builder, track, clockwork, per_lane, levels, operators if thread % 2 else ranges)

        for stream in range(gpu_lanes):
            device = stream % 2
            gpu = builder.track(f"gpu/{device}", title=f"GPU {device} · Synthetic", role="gpu", device=device)
            track = builder.track(
                f"gpu/{device}/process/71.1/context/1/stream/{7 + stream}",
                title=f"Stream {7 + stream}",
                role="stream",
                parent=gpu,
                process=process,
                device=device,
                context=1,
                stream=7 + stream,
                packing=Packing.PACK,
            )
            start, duration = clockwork.lane(per_lane, 0.7 if stream < 2 else 0.15)
            picks = kernels[np.minimum(rng.zipf(1.4, per_lane) - 1, len(kernels) - 1)]
            first = _add(builder, track, "kernel", start, duration, picks)
            launched = np.arange(per_lane // 4)
            builder.add_links("launch", launches[stream % len(launches)] + launched, first + launched)
        times = np.linspace(0, clockwork.span_ns, min(events // 50 + 2, 200_000)).astype(np.int64)
        builder.add_counter(cores, "Utilization", "ratio", times, rng.random(len(times)))
        builder.add_source("synthetic", True, "made up by tests/benchmarks/generate.py")
        builder.meta["command_line"] = ["python", "train.py"]
        return builder.finish(progress)


def _steps(builder: CaptureBuilder, track: int, clockwork: _Clockwork) -> None:
    """Steps of a training, one after the other with a pause between."""
    # A small capture has a few all the same.
    step_ns = min(STEP_NS, clockwork.span_ns // 8)
    start = np.arange(0, clockwork.span_ns - step_ns, step_ns)
    duration = clockwork.rng.normal(0.9 * step_ns, 0.02 * step_ns, len(start)).astype(np.int64)
    names = builder.strings(f"ProfilerStep#{number}" for number in range(len(start)))
    _add(builder, track, "phase", start, np.minimum(duration, step_ns), names)


def _nest(
    builder: CaptureBuilder,
    track: int,
    clockwork: _Clockwork,
    n: int,
    levels: int,
    names: npt.NDArray[np.uint32],
) -> None:
    """``levels`` depths of ranges, each inside the one above."""
    start, duration = clockwork.lane(n, 0.8)
    for level in range(levels):
        kind = "operator" if level % 2 else "range"
        _add(builder, track, kind, start, duration, clockwork.rng.choice(names, len(start)))
        start, duration = start + duration // 8, np.maximum(duration - duration // 4, 1)
        keep = duration > 8
        start, duration = start[keep], duration[keep]


def _add(
    builder: CaptureBuilder,
    track: int,
    kind: str,
    start: Int64Array,
    duration: Int64Array,
    names: npt.NDArray[np.uint32],
    flags: npt.NDArray[np.uint8] | None = None,
) -> int:
    first = -1
    for begin in range(0, len(start), BATCH):
        part = slice(begin, begin + BATCH)
        bits = 0 if flags is None else flags[part]
        added = builder.add_events(track, kind, start[part], duration[part], names[part], flags=bits)
        first = added if first < 0 else first
    return first


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--lanes", type=int, default=60)
    options = parser.parse_args()
    began = time.perf_counter()
    generate(options.out, options.events, options.lanes)
    size = options.out.stat().st_size
    print(f"{options.out}: {size / 1e6:.0f} MB in {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
