"""Building captures: processor time per event, peak anonymous memory, size and time of the level of detail.

    python tests/benchmarks/bench_build.py [--events 10000000 50000000] [--folder DIR] [--smoke]

Bars: 50 M events under 1 GB; level of detail ≤ 60 ns/event, records ≤ 24 B, ≤ 25 % of the event columns. The
yardstick sorts as many random int64 with numpy in the same process.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import h5py
import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

from tests.benchmarks.generate import generate  # noqa: E402  # found through the path above
from tests.benchmarks.measuring import PeakMemory, arguments, best_of, table  # noqa: E402  # found through the path above

from warpline.storage import CaptureBuilder, open_capture  # noqa: E402  # found through the path above


def measure(path: Path, events: int) -> dict[str, float]:
    """Builds one capture in this process; seconds, bytes."""
    steps: list[tuple[float, str]] = []
    began_wall = 0.0
    spent = 0.0
    add = CaptureBuilder.add_events

    def timed(self: CaptureBuilder, *args: object, **options: object) -> int:
        nonlocal spent
        began = time.process_time()
        first = add(self, *args, **options)  # type: ignore[arg-type]  # passed on as they come
        spent += time.process_time() - began
        return first

    def note(_: float, what: str) -> None:
        nonlocal began_wall
        began_wall = began_wall or time.perf_counter()
        steps.append((time.process_time(), what))

    CaptureBuilder.add_events = timed  # type: ignore[method-assign, assignment]  # to tell adding from generating
    with PeakMemory() as memory:
        generate(path, events, progress=note)
    steps.append((time.process_time(), "end"))
    wall = time.perf_counter() - began_wall
    phases: dict[str, float] = {}
    for (began, what), (ended, _) in itertools.pairwise(steps):
        phases[what] = phases.get(what, 0.0) + ended - began
    with open_capture(path) as capture:
        n = len(capture.events)
    with h5py.File(path) as file:
        columns = sum(file["events"][name].id.get_storage_size() for name in file["events"])
        entries = [file["lod"][name] for name in ("start", "longest", "rest", "row")]
        detail = sum(dataset.id.get_storage_size() for dataset in entries)
        record = sum(dataset.dtype.itemsize for dataset in entries)
        skip = sum(file["lod"][name].id.get_storage_size() for name in ("skip_events", "skip_entries"))
    return {
        "events": n,
        "adding": spent,
        "finishing": steps[-1][0] - steps[0][0],
        "wall": wall,
        "sorting": phases.get("sorting events", 0.0),
        "detail": phases.get("level of detail", 0.0),
        "utilization": phases.get("utilization", 0.0),
        "peak": memory.peak_bytes,
        "columns": columns,
        "detail_bytes": detail,
        "skip_bytes": skip,
        "record": record,
    }


def sort_random(n: int) -> None:
    """The yardstick: numpy draws and sorts as many integers."""
    np.sort(np.random.default_rng(0).integers(0, 1 << 60, n))


def run(sizes: list[int], folder: Path) -> None:
    rows, tiny = [], []
    for events in sizes:
        path = folder / f"{events}.h5"
        answer = subprocess.run(
            [sys.executable, __file__, "--measure", str(path.with_suffix(".making")), str(events)],
            check=True,
            capture_output=True,
            text=True,
        )
        path.with_suffix(".making").rename(path)
        found = json.loads(answer.stdout)
        n = found["events"]
        yardstick = best_of(1, partial(sort_random, n))
        rows.append(
            [
                f"{n:,}",
                *(
                    f"{found[what] / n * 1e9:.0f}"
                    for what in ("adding", "finishing", "wall", "sorting", "detail", "utilization")
                ),
                f"{yardstick / n * 1e9:.0f}",
                f"{found['finishing'] / yardstick:.1f}",
                f"{found['peak'] / 1e6:.0f} MB",
                f"{found['detail_bytes'] / found['columns']:.1%}",
                f"{found['skip_bytes'] / found['columns']:.2%}",
                f"{found['record']:.0f} B",
            ]
        )
    table(
        [
            "events",
            "add ns/ev",
            "finish",
            "wall",
            "sort",
            "detail",
            "utiliz.",
            "np.sort",
            "ratio",
            "peak anon",
            "detail/cols",
            "skip",
            "record",
        ],
        rows,
    )
    calls = 20_000 if sizes[0] < 100_000 else 200_000
    for attributes in (0, 3):
        seconds = tiny_batches(folder / "tiny.h5", calls, attributes)
        append = best_of(3, lambda: [np.array([i], np.int64) for i in range(calls)])
        tiny.append(
            [
                f"{calls:,}",
                attributes,
                f"{seconds / calls * 1e6:.1f} us",
                f"{append / calls * 1e6:.2f} us",
                f"{seconds / append:.0f}",
            ]
        )
    table(["calls of one event", "attributes", "per call", "np.array", "ratio"], tiny)


def tiny_batches(path: Path, calls: int, attributes: int) -> float:
    """Processor time of adding events one by one, as an importer might."""
    names = ("correlation", "queued_ns", "registers_per_thread")[:attributes]
    with CaptureBuilder(path) as builder:
        tracks = [builder.track(f"t/{i}") for i in range(16)]
        began = time.process_time()
        for index in range(calls):
            values = {name: [index] for name in names}
            builder.add_events(tracks[index % 16], "kernel", [index * 10], [5], [0], attributes=values)
        return time.process_time() - began


def test_build(bench_smoke: bool, tmp_path: Path) -> None:
    """Prints the table."""
    run([20_000, 50_000] if bench_smoke else [5_000_000], tmp_path)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(Path(sys.argv[2]), int(sys.argv[3]))))
    else:
        run(*arguments(__doc__.splitlines()[0], [10_000_000, 50_000_000]))
