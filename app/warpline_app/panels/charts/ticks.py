"""Round values for the ticks of an axis, and texts for them."""

from __future__ import annotations

import math

from warpline.model.times import format_duration

_MOST_TICKS = 40


def linear_ticks(low: float, high: float, most: int) -> list[float]:
    """At most about ``most`` round values (1, 2 or 5 times a power of ten) in [low, high]."""
    length = high - low
    if not (math.isfinite(length) and length > 0):
        return []
    rough = length / max(most, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((power * factor for factor in (1, 2, 5) if power * factor >= rough), power * 10)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [place * step for place in range(first, min(last, first + _MOST_TICKS) + 1)]


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Base-10 logarithms of 1, 2 and 5 times powers of ten; only powers if there are many."""
    factors = (1, 2, 5) if (high - low) * 3 <= most else (1,)
    powers = range(math.floor(low), min(math.ceil(high), math.floor(low) + _MOST_TICKS) + 1)
    every = max(1, math.ceil((high - low) / max(most, 1)))
    values = [power + math.log10(factor) for power in powers if power % every == 0 for factor in factors]
    return [value for value in values if low <= value <= high]


def whole_ticks(low: float, high: float, most: int) -> list[float]:
    """Round whole numbers."""
    found = linear_ticks(low, high, most)
    return [value for value in found if abs(value - round(value)) < 1e-6]


def duration_ticks(values: list[float], spacing: float) -> list[str]:
    """Durations at ticks with enough decimals to tell neighbours apart."""
    highest = max((abs(value) for value in values), default=0.0)
    for unit, scale in (("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)):
        decimals = max(0, -math.floor(math.log10(spacing / scale) + 1e-9)) if spacing > 0 else 0
        if round(highest / scale, decimals) < 1000 or unit == "s":
            return [f"{value / scale:.{decimals}f} {unit}" for value in values]
    raise AssertionError("unreachable")


def size_unit(highest: float) -> tuple[str, float]:
    """The unit for a size: (name, bytes)."""
    for name, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if highest >= scale:
            return name, float(scale)
    return "B", 1.0


def duration_text(value_ns: float) -> str:
    """A duration at a tick."""
    return format_duration(round(value_ns), 3)
