"""Formats single values of reports by the role of their column."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from warpline.analysis.framework.column import Column, Role
from warpline.i18n import tr, translated
from warpline.model.sizes import format_bytes

NS_PER_UNIT = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}

_LARGEST = 10_000
"""Upper bound of numbers in a column, if a larger unit exists."""
_LEAST_READ = 0.01
"""A column whose largest number would be smaller than this in the table's common unit uses its own."""


def unit_below(largest_ns: float) -> str:
    """The smallest unit in which a time has at most four digits before the point."""
    for unit, scale in NS_PER_UNIT.items():
        if round(largest_ns / scale, 3) < _LARGEST:
            return unit
    return "s"


def table_units(largest_ns: Sequence[float]) -> list[str]:
    """The units of a table's time columns, given the largest time of each (ns; 0 without any).

    All columns share the unit that suits most of them; columns far above or below it use their own.
    """
    own = [unit_below(most) for most in largest_ns]
    known = [(most, unit) for most, unit in zip(largest_ns, own, strict=True) if most]
    if not known:
        return own
    fitting = {
        unit: sum(0.1 <= most / scale < _LARGEST for most, _ in known) for unit, scale in NS_PER_UNIT.items()
    }
    votes = Counter(unit for _, unit in known)
    common = max(NS_PER_UNIT, key=lambda unit: (fitting[unit], votes[unit], NS_PER_UNIT[unit]))
    scale = NS_PER_UNIT[common]
    return [
        common if not most or _LEAST_READ <= most / scale < _LARGEST else unit
        for most, unit in zip(largest_ns, own, strict=True)
    ]


def format_value(value: Any, column: Column, unit: str) -> str:
    """One cell as text; "-" if it was not recorded. ``unit`` is the unit of times."""
    if value is None:
        return "-"
    if isinstance(value, str):
        text = " ".join(value.split())
        return translated(text) if column.ours or column.role is Role.REASON else text
    if isinstance(value, bool):
        return tr("yes") if value else tr("no")
    if column.unit == "ns":
        return _time(value, unit)
    if column.unit == "ratio":
        return f"{value * 100:.1f}"
    if column.unit in {"bytes", "bytes_per_second"}:
        text = format_bytes(value, decimals=2, exact_below=1024)
        return text + ("/s" if column.unit == "bytes_per_second" else "")
    if isinstance(value, float):
        return f"{value:,.2f}"
    # Ids get no thousands separator.
    return str(value) if column.role in {Role.ID, Role.ORDINAL} else f"{value:,}"


def _time(value: float, unit: str) -> str:
    """A time with three decimals; tiny values keep two significant digits, down to 1 ns."""
    if unit == "ns":
        return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
    scaled = value / NS_PER_UNIT[unit]
    if scaled and abs(scaled) < 0.01:
        finest = len(str(NS_PER_UNIT[unit])) - 1
        digits = min(1 - math.floor(math.log10(abs(scaled))), finest)
        whole, _, decimals = f"{scaled:.{max(digits, 3)}f}".partition(".")
        return f"{whole}.{decimals.rstrip('0'):0<3}"
    return f"{scaled:,.3f}"
