"""Times and durations as text. The model counts integer nanoseconds; only people see units."""

from __future__ import annotations

import re

NS_PER_UNIT = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000}
_TIME = re.compile(r"\s*([+-]?)(\d+)(?:\.(\d*))?\s*(ns|us|µs|ms|s|m)?\s*", re.ASCII)


def parse_time(text: str) -> int:
    """Nanoseconds of a time such as ``1.5s``, ``20ms``, ``300us``, ``5ns`` or ``2m``; a bare number is seconds.

    Exact: decimal digits are never passed through a float; digits below one nanosecond are cut off.

    Raises ValueError when the text is not a time.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"not a time: {text!r} (write for example 1.5s, 20ms, 300us or 5ns)")
    sign, whole, fraction, unit = match.groups()
    scale = NS_PER_UNIT[unit or "s"]
    fraction = fraction or ""
    value: int = int(whole) * scale + int(fraction or "0") * scale // 10 ** len(fraction)
    return -value if sign == "-" else value


def parse_range(text: str) -> tuple[int | None, int | None]:
    """Both ends of ``A:B`` in nanoseconds; an end that is left out is None.

    Raises ValueError when an end is not a time or B lies before A.
    """
    first, colon, last = text.partition(":")
    if not colon:
        raise ValueError(f"not a range: {text!r} (write for example 1.5s:1.6s)")
    start = parse_time(first) if first.strip() else None
    stop = parse_time(last) if last.strip() else None
    if start is not None and stop is not None and stop < start:
        raise ValueError(f"range {text!r} ends before it starts")
    return start, stop


def format_duration(duration_ns: int, digits: int = 4) -> str:
    """A duration for people: about ``digits`` significant digits and the unit that fits (``1.234 ms``).

    Rounded to the nearest, in integers; what rounds to 1000 of a unit is 1 of the next (999,999 ns are ``1.000 ms``).
    """
    sign = "-" if duration_ns < 0 else ""
    magnitude = abs(duration_ns)
    if magnitude < 1_000:
        return f"{duration_ns} ns"
    for unit, zeros in (("µs", 3), ("ms", 6), ("s", 9)):
        whole_digits = len(str(magnitude // 10**zeros))
        rounded = _rounded(magnitude, zeros, digits - whole_digits)
        if rounded >= 10 ** (zeros + whole_digits):
            # 9.9996 was rounded to 10.00: drop one decimal.
            whole_digits += 1
        if rounded < 1_000 * 10**zeros or unit == "s":
            return f"{sign}{_decimal(rounded, zeros, max(0, digits - whole_digits))} {unit}"
    raise AssertionError("unreachable")


def _rounded(magnitude: int, zeros: int, decimals: int) -> int:
    """Nanoseconds rounded to ``decimals`` places of a unit of 10^``zeros`` ns, halves to the even neighbour."""
    step: int = 10 ** max(0, zeros - max(0, decimals))
    number, rest = divmod(magnitude, step)
    if 2 * rest > step or (2 * rest == step and number % 2):
        number += 1
    return number * step


def _decimal(magnitude: int, zeros: int, decimals: int) -> str:
    whole, rest = divmod(magnitude, 10**zeros)
    fraction = str(rest).zfill(zeros)[:decimals].ljust(decimals, "0")
    return f"{whole}.{fraction}" if decimals else str(whole)


def format_time(time_ns: int, resolution_ns: int = 1) -> str:
    """A time since the start of the capture, with as many decimals as ``resolution_ns`` needs.

    The unit is the largest of s, ms, µs and ns in which the time is at least 1: ``1.234567 s``, ``12.5 ms``.
    Integer arithmetic keeps late times exact to the nanosecond.
    """
    sign = "-" if time_ns < 0 else ""
    magnitude = abs(time_ns)
    units = (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000))
    unit, scale = next((pair for pair in units if magnitude >= pair[1]), ("ns", 1))
    if scale == 1:
        return f"{sign}{magnitude} ns"
    decimals = len(str(scale)) - 1
    while decimals and 10 ** (len(str(scale)) - 1 - decimals) * 10 <= resolution_ns:
        decimals -= 1
    whole, rest = divmod(magnitude, scale)
    if not decimals:
        return f"{sign}{whole} {unit}"
    fraction = str(rest).zfill(len(str(scale)) - 1)[:decimals]
    return f"{sign}{whole}.{fraction} {unit}"
