"""Drawing queries over all zooms: cost per lane and pixel, entries touched, small against large captures, cold files.

    python tests/benchmarks/bench_query.py [--events 5000000 50000000] [--folder DIR] [--smoke]

Every lane on 2000 px, one view at each power-of-two zoom. Bars: the worst zoom of the largest capture costs at most
twice that of the smallest, and at most 0.25 us per lane and pixel; at most 30 entries touched per lane and pixel. The
yardstick bins as many random numbers as the worst view touched entries with numpy.bincount. Cold: the file's pages
are dropped before each view, wall time.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

from tests.benchmarks.measuring import arguments, best_of, capture_of, make_cold, table  # noqa: E402  # found through the path above

from warpline.storage import Capture, open_capture  # noqa: E402  # found through the path above

WIDTH_PX = 2000


def views(capture: Capture) -> list[tuple[int, int]]:
    """One view for each zoom, each somewhere else."""
    low, high = capture.span
    rng = np.random.default_rng(1)
    found = []
    for zoom in range(40):
        length = (high - low) >> zoom
        if length < WIDTH_PX // 100:
            break
        start = low + int(rng.random() * (high - low - length))
        found.append((start, start + max(1, length)))
    return found


def run(sizes: list[int], folder: Path) -> None:
    rows, groups = [], []
    smallest = None
    for events in sizes:
        path = capture_of(folder, events)
        with open_capture(path) as capture:
            lanes = np.arange(len(capture.lanes))
            cells = len(lanes) * WIDTH_PX
            times, touched = [], []
            for start, stop in views(capture):
                touched.append(capture.query(lanes, start, stop, WIDTH_PX).touched)
                times.append(best_of(3, partial(capture.query, lanes, start, stop, WIDTH_PX)))
            worst = int(np.argmax(times))
            smallest = smallest or times[worst]
            places = np.random.default_rng(0).integers(0, cells, max(1, touched[worst]))
            weights = places * 0.5
            yardstick = best_of(3, partial(np.bincount, places, weights, cells))
            n = len(capture.events)
        cold = [cold_view(path, start, stop) for start, stop in views_of(path)[::4]]
        rows.append(
            [
                f"{n:,}",
                len(lanes),
                f"{np.median(times) * 1e3:.1f} ms",
                f"{times[worst] * 1e3:.1f} ms",
                f"2^-{worst}",
                f"{times[worst] / smallest:.2f}",
                f"{times[worst] / cells * 1e6:.3f} us",
                f"{max(touched) / cells:.1f}",
                f"{yardstick * 1e3:.1f} ms",
                f"{times[worst] / yardstick:.1f}",
                f"{np.median(cold) * 1e3:.0f} ms",
                f"{max(cold) * 1e3:.0f} ms",
            ]
        )
        groups.append(group_row(path))
    table(
        [
            "events",
            "lanes",
            "median",
            "worst",
            "at zoom",
            "× smallest",
            "per cell",
            "entries/cell",
            "bincount",
            "ratio",
            "cold median",
            "cold worst",
        ],
        rows,
    )
    table(
        ["events", "group rows", "lanes in them", "whole capture", "a 1/1000th", "querying all lanes"], groups
    )


def views_of(path: Path) -> list[tuple[int, int]]:
    with open_capture(path) as capture:
        return views(capture)


def cold_view(path: Path, start: int, stop: int) -> float:
    """Seconds from dropped pages to a strip, in a capture that was just opened."""
    make_cold(path)
    with open_capture(path) as capture:
        began = time.perf_counter()
        capture.query(np.arange(len(capture.lanes)), start, stop, WIDTH_PX)
        return time.perf_counter() - began


def group_row(path: Path) -> list[object]:
    """Cost of the utilization of all groups, beside querying their lanes."""
    with open_capture(path) as capture:
        low, high = capture.span
        middle, part = (low + high) // 2, (high - low) // 1000

        def ask(start: int, stop: int) -> None:
            for track in capture.groups:
                capture.utilization(track, start, stop, WIDTH_PX)

        lanes = [lane for group in capture.groups.values() for lane in group.lanes]
        times = (
            best_of(3, lambda: ask(low, high)),
            best_of(3, lambda: ask(middle, middle + part)),
            best_of(3, lambda: capture.query(lanes, low, high, WIDTH_PX)),
        )
        return [
            f"{len(capture.events):,}",
            len(capture.groups),
            len(lanes),
            *(f"{t * 1e3:.1f} ms" for t in times),
        ]


def test_query(bench_smoke: bool, tmp_path: Path) -> None:
    run([20_000, 50_000] if bench_smoke else [1_000_000, 5_000_000], tmp_path)


if __name__ == "__main__":
    run(*arguments(__doc__.splitlines()[0], [5_000_000, 50_000_000]))
