"""Synthetic jobs whose truth is known: ranks that train together, and what was made to go wrong in them.

python -m tests.unit.analysis.jobs.generate_job FOLDER --ranks 64 --steps 20    writes rank_0.h5, rank_1.h5, …
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]
US = 1_000
LOAD_NS = 300 * US
COMPUTE_NS = 800 * US
TRANSFER_NS = 200 * US
PAUSE_NS = 50 * US
LAUNCH_NS = 10 * US
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


@dataclass(frozen=True)
class JobPlan:
    """A job: what rank ``r`` takes longer in step ``s`` is ``slow_compute[r, s]`` and ``slow_load[r, s]`` (ns).

    ``clocks_ns`` are added to every time that a rank writes, ``begins_early_ns`` is how long before the first step its
    capture begins. Each step loads, computes, reduces, computes, reduces.
    """

    ranks: int
    steps: int
    slow_compute: Mapping[tuple[int, int], int] = field(default_factory=dict)
    slow_load: Mapping[tuple[int, int], int] = field(default_factory=dict)
    clocks_ns: Mapping[int, int] = field(default_factory=dict)
    begins_early_ns: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class JobTimes:
    """True times, int64 [steps, ranks]: when each rank starts a step, is loaded, comes to both reductions (``arrive``,
    [steps, 2, ranks]); and when those end on all ranks at once, [steps, 2].
    """

    start: Int64Array
    loaded: Int64Array
    arrive: Int64Array
    end: Int64Array


def times_of(plan: JobPlan) -> JobTimes:
    """When everything happens."""
    shape = (plan.steps, plan.ranks)
    times = JobTimes(
        np.zeros(shape, np.int64),
        np.zeros(shape, np.int64),
        np.zeros((plan.steps, 2, plan.ranks), np.int64),
        np.zeros((plan.steps, 2), np.int64),
    )
    now = 0
    every = range(plan.ranks)
    for step in range(plan.steps):
        times.start[step] = now
        times.loaded[step] = [now + LOAD_NS + plan.slow_load.get((rank, step), 0) for rank in every]
        slow = [plan.slow_compute.get((rank, step), 0) for rank in every]
        times.arrive[step, 0] = times.loaded[step] + 2 * LAUNCH_NS + COMPUTE_NS + np.array(slow)
        times.end[step, 0] = times.arrive[step, 0].max() + TRANSFER_NS
        times.arrive[step, 1] = times.end[step, 0] + COMPUTE_NS
        times.end[step, 1] = times.arrive[step, 1].max() + TRANSFER_NS
        now = int(times.end[step, 1]) + PAUSE_NS
    return times


def write_rank(path: Path, plan: JobPlan, rank: int, times: JobTimes) -> Path:
    """The capture of one rank; its GPU has the rank's number."""
    clock = plan.clocks_ns.get(rank, 0) + 1_000 * US
    with CaptureBuilder(path) as builder:
        process = builder.add_process(100 + rank, name="python", rank=rank)
        thread = builder.add_thread(process, 100 + rank, name="main")
        builder.add_device(rank, "Test GPU")
        base = f"process/{100 + rank}.1"
        builder.track(base, role="process", process=process)
        host = builder.track(f"{base}/thread/1", role="thread", parent=base, process=process, thread=thread)
        own: dict[str, Any] = {"parent": host, "process": process, "thread": thread}
        phases = builder.track(f"{base}/thread/1/phases", role="phases", **own)
        operators = builder.track(f"{base}/thread/1/operators", role="operators", **own)
        api = builder.track(f"{base}/thread/1/api", role="api", **own)
        gpu = builder.track(f"gpu/{rank}", role="gpu", device=rank)
        stream = builder.track(
            f"gpu/{rank}/stream/7",
            role="stream",
            parent=gpu,
            process=process,
            device=rank,
            context=1,
            stream=7,
        )
        count = plan.steps
        start, loaded = times.start[:, rank] + clock, times.loaded[:, rank] + clock
        arrive, end = times.arrive[:, :, rank] + clock, times.end + clock
        names = builder.strings([f"ProfilerStep#{step}" for step in range(count)])
        builder.add_events(phases, "phase", start, end[:, 1] - start, names)
        builder.add_events(operators, "operator", start, loaded - start, builder.string(LOADER))
        # Launched at once after loading; each begins when the one before ends.
        begins = np.stack([loaded + 2 * LAUNCH_NS, arrive[:, 0], end[:, 0], arrive[:, 1]], axis=1)
        stops = np.stack([arrive[:, 0], end[:, 0], arrive[:, 1], end[:, 1]], axis=1)
        kernel = builder.strings(["gemm", ALL_REDUCE, "gemm", ALL_REDUCE])
        calls = builder.add_events(
            api,
            "cuda_api",
            np.repeat(loaded, 4) + np.tile(np.arange(4), count) * US,
            US,
            builder.string("cudaLaunchKernel"),
        )
        work = builder.add_events(
            stream, "kernel", begins.ravel(), (stops - begins).ravel(), np.tile(kernel, count)
        )
        builder.add_links("launch", calls + np.arange(4 * count), work + np.arange(4 * count))
        builder.set_span(int(start[0]) - plan.begins_early_ns.get(rank, 0), int(end[-1, 1]))
        return builder.finish()


def write_job(folder: Path, plan: JobPlan) -> JobTimes:
    """Write ``rank_0.h5``, ``rank_1.h5`` … and tell what is true of them."""
    folder.mkdir(parents=True, exist_ok=True)
    times = times_of(plan)
    for rank in range(plan.ranks):
        write_rank(folder / f"rank_{rank}.h5", plan, rank, times)
    return times


def main() -> None:
    """Write a job with one rank that loads slowly in every third step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    late = args.ranks // 2
    slow = {(late, step): 2_000 * US for step in range(0, args.steps, 3)}
    write_job(args.folder, JobPlan(args.ranks, args.steps, slow_load=slow))


if __name__ == "__main__":
    main()
