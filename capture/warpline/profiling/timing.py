"""Reader cost, batch cost and steps or samples per second, without recording anything.

The rule for warming up is Paddle's: the first ten steps count in `StepTimer.step_info`, and not in the summary.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import get_ident
from time import perf_counter_ns

from warpline.i18n import tr_n

WARM_UP_STEPS = 10


@dataclass
class Cost:
    """Values of steps, in ns or per second."""

    count: int = 0
    total: float = 0.0
    most: float = 0.0
    least: float = float("inf")

    def add(self, value: float) -> None:
        """One more."""
        self.count += 1
        self.total += value
        self.most = max(self.most, value)
        self.least = min(self.least, value)


@dataclass
class StepTimer:
    """Times the steps of one thread from `begin` on. Times are ns."""

    thread: int = 0
    steps: int = 0
    reader: Cost = field(default_factory=Cost)
    batch: Cost = field(default_factory=Cost)
    rate: Cost = field(default_factory=Cost)
    samples: float = 0
    has_samples: bool = True
    """Whether every step said of how many samples it was."""
    _last: int = 0
    _reading: int = 0
    _since: int = 0
    _since_batch: int = 0
    _since_reader: int = 0
    _since_samples: float = 0

    def begin(self) -> None:
        """The first step begins."""
        self.thread = get_ident()
        self._last = perf_counter_ns()

    def add_reading(self, time_ns: int) -> None:
        """The step that runs waited so long for its data. Other threads read ahead: that is no waiting."""
        if get_ident() == self.thread:
            self._reading += time_ns

    def step(self, num_samples: float | None) -> None:
        """A step ends and the next begins."""
        now = perf_counter_ns()
        batch = now - self._last
        reading, self._reading = self._reading, 0
        self._last = now
        self._since += 1
        self._since_batch += batch
        self._since_reader += reading
        if num_samples is None:
            self.has_samples = False
        else:
            self._since_samples += num_samples
        self.steps += 1
        if self.steps > WARM_UP_STEPS:
            self._count(batch, reading, num_samples)

    def _count(self, batch: int, reading: int, num_samples: float | None) -> None:
        self.reader.add(reading)
        self.batch.add(batch)
        if num_samples is not None:
            self.samples += num_samples
        self.rate.add((1 if num_samples is None else num_samples) * 1e9 / max(batch, 1))

    def step_info(self, unit: str | None) -> str:
        """Averages of the steps since this was last asked, in Paddle's words; empty before the first step."""
        count, batch, reader = self._since, self._since_batch, self._since_reader
        samples = self._since_samples
        self._since = self._since_batch = self._since_reader = 0
        self._since_samples = 0
        if not count or not batch:
            return ""
        text = f" reader_cost: {reader / count / 1e9:.5f} s" if reader else ""
        of = f"{unit or 'samples'}/s" if self.has_samples else "steps/s"
        done = samples if self.has_samples else count
        return f"{text} batch_cost: {batch / count / 1e9:.5f} s ips: {done * 1e9 / batch:.3f} {of}"

    def summary(self) -> str:
        """Paddle's table of averages, longest and shortest after warming up; a line that says why there is none."""
        count = self.batch.count
        if not count or not self.batch.total:
            return tr_n(
                "No benchmark: {count:,} step was timed, and the first {skipped} warm up.",
                "No benchmark: {count:,} steps were timed, and the first {skipped} warm up.",
                self.steps,
                skipped=WARM_UP_STEPS,
            )
        done = self.samples if self.has_samples else count
        rate = done * 1e9 / self.batch.total
        lines = ["Perf Summary".center(100, "=")]
        if self.reader.total:
            lines.append(f"Reader Ratio: {100 * self.reader.total / self.batch.total:.3f}%")
        lines.append(f"Time Unit: s, IPS Unit: {'samples/s' if self.has_samples else 'steps/s'}")
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
