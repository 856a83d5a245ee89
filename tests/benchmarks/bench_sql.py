"""Questions in SQL: milliseconds, first and again, beside the same sums in numpy.

    python tests/benchmarks/bench_sql.py [--events 5000000] [--folder DIR] [--smoke]

Bars at 5 million events: by name at most 0.25 s, launch to kernel at most 0.3 s, a query of nothing at most 30 ms. They
are held by processor time over two threads, which is what two idle cores need: the wall tells of a busy machine, too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

from tests.benchmarks.measuring import anonymous_bytes, arguments, capture_of, table  # noqa: E402  # found through the path above

from warpline.query.binding import Binder  # noqa: E402  # the same
from warpline.query.catalog import Catalog  # noqa: E402  # the same
from warpline.query.guard import connect  # noqa: E402  # the same
from warpline.query.raw_tables import Keys  # noqa: E402  # the same
from warpline.storage import Capture, open_capture  # noqa: E402  # the same

BARS_S = {
    "nothing": 0.03,
    "by name": 0.25,
    "kernels by name": 0.25,
    "launch to kernel": 0.3,
}
THREADS = 2
QUERIES = {
    "nothing": "SELECT 1",
    "sum": "SELECT sum(dur) FROM events",
    "by name": "SELECT name, count(*), sum(dur) FROM events GROUP BY name",
    "kernels by name": "SELECT name, count(*), sum(dur) FROM kernel GROUP BY name",
    "launch to kernel": """SELECT count(*), sum(k.ts - c.ts - c.dur) FROM links l
        JOIN cuda_api c ON c.id = l.from_id JOIN kernel k ON k.id = l.to_id WHERE l.kind = 'launch'""",
    "self time": "SELECT name, sum(self_dur) FROM events GROUP BY name",
    "Perfetto": "SELECT category, count(*), sum(dur) FROM slice GROUP BY category",
    "launches": "SELECT count(*), avg(delay) FROM launches",
}


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the wall and of the processor."""
    began, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - used


def yardstick(capture: Capture) -> None:
    """Count and sum by name, as numpy does it."""
    np.bincount(capture.events.name, weights=capture.events.duration, minlength=len(capture.strings))


def run(sizes: list[int], folder: Path) -> None:
    """Prints a table for each size, and holds the bars on captures that are large enough to tell."""
    for size in sizes:
        with open_capture(capture_of(folder, size)) as capture:
            measure = min(seconds(lambda capture=capture: yardstick(capture))[1] for _ in range(3))  # type: ignore[misc]
            before = anonymous_bytes()
            began = time.perf_counter()
            binder = Binder(connect(4 << 30, 2), [Catalog(capture, "main", Keys())])
            door = time.perf_counter() - began
            grown = anonymous_bytes() - before
            rows, took = [], {}
            for name, sql in QUERIES.items():
                if "launch" in name and not len(capture.links):
                    continue
                times = [seconds(lambda sql=sql, binder=binder: binder.run(sql)) for _ in range(4)]  # type: ignore[misc]
                wall, took[name] = (min(time[place] for time in times[1:]) for place in (0, 1))
                shown = (times[0][0], wall, took[name])
                rows.append((name, *(f"{value * 1e3:.0f}" for value in shown), f"{took[name] / measure:.1f}"))
            count = len(capture.events)
        print(
            f"{count:,} events; yardstick {measure * 1e3:.0f} ms; door {door * 1e3:.0f} ms, {grown >> 20} MB"
        )
        table(("query", "first, ms", "again, ms", "processor, ms", "of the yardstick"), rows)
        if count >= 1_000_000:
            for name, bar in BARS_S.items():
                assert took.get(name, 0) / THREADS <= bar * max(1.0, count / 5e6), name


def test_sql(bench_smoke: bool, tmp_path: Path) -> None:
    """Within the bars; with tiny sizes, that it runs."""
    run([20_000] if bench_smoke else [5_000_000], tmp_path)


if __name__ == "__main__":
    run(*arguments(__doc__ or "", [5_000_000]))
