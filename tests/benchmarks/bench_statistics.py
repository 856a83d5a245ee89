"""What summaries cost, for the whole of a capture and for a tenth of its time.

    python tests/benchmarks/bench_statistics.py [--events N …] [--folder DIR] [--smoke]

First the statistics themselves (count, total, average, exact median, extremes, deviation by name) per selected event
against numpy yardsticks of the same length in the same run: `np.sort` and `np.bincount`. Bar: 30 ns per event. Then
every report on a synthetic capture, whole and a tenth, with the anonymous memory it needed. At last a hand that drags
a range: how long until counts and totals are there, and until the medians are.
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

from warpline.analysis.options import Options  # noqa: E402  # found through the path above
from warpline.analysis.registry import REPORTS, compute_report  # noqa: E402  # found through the path above
from warpline.analysis.selection import Selection, View  # noqa: E402  # found through the path above
from warpline.analysis.statistics import batch_statistics, group_statistics, group_totals  # noqa: E402  # found through the path above
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


def bench_reports(capture: Capture) -> None:
    start, stop = capture.span
    middle = start + (stop - start) // 2
    tenth = Selection(middle, middle + (stop - start) // 10)
    print(f"\n{len(capture.events):,} events in the capture")
    print(f"{'report':24}{'whole s':>10}{'tenth s':>10}{'tenth/whole':>13}{'MB anon':>10}")
    for spec in REPORTS:
        if spec.name.endswith("_trace"):
            continue
        if compute_report(capture, spec.name, tenth).table is None:
            continue
        before = anonymous_bytes()
        began = time.process_time()
        with PeakMemory() as memory:
            compute_report(capture, spec.name)
        whole = time.process_time() - began
        part = best_of(2, partial(compute_report, capture, spec.name, tenth))
        used = (memory.peak_bytes - before) / 1e6
        print(f"{spec.name:24}{whole:10.3f}{part:10.3f}{part / whole:13.2f}{used:10.0f}")


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
