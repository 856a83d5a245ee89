"""Sizes as text. The model counts bytes; only people see units."""

from __future__ import annotations

import math

_UNITS = ("KiB", "MiB", "GiB", "TiB")
_STEP = 1024


def format_bytes(
    count: float, digits: int = 4, *, decimals: int | None = None, exact_below: int = 10_000
) -> str:
    """A size for people with the unit that fits: ``1.5 MiB``, whole bytes below ``exact_below``.

    About ``digits`` significant digits, without zeros at the end; or a fixed number of ``decimals``. What rounds to
    1024 of a unit is 1 of the next, except of the last.
    """
    if not math.isfinite(count):
        return f"{count} B"
    sign = "-" if count < 0 else ""
    magnitude = abs(count)
    if round(magnitude) < exact_below:
        whole = round(magnitude)
        return f"{sign if whole else ''}{whole:,} B"
    value = float(magnitude)
    for unit in _UNITS:
        value /= _STEP
        shown, text = _rounded(value, digits, decimals)
        if shown < _STEP or unit == _UNITS[-1]:
            return f"{sign}{text} {unit}"
    raise AssertionError("unreachable")


def _rounded(value: float, digits: int, decimals: int | None) -> tuple[float, str]:
    if decimals is not None:
        return round(value, decimals), f"{value:,.{decimals}f}"
    places = max(0, digits - len(str(int(value)))) if value >= 1 else digits
    text = f"{value:,.{places}f}"
    return round(value, places), text.rstrip("0").rstrip(".") if places else text
