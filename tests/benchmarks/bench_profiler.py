"""What a profiler costs the program it is in: a step that is only timed, and ranges while nothing records.

    python tests/benchmarks/bench_profiler.py

CPU time of the thread for one call, the best of several rounds. The yardstick is a ``with`` that does nothing.
Bar: 2 us for a step of ``timer_only``, its share of what is worked out later included.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import warpline

STEP_BAR_NS = 2_000.0
ROUNDS = 5


class Nothing:
    """Does nothing, in Python."""

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


def best_ns(calls: int, work: Callable[[int], None]) -> float:
    """Of one call."""
    best = float("inf")
    for _round in range(ROUNDS):
        began = time.thread_time_ns()
        work(calls)
        best = min(best, (time.thread_time_ns() - began) / calls)
    return best


def run(calls: int) -> float:
    """Prints a table; returns what a step costs, in ns."""
    profiler = warpline.Profiler(timer_only=True)
    profiler.start()
    nothing, prepared = Nothing(), warpline.RecordEvent("a range of usual length")

    def empty(count: int) -> None:
        for _ in range(count):
            with nothing:
                pass

    def steps(count: int) -> None:
        for _ in range(count):
            profiler.step(8)
        assert profiler.step_info()

    def reused(count: int) -> None:
        for _ in range(count):
            with prepared:
                pass

    def each(count: int) -> None:
        for _ in range(count):
            with warpline.RecordEvent("a range of usual length"):
                pass

    works = {"yardstick": empty, "step": steps, "RecordEvent, reused": reused, "RecordEvent, each": each}
    found = {name: best_ns(calls, work) for name, work in works.items()}
    for name, cost in found.items():
        print(f"{name:>20}  {cost:8.0f} ns")
    return found["step"]


def test_profiler(bench_smoke: bool) -> None:
    """Within the bar; with few calls, that it runs."""
    cost = run(2_000 if bench_smoke else 200_000)
    assert bench_smoke or cost <= STEP_BAR_NS


if __name__ == "__main__":
    assert run(200_000) <= STEP_BAR_NS
