"""Synthetic jobs whose truth is known: ranks that train together, and what was made to go wrong in them.

python -m tests.benchmarks.jobs.generate_job FOLDER --ranks 64 --steps 20 --kernels 1    writes rank_0.h5, rank_1.h5, …
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.model import AttributeSpec, KindSpec
from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]
US = 1_000
LOAD_NS = 300 * US
COMPUTE_NS = 800 * US
TRANSFER_NS = 200 * US
PAUSE_NS = 50 * US
LAUNCH_NS = 10 * US
ELEMENTS = 1 << 22
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
KERNELS = ("gemm", "softmax", "layer_norm")


@dataclass(frozen=True)
class JobPlan:
    """A job: what rank ``r`` takes longer in step ``s`` is ``slow_compute[r, s]`` and ``slow_load[r, s]`` (ns).

    ``clocks_ns`` are added to every time that a rank writes, ``begins_early_ns`` is how long before the first step its
    capture begins, ``jitter_ns`` how much each rank's ends of reductions are off at most. Each step loads and then
    computes and reduces ``reductions`` times, computing in ``kernels`` kernels. With a ``group`` every second reduction
    is one of so many neighbours ("tensor" groups), and traces tell the process groups; ``slow_links`` multiplies the
    time that transfers of such a group take. ``slow_kernel`` and ``more_calls`` name the kernel that takes twice as
    long, or runs twice as often, on a rank; ``slow_clock`` multiplies the time of all its kernels.
    """

    ranks: int
    steps: int
    slow_compute: Mapping[tuple[int, int], int] = field(default_factory=dict)
    slow_load: Mapping[tuple[int, int], int] = field(default_factory=dict)
    clocks_ns: Mapping[int, int] = field(default_factory=dict)
    begins_early_ns: Mapping[int, int] = field(default_factory=dict)
    jitter_ns: int = 0
    reductions: int = 2
    kernels: int = 1
    group: int = 0
    slow_links: Mapping[int, float] = field(default_factory=dict)
    slow_kernel: Mapping[int, str] = field(default_factory=dict)
    more_calls: Mapping[int, str] = field(default_factory=dict)
    slow_clock: Mapping[int, float] = field(default_factory=dict)
    hosts: Mapping[int, str] = field(default_factory=dict)
    memory_bytes: Mapping[int, int] = field(default_factory=dict)

    def calls(self, rank: int) -> list[tuple[str, int]]:
        """(name, ns) of the kernels between two reductions."""
        found = []
        for number in range(self.kernels):
            name = KERNELS[number % len(KERNELS)]
            time = COMPUTE_NS // self.kernels * (2 if self.slow_kernel.get(rank) == name else 1)
            time = round(time * self.slow_clock.get(rank, 1))
            found += [(name, time)] * (2 if self.more_calls.get(rank) == name else 1)
        return found

    def is_grouped(self, reduction: int) -> bool:
        """Whether a reduction is one of neighbours and not of all ranks."""
        return bool(self.group) and reduction % 2 == 0


@dataclass(frozen=True)
class JobTimes:
    """True times, int64: when each rank starts a step, is loaded ([steps, ranks]), comes to each reduction (``arrive``)
    and leaves it (``end``, [steps, reductions, ranks]), which all of its ranks do at once.
    """

    start: Int64Array
    loaded: Int64Array
    arrive: Int64Array
    end: Int64Array


def times_of(plan: JobPlan) -> JobTimes:
    """When everything happens."""
    shape = (plan.steps, plan.reductions, plan.ranks)
    times = JobTimes(
        np.zeros((plan.steps, plan.ranks), np.int64),
        np.zeros((plan.steps, plan.ranks), np.int64),
        np.zeros(shape, np.int64),
        np.zeros(shape, np.int64),
    )
    every = range(plan.ranks)
    compute = np.array([sum(time for _, time in plan.calls(rank)) for rank in every], np.int64)
    slow_compute, slow_load = np.zeros((2, plan.steps, plan.ranks), np.int64)
    for slow, told in ((slow_compute, plan.slow_compute), (slow_load, plan.slow_load)):
        for (rank, step), more in told.items():
            slow[step, rank] = more
    now = np.zeros(plan.ranks, np.int64)
    for step in range(plan.steps):
        times.start[step] = now
        times.loaded[step] = now + LOAD_NS + slow_load[step]
        now = times.loaded[step] + 2 * LAUNCH_NS + slow_compute[step]
        for place in range(plan.reductions):
            times.arrive[step, place] = now + compute
            now = times.end[step, place] = _ends(plan, place, times.arrive[step, place])
        now = now + PAUSE_NS
    return times


def _ends(plan: JobPlan, reduction: int, arrive: Int64Array) -> Int64Array:
    if not plan.is_grouped(reduction):
        return np.full(plan.ranks, arrive.max() + TRANSFER_NS)
    found = np.empty(plan.ranks, np.int64)
    for group, first in enumerate(range(0, plan.ranks, plan.group)):
        ranks = slice(first, first + plan.group)
        found[ranks] = arrive[ranks].max() + round(TRANSFER_NS * plan.slow_links.get(group, 1))
    return found


def write_rank(path: Path, plan: JobPlan, rank: int, times: JobTimes) -> Path:
    """The capture of one rank; its GPU has the rank's number."""
    clock = plan.clocks_ns.get(rank, 0) + 1_000 * US
    with CaptureBuilder(path) as builder:
        if rank in plan.hosts:
            builder.meta["host"] = {"name": plan.hosts[rank]}
        builder.add_kind(
            KindSpec("kernel", "Kernel", "gpu", "kernel", (AttributeSpec("payload", "string", "Payload"),))
        )
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
        start, loaded = times.start[:, rank] + clock, times.loaded[:, rank] + clock
        stop = times.end[:, -1, rank] + clock
        names = builder.strings([f"ProfilerStep#{step}" for step in range(plan.steps)])
        builder.add_events(phases, "phase", start, stop - start, names)
        builder.add_events(operators, "operator", start, loaded - start, builder.string(LOADER))
        begins, durations, kernels, payload = _work(builder, plan, rank, times)
        # Launched at once after loading; each begins when the one before ends.
        count = len(begins) // plan.steps
        called = np.repeat(loaded, count) + np.tile(np.arange(count), plan.steps) * (US // 10)
        calls = builder.add_events(api, "cuda_api", called, US // 10, builder.string("cudaLaunchKernel"))
        work = builder.add_events(
            stream,
            "kernel",
            begins + clock,
            durations,
            kernels,
            attributes={"payload": np.ma.masked_equal(payload, 0)},
        )
        builder.add_links("launch", calls + np.arange(len(begins)), work + np.arange(len(begins)))
        if rank in plan.memory_bytes:
            builder.add_counter(gpu, "Memory used", "bytes", [int(start[0])], [plan.memory_bytes[rank]])
        builder.set_span(int(start[0]) - plan.begins_early_ns.get(rank, 0), int(stop[-1]) + plan.jitter_ns)
        return builder.finish()


def _work(
    builder: CaptureBuilder, plan: JobPlan, rank: int, times: JobTimes
) -> tuple[Int64Array, Int64Array, npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """(start, duration, name, payload) of all kernels of a rank, by true time."""
    calls = plan.calls(rank)
    names = builder.strings([*(name for name, _ in calls), ALL_REDUCE])
    time = np.array([time for _, time in calls], np.int64)
    shape = (plan.steps, plan.reductions, len(calls) + 1)
    arrive, end = times.arrive[:, :, rank], times.end[:, :, rank]
    if plan.jitter_ns:
        noise = np.random.default_rng(rank).integers(-plan.jitter_ns, plan.jitter_ns + 1, end.shape)
        end = end + noise
    begins, durations = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    begins[:, :, :-1] = arrive[:, :, None] - time.sum() + np.concatenate([[0], np.cumsum(time)[:-1]])
    durations[:, :, :-1] = time
    # What a step takes longer, its first kernel does.
    slow = times.arrive[:, 0, rank] - time.sum() - times.loaded[:, rank] - 2 * LAUNCH_NS
    begins[:, 0, 0] -= slow
    durations[:, 0, 0] += slow
    begins[:, :, -1], durations[:, :, -1] = arrive, end - arrive
    if plan.jitter_ns:
        # The next kernel begins where the reduction is recorded to end, at the earliest.
        last = end.ravel()[:-1]
        flat, length = begins.reshape(-1, shape[2]), durations.reshape(-1, shape[2])
        moved = np.maximum(last - flat[1:, 0], 0)
        flat[1:, 0] += moved
        length[1:, 0] -= moved
    payload = np.zeros(shape, np.uint32)
    if plan.group:
        for place in range(plan.reductions):
            payload[:, place, -1] = builder.string(_payload(plan, rank, place))
    return begins.ravel(), durations.ravel(), np.tile(names, plan.steps * plan.reductions), payload.ravel()


def _payload(plan: JobPlan, rank: int, reduction: int) -> str:
    """What PyTorch's profiler tells of a collective, many ranks abbreviated as it does."""
    number = rank // plan.group
    first = number * plan.group if plan.is_grouped(reduction) else 0
    ranks = (
        range(first, min(first + plan.group, plan.ranks)) if plan.is_grouped(reduction) else range(plan.ranks)
    )
    named = ", ".join(map(str, ranks[:30])) + (f", ..., {ranks[-1]}" if len(ranks) > 30 else "")
    return json.dumps(
        {
            "Collective name": "allreduce",
            "In msg nelems": ELEMENTS,
            "Out msg nelems": ELEMENTS,
            "Group size": len(ranks),
            "dtype": "BFloat16",
            "In split size": "[]",
            "Out split size": "[]",
            "Process Group Name": str(1 + number) if plan.is_grouped(reduction) else "0",
            "Process Group Description": "mesh_tp" if plan.is_grouped(reduction) else "default_pg",
            "Process Group Ranks": f"[{named}]",
        }
    )


def write_job(folder: Path, plan: JobPlan) -> JobTimes:
    """Write ``rank_0.h5``, ``rank_1.h5`` … and tell what is true of them."""
    folder.mkdir(parents=True, exist_ok=True)
    times = times_of(plan)
    for rank in range(plan.ranks):
        write_rank(folder / f"rank_{rank}.h5", plan, rank, times)
    return times


def late_plan(ranks: int, steps: int, *, reductions: int = 2, kernels: int = 1, group: int = 0) -> JobPlan:
    """A job with one rank that loads slowly in every third step, clocks that are off, and ends that jitter."""
    late = ranks // 2
    return JobPlan(
        ranks,
        steps,
        slow_load={(late, step): 2_000 * US for step in range(0, steps, 3)},
        begins_early_ns={rank: (rank * 7919) % 100_000 for rank in range(1, ranks)},
        jitter_ns=2 * US,
        reductions=reductions,
        kernels=kernels,
        group=group,
        hosts={rank: f"node{rank // 8}" for rank in range(ranks)},
    )


def main() -> None:
    """Write the job of `late_plan`, or every so manieth of its ranks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--reductions", type=int, default=2, help="in a step")
    parser.add_argument("--kernels", type=int, default=1, help="between two reductions")
    parser.add_argument("--group", type=int, default=0, help="ranks of a group of neighbours")
    args = parser.parse_args()
    plan = late_plan(
        args.ranks, args.steps, reductions=args.reductions, kernels=args.kernels, group=args.group
    )
    write_job(args.folder, plan)


if __name__ == "__main__":
    main()
