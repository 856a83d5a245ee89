"""``warpline.benchmark``: times the steps of a program without a profiler."""

from __future__ import annotations

from time import perf_counter_ns

from warpline.profiling import readers
from warpline.profiling.timing import StepTimer


class Benchmark:
    """Reader cost, batch cost and ips of a program, with the calls of ``paddle.profiler.timer.Benchmark``.

    ``begin``, then ``step(num_samples)`` after each step, and ``end``. Loaders of PyTorch and Paddle are timed; other
    readers stand between ``before_reader`` and ``after_reader``. Outside of ``begin`` and ``end`` nothing is timed.
    """

    def __init__(self) -> None:
        self._timer: StepTimer | None = None
        self._reading_since: int | None = None

    def begin(self) -> None:
        """Begin the first step; begins anew if steps were timed before."""
        self._forget()
        self._timer = StepTimer()
        readers.listen(self._timer.add_reading)
        self._timer.begin()

    def before_reader(self) -> None:
        """Begin to read data."""
        self._reading_since = perf_counter_ns()

    def after_reader(self) -> None:
        """End reading data."""
        if self._timer is not None and self._reading_since is not None:
            self._timer.add_reading(perf_counter_ns() - self._reading_since)
        self._reading_since = None

    def step(self, num_samples: float | None = None) -> None:
        """End a step of ``num_samples`` samples (images, tokens), and begin the next."""
        if self._timer is not None:
            self._timer.step(num_samples)

    def step_info(self, unit: str | None = None) -> str:
        """Averages since the last call, in Paddle's format; ``unit`` names the samples (``tokens``)."""
        return self._timer.step_info(unit) if self._timer is not None else ""

    def end(self) -> None:
        """Print averages, maxima and minima after the warm-up, in Paddle's format."""
        timer = self._timer
        self._forget()
        if timer is not None:
            print(timer.summary())

    def _forget(self) -> None:
        if self._timer is not None:
            readers.forget(self._timer.add_reading)
        self._timer = self._reading_since = None


_benchmark = Benchmark()


def benchmark() -> Benchmark:
    """The timer of this process."""
    return _benchmark
