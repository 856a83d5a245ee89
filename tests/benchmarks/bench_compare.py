"""What comparing two captures costs: both generated, of equal size and other seeds.

    python tests/benchmarks/bench_compare.py [--events N …] [--folder DIR] [--smoke]

The median step of both, with the waterfall, every contributor and how parts vary from step to step; then with two
reports row by row; then the whole of both. Beside it `np.sort` of as many durations. Bar: 3 s of the processor for a
million events against a million, by step and as a whole.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

from tests.benchmarks.generate import generate  # noqa: E402  # found through the path above
from tests.benchmarks.measuring import arguments, best_of, capture_of, table  # noqa: E402  # found through the path above

from warpline.analysis.compare.alignment import Align  # noqa: E402  # found through the path above
from warpline.analysis.compare.comparison import CaptureRun, Choices, compare  # noqa: E402  # found through the path above
from warpline.storage import open_capture  # noqa: E402  # found through the path above

BAR_S = 3.0
_REPORTS = ("cuda_gpu_kern_sum", "operator")


def other_capture_of(folder: Path, events: int) -> Path:
    """A generated capture of another seed."""
    path = folder / f"{events}-other.h5"
    if not path.exists():
        part = path.with_suffix(".making")
        generate(part, events, seed=1)
        part.rename(path)
    return path


def measure(folder: Path, events: int) -> tuple[float, float, float, float, int]:
    """Seconds of the comparison by steps, of it with reports, of the whole, of sorting; how many events there are."""
    values = np.random.default_rng(1).lognormal(9, 1.5, 2 * events).astype(np.int64)
    sort_s = best_of(2, lambda: np.sort(values))
    with (
        open_capture(capture_of(folder, events)) as first,
        open_capture(other_capture_of(folder, events)) as second,
    ):
        a, b = [CaptureRun(first, "a")], [CaptureRun(second, "b")]
        plain_s = best_of(2, lambda: compare(a, b))
        full_s = best_of(1, lambda: compare(a, b, Choices(reports=_REPORTS)))
        whole_s = best_of(2, lambda: compare(a, b, Choices(align=Align.START)))
        found = compare(a, b)
        assert found.aligned_by is Align.STEP
        assert sum(part.difference_ns for part in found.parts) == found.difference_ns
        return plain_s, full_s, whole_s, sort_s, len(first.events) + len(second.events)


def run(sizes: list[int], folder: Path) -> float:
    """Prints a line for each size; returns the seconds of the last comparison."""
    rows = []
    longest_s = 0.0
    for events in sizes:
        plain_s, full_s, whole_s, sort_s, count = measure(folder, events)
        longest_s = max(plain_s, whole_s)
        times = (f"{plain_s:.2f} s", f"{full_s:.2f} s", f"{whole_s:.2f} s")
        rows.append((f"{count:,}", *times, f"{longest_s / sort_s:.0f}", f"{BAR_S:.0f} s"))
    table(("events", "by step", "with two reports", "the whole", "× np.sort", "bar at 2 × 1 M"), rows)
    return longest_s


def test_compare(bench_smoke: bool, tmp_path: Path) -> None:
    """For `make bench`."""
    took_s = run([20_000] if bench_smoke else [1_000_000], tmp_path)
    assert bench_smoke or took_s <= BAR_S


if __name__ == "__main__":
    run(*arguments("What comparing two captures costs", (1_000_000,)))
