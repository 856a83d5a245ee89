"""Ruler ticks: a base time and short offsets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.model import format_time

_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns"))
_MANTISSAS = (1, 2, 5)


@dataclass(frozen=True)
class Ticks:
    """``times`` int64 ns (capture time) of labelled ticks, their ``texts``, and the ``base`` they are relative to."""

    step_ns: int
    times: npt.NDArray[np.int64]
    texts: tuple[str, ...]
    base: str


def tick_step_ns(length_ns: int, width_px: float, min_px: float = 90.0) -> int:
    """The smallest step from 1, 2, 5, 10 … ns with at least ``min_px`` pixels between ticks."""
    wanted = length_ns * min_px / max(1.0, width_px)
    scale = 1
    while True:
        for mantissa in _MANTISSAS:
            if mantissa * scale >= wanted:
                return mantissa * scale
        scale *= 10


def make_ticks(start_ns: int, stop_ns: int, width_px: float, origin_ns: int, min_px: float = 90.0) -> Ticks:
    """Ticks of a view, counted from ``origin_ns``.

    The base is a multiple of a coarse unit between the origin and the nearer edge of the view, so it stays fixed while
    the view pans a little. A tick shows its distance from the base. There is no base while the origin is in view.
    """
    length = max(1, stop_ns - start_ns)
    step = tick_step_ns(length, width_px, min_px)
    first = -(-(start_ns - origin_ns) // step) * step
    count = max(0, (stop_ns - origin_ns - first) // step + 1)
    relative = first + step * np.arange(min(count, 10_000), dtype=np.int64)
    base_step = base_step_ns(step)
    before, after = max(0, origin_ns - stop_ns), max(0, start_ns - origin_ns)
    base = (after // base_step - before // base_step) * base_step if base_step else 0
    scale, unit = next((s, u) for s, u in _UNITS if step >= s)
    # A step is a multiple of its unit, so an offset is a whole number of units.
    texts = [f"{value // scale} {unit}" for value in (relative - base).tolist()]
    return Ticks(
        step, relative + origin_ns, tuple(texts), format_time(base, base_step or step) if base else ""
    )


def base_step_ns(step_ns: int) -> int:
    """The step of the base: hundreds or a thousand of the ticks' unit; 0 when ticks count seconds."""
    for unit_ns in (1, 1_000, 1_000_000):
        if step_ns < unit_ns * 1000:
            return unit_ns * (100 if step_ns <= 5 * unit_ns else 1000)
    return 0
