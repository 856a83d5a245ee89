"""What summaries cost, for the whole of a capture and for a tenth of its time.

    python tests/benchmarks/bench_statistics.py [--events N …] [--folder DIR] [--smoke]

First the statistics themselves (count, total, average, exact median, extremes, deviation by name) per selected event
against numpy yardsticks of the same length in the same run: `np.sort` and `np.bincount`. Bar: 30 ns per event. Then
every report on a synthetic capture, whole and a tenth, in ns per selected event (those it is about: kernels for a table
of kernels), times `np.sort` of as many durations, and with the anonymous memory it needed. The bar is for tables of
statistics by name; trees and unions do more than statistics. At last a hand that drags a range: how long until counts
and totals are there, and until the medians are. All times are of the processor.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

from tests.benchmarks.measuring import (  # noqa: E402  # found through the path above
    PeakMemory,
    anonymous_bytes,
    arguments,
    best_of,
    capture_of,
)

from warpline.analysis.framework.options import Options  # noqa: E402  # found through the path above
from warpline.analysis.framework.registry import compute_report, reports  # noqa: E402  # found through the path above
from warpline.analysis.framework.selection import Selection, View  # noqa: E402  # found through the path above
from warpline.analysis.framework.statistics import batch_statistics, group_statistics, group_totals  # noqa: E402  # found through the path above
from warpline.storage import Capture, open_capture  # noqa: E402  # found through the path above

BAR_NS = 30.0


def bench_statistics(events: int) -> None:
    random = np.random.default_rng(1)
    keys = random.integers(0, 600, events).astype(np.uint32)
    values = random.lognormal(9, 1.5, events).astype(np.int64)
    size = 1 << 20

    def batches() -> object:
        return ((keys[i : i + size], values[i : i + size]) for i in range(0, events, size))

    rows = (
        ("np.sort of the values", lambda: np.sort(values)),
        ("np.bincount by name", lambda: np.bincount(keys, weights=values)),
        ("counts and totals", lambda: group_totals(keys, values, 600)),
        ("statistics with median", lambda: group_statistics(keys, values)),
        ("the same, in portions", lambda: batch_statistics(batches)),  # type: ignore[arg-type]
    )
    yardstick = 0.0
    print(f"{events:,} events, 600 names")
    print(f"{'':26}{'ns/event':>10}{'× np.sort':>11}")
    for title, work in rows:
        took = best_of(3, work) / events * 1e9
        yardstick = yardstick or took
        bar = f"   bar {BAR_NS:.0f}" if "median" in title else ""
        print(f"{title:26}{took:10.1f}{took / yardstick:11.2f}{bar}")


_GPU = ("kernel", "memcpy", "memset")
_HOST = ("range", "operator", "phase")
_LAUNCHES = ("kernel", "cuda_api")
ABOUT = {
    "cuda_api_sum": ("cuda_api",),
    "cuda_gpu_kern_sum": ("kernel",),
    "cuda_gpu_kern_gb_sum": ("kernel",),
    "cuda_gpu_mem_time_sum": ("memcpy", "memset"),
    "cuda_gpu_mem_size_sum": ("memcpy", "memset"),
    "cuda_gpu_sum": _GPU,
    "cuda_api_gpu_sum": (*_GPU, "cuda_api"),
    "cuda_kern_exec_sum": _LAUNCHES,
    "kernel": ("kernel",),
    "distributed": ("kernel",),
    "memory_manipulation": ("memcpy", "memset"),
    "overlap": _GPU,
    "stream_concurrency": _GPU,
    "gpu_idle": _GPU,
    "launch_latency": _LAUNCHES,
    "queue_length": _LAUNCHES,
    "nvtx_sum": ("range",),
    "nvtx_pushpop_sum": ("range",),
    "nvtx_startend_sum": ("range",),
    "nvtx_gpu_proj_sum": ("range",),
    "nvtx_kern_sum": ("range",),
    "osrt_sum": ("osrt",),
    "thread_state": ("thread_state",),
    "core_utilization": ("cpu_slice",),
}
"""The kinds whose events a report counts; every other one counts what nests on threads."""
BY_NAME = ("cuda_api_sum", "cuda_gpu_kern_sum", "cuda_gpu_sum", "cuda_api_gpu_sum", "osrt_sum")
"""Statistics by name alone: what the bar is for."""


def bench_reports(capture: Capture) -> None:
    start, stop = capture.span
    middle = start + (stop - start) // 2
    tenth = Selection(middle, middle + (stop - start) // 10)
    durations = np.array(capture.events.duration[: 1 << 22])
    yardstick = best_of(3, lambda: np.sort(durations)) / max(len(durations), 1) * 1e9
    print(f"\n{len(capture.events):,} events in the capture; np.sort {yardstick:.1f} ns per value")
    print(f"{'':22}{'---- whole ----------------':>38}{'---- a tenth ------':>22}")
    print(f"{'report':22}{'s':>8}{'ns/event':>10}{'× sort':>8}{'MB':>7}{'s':>12}{'ns/event':>10}")
    for spec in reports():
        if spec.name.endswith("_trace"):
            continue
        if compute_report(capture, spec.name, tenth).table is None:
            continue
        about = ABOUT.get(spec.name, _HOST)
        events, part = (
            max(sum(View(capture, chosen).count(kind) for kind in about), 1) for chosen in (None, tenth)
        )
        before = anonymous_bytes()
        began = time.process_time()
        with PeakMemory() as memory:
            compute_report(capture, spec.name)
        whole = time.process_time() - began
        took = best_of(2, partial(compute_report, capture, spec.name, tenth))
        used = (memory.peak_bytes - before) / 1e6
        per_event = whole / events * 1e9
        bar = f"   bar {BAR_NS:.0f}" if spec.name in BY_NAME else ""
        print(
            f"{spec.name:22}{whole:8.2f}{per_event:10.1f}{per_event / yardstick:8.1f}{used:7.0f}"
            f"{took:12.3f}{took / part * 1e9:10.1f}{bar}",
            flush=True,
        )


def bench_drag(capture: Capture) -> None:
    start, stop = capture.span
    length = (stop - start) // 10
    quick: list[float] = []
    exact: list[float] = []
    counts = []
    for step in range(8):
        selection = Selection(start + step * length, start + (step + 1) * length)
        counts.append(View(capture, selection).count("kernel"))
        for times, options in ((quick, Options(quick=True)), (exact, Options())):
            began = time.perf_counter()
            compute_report(capture, "kernel", selection, options)
            times.append(time.perf_counter() - began)
    print(f"\ndragging a tenth over the capture ({np.mean(counts):,.0f} kernels in it), table of kernels")
    for title, times in (("counts and totals", quick), ("with medians", exact)):
        print(f"{title:24}median {np.median(times) * 1e3:8.1f} ms   worst {max(times) * 1e3:8.1f} ms")


def main() -> None:
    sizes, folder = arguments("What summaries cost", (1_000_000,))
    for events in sizes:
        bench_statistics(events)
        with open_capture(capture_of(folder, events)) as capture:
            bench_reports(capture)
            bench_drag(capture)
        print()


if __name__ == "__main__":
    main()
