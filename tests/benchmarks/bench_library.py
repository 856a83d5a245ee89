"""Events of a capture as columns, arrays of names and data frames: processor time and memory per event.

    python tests/benchmarks/bench_library.py [--events 10000000] [--folder DIR] [--smoke]

Bars: all columns of all events at most 300 ns and 120 bytes of anonymous memory per event. The yardstick copies columns
as they lie in the file.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import warpline

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

from tests.benchmarks.measuring import PeakMemory, anonymous_bytes, arguments, capture_of, table  # noqa: E402  # found through the path above

TIME_BAR_NS = 300
MEMORY_BAR_BYTES = 120


def measured(work: Callable[[], object]) -> tuple[float, int]:
    """Seconds of processor time, and bytes of anonymous memory at the worst moment."""
    before = anonymous_bytes()
    with PeakMemory() as memory:
        began = time.process_time()
        result = work()
        took = time.process_time() - began
    del result
    return took, memory.peak_bytes - before


def run(sizes: list[int], folder: Path) -> None:
    """Prints a table for each size, and holds the bars on captures that are large enough to tell."""
    for size in sizes:
        with warpline.open(capture_of(folder, size)) as capture:
            stored, count = capture.storage.events, len(capture.storage.events)
            works: dict[str, Callable[[], object]] = {
                "yardstick": lambda stored=stored: [  # type: ignore[misc]
                    np.array(column) for column in (stored.start, stored.duration, stored.name, stored.kind)
                ],
                "columns": lambda capture=capture: [  # type: ignore[misc]
                    events := capture.events(),
                    [events.column(name) for name in events.columns],
                ],
                "names": lambda capture=capture: capture.events()["name"],  # type: ignore[misc]
                "kernels": lambda capture=capture: dict(capture.events("kernel")),  # type: ignore[misc]
                "tenth": lambda capture=capture: (
                    capture.events(  # type: ignore[misc]
                        start=capture.duration_ns // 2, stop=capture.duration_ns * 6 // 10
                    ).start_ns
                ),
                "pandas": lambda capture=capture: capture.events().to_pandas(),  # type: ignore[misc]
            }
            found = {name: measured(work) for name, work in works.items()}
        rows = [
            (name, f"{seconds:.3f}", f"{seconds / count * 1e9:.0f}", f"{grown / count:.0f}")
            for name, (seconds, grown) in found.items()
        ]
        print(f"{count:,} events")
        table(("what", "s", "ns/event", "B/event"), rows)
        if count >= 1_000_000:
            seconds, grown = found["columns"]
            assert seconds / count * 1e9 <= TIME_BAR_NS
            assert grown / count <= MEMORY_BAR_BYTES


def test_library(bench_smoke: bool, tmp_path: Path) -> None:
    """Within the bars; with tiny sizes, that it runs."""
    run([20_000] if bench_smoke else [5_000_000], tmp_path)


if __name__ == "__main__":
    run(*arguments(__doc__ or "", [10_000_000]))
