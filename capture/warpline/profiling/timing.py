"""Computes reader cost, batch cost and steps or samples per second, without recording.

As in Paddle, the first ten steps are warm-up: they count in `StepTimer.step_info`, but not in the summary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import sub
from threading import get_ident
from time import perf_counter_ns

from warpline.i18n import tr_n

WARM_UP_STEPS = 10
_MANY = 1024


@dataclass
class Cost:
    """Statistics of values of steps, in ns or per second."""

    count: int = 0
    total: float = 0.0
    most: float = 0.0
    least: float = float("inf")

    def add(self, values: Sequence[float]) -> None:
        """Add values."""
        if values:
            self.count += len(values)
            self.total += sum(values)
            self.most = max(self.most, *values)
            self.least = min(self.least, *values)


class StepTimer:
    """Times the steps of one thread from `begin` on. Times are ns.

    A step only stores three numbers; results are computed on demand, or when there are many.
    """

    def __init__(self) -> None:
        self.thread = 0
        self.reader, self.batch, self.rate = Cost(), Cost(), Cost()
        self.samples = 0.0
        self.has_samples = True
        """Whether every step gave its number of samples."""
        self._unit = "samples"
        self._counted = 0
        self._last = 0
        self._reading = 0
        self._ends: list[int] = []
        self._readings: list[int] = []
        self._numbers: list[float | None] = []
        self._forget_window()

    @property
    def steps(self) -> int:
        """Number of steps."""
        return self._counted + len(self._ends)

    def begin(self) -> None:
        """Begin the first step."""
        self.thread = get_ident()
        self._last = perf_counter_ns()

    def add_reading(self, time_ns: int) -> None:
        """Add a wait for data to the current step. Waits of other threads, which read ahead, do not count."""
        if get_ident() == self.thread:
            self._reading += time_ns

    def step(self, num_samples: float | None) -> None:
        """End a step and begin the next."""
        ends = self._ends
        ends.append(perf_counter_ns())
        self._readings.append(self._reading)
        self._numbers.append(num_samples)
        self._reading = 0
        if len(ends) >= _MANY:
            self._count()

    def _count(self) -> None:
        """Compute the results of the stored steps."""
        ends, readings, numbers = self._ends, self._readings, self._numbers
        if not ends:
            return
        batches = list(map(sub, ends, [self._last, *ends]))
        samples = [0 if number is None else number for number in numbers]
        self.has_samples = self.has_samples and None not in numbers
        self._since += len(ends)
        self._since_batch += sum(batches)
        self._since_reader += sum(readings)
        self._since_samples += sum(samples)
        warm = max(WARM_UP_STEPS - self._counted, 0)
        self.reader.add(readings[warm:])
        self.batch.add(batches[warm:])
        self.samples += sum(samples[warm:])
        done = samples if self.has_samples else [1] * len(ends)
        self.rate.add([many * 1e9 / max(batch, 1) for many, batch in zip(done, batches, strict=True)][warm:])
        self._counted += len(ends)
        self._last = ends[-1]
        self._ends, self._readings, self._numbers = [], [], []

    def _forget_window(self) -> None:
        self._since = self._since_batch = self._since_reader = 0
        self._since_samples = 0.0

    def step_info(self, unit: str | None) -> str:
        """Averages of the steps since the last call, in Paddle's format; empty before the first step."""
        self._count()
        count, batch, reader = self._since, self._since_batch, self._since_reader
        samples = self._since_samples
        self._forget_window()
        if not count or not batch:
            return ""
        text = f" reader_cost: {reader / count / 1e9:.5f} s" if reader else ""
        self._unit = unit or self._unit
        rate_unit = f"{unit or 'samples'}/s" if self.has_samples else "steps/s"
        done = samples if self.has_samples else count
        return f"{text} batch_cost: {batch / count / 1e9:.5f} s ips: {done * 1e9 / batch:.3f} {rate_unit}"

    def summary(self) -> str:
        """Paddle's table of averages, maxima and minima after the warm-up, or a line that says why there is none."""
        self._count()
        count = self.batch.count
        if not count or not self.batch.total:
            return tr_n(
                "No benchmark: only {count:,} step was timed, and the first {skipped} are warm-up.",
                "No benchmark: only {count:,} steps were timed, and the first {skipped} are warm-up.",
                self.steps,
                skipped=WARM_UP_STEPS,
            )
        done = self.samples if self.has_samples else count
        rate = done * 1e9 / self.batch.total
        lines = ["Perf Summary".center(100, "=")]
        if self.reader.total:
            lines.append(f"Reader Ratio: {100 * self.reader.total / self.batch.total:.3f}%")
        lines.append(f"Time Unit: s, IPS Unit: {self._unit if self.has_samples else 'steps'}/s")
        lines.append(_row("", "avg", "max", "min"))
        if self.reader.total:
            lines.append(_seconds("reader_cost", self.reader))
        lines.append(_seconds("batch_cost", self.batch))
        lines.append(_row("ips", *(f"{value:.5f}" for value in (rate, self.rate.most, self.rate.least))))
        return "\n".join(lines)


def _seconds(name: str, cost: Cost) -> str:
    values = (cost.total / cost.count, cost.most, cost.least)
    return _row(name, *(f"{value / 1e9:.5f}" for value in values))


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.center(15) for cell in cells) + " |"
