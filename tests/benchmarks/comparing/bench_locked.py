"""Two timelines that move as one beside one timeline alone, with the same number of lines in view.

    python tests/benchmarks/comparing/bench_locked.py [--events N …] [--runs 3] [--frames 120] [--folder DIR] [--smoke]

Two generated captures of equal size and other seeds in the tab of a comparison, 30 lines of 2000 pixels each, against
60 lines of the first alone; runs take turns. A frame is a step of the hand and all that the window paints for it: two
canvases, rulers and overviews, against one of each. The yardstick is the one timeline. Bars are those of one timeline:
99 % of the frames of a pan ≤ 16.7 ms, p95 of a zoom ≤ 20 ms.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[3])]

from tests.benchmarks.bench_compare import other_capture_of  # noqa: E402  # found through the path above
from tests.benchmarks.measuring import capture_of, table  # noqa: E402  # found through the path above

WORKER = Path(__file__).with_name("locked_worker.py")
PAN_INSIDE, ZOOM_P95_MS = 0.99, 20.0
_TITLES = ("one", "two, locked")
Found = dict[str, Any]


def in_motion(paths: list[Path], frames: int) -> Found:
    """What the worker measured in a fresh process."""
    command: list[str | Path] = [sys.executable, WORKER, *paths, "--frames", str(frames)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: Found = json.loads(done.stdout.splitlines()[-1])
    return found


def middle(runs: list[Found], motion: str, clock: str, key: str) -> float:
    """The median of a figure over the runs."""
    return float(statistics.median(one[motion][clock][key] for one in runs))


def run(sizes: list[int], folder: Path, runs: int, frames: int) -> bool:
    """Prints a line for each size, motion and clock; returns whether both held the bars, by processor time."""
    rows, holds = [], True
    for events in sizes:
        a, b = capture_of(folder, events), other_capture_of(folder, events)
        one, two = [], []
        for _ in range(runs):
            one.append(in_motion([a], frames))
            two.append(in_motion([a, b], frames))
        for motion in ("pan", "zoom"):
            ratio = middle(two, motion, "cpu", "p50") / middle(one, motion, "cpu", "p50")
            for title, of in zip(_TITLES, (one, two), strict=True):
                for clock, name in (("wall", "clock"), ("cpu", "processor")):
                    figures = [f"{middle(of, motion, clock, key):.1f}" for key in ("p50", "p95", "p99")]
                    inside = f"{middle(of, motion, clock, 'inside'):.1%}"
                    beside = f"{ratio:.2f}" if (of, clock) == (two, "cpu") else ""
                    rows.append(
                        (f"{events:,}", motion, title, of[0]["lines"], name, *figures, inside, beside)
                    )
        holds &= middle(two, "pan", "cpu", "inside") >= PAN_INSIDE
        holds &= middle(two, "zoom", "cpu", "p95") <= ZOOM_P95_MS
    table(("events", "", "timelines", "lines", "by", "p50 ms", "p95", "p99", "≤16.7", "× one"), rows)
    return holds


def test_locked(bench_smoke: bool, tmp_path: Path) -> None:
    """For `make bench`."""
    holds = run([20_000], tmp_path, 1, 3) if bench_smoke else run([1_000_000], tmp_path, 3, 60)
    assert bench_smoke or holds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, nargs="+", default=[10_000_000])
    parser.add_argument(
        "--folder", type=Path, default=Path(os.environ.get("WARPLINE_BENCH_DATA", "build/bench"))
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--frames", type=int, default=120)
    parser.add_argument("--smoke", action="store_true", help="a tiny run that only shows that it works")
    options = parser.parse_args()
    if options.smoke:
        options.events, options.runs, options.frames = [20_000], 1, 3
    options.folder.mkdir(parents=True, exist_ok=True)
    run(options.events, options.folder, options.runs, options.frames)


if __name__ == "__main__":
    main()
