"""Reads the CSV of Nsight Compute: kernels with their metrics.

``--page raw`` writes a row for each kernel and a column for each metric, with the units in a row of their own; other
pages write a row for each metric of a kernel. Documented with ``--csv`` in
https://docs.nvidia.com/nsight-compute/NsightComputeCli/.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

_KEYS = ("ID", "Process ID", "Kernel Name")
_PLACES = (
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream", "Block Size",
    "Grid Size", "Device", "CC", "Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name", "Rule Type",
    "Rule Description", "Estimated Speedup Type", "Estimated Speedup", "thread Domain:Push/Pop_Range:PL_Type:PL_Value",
)  # fmt: skip
"""Columns that are no metrics."""
_LOOKED_AT = 4096
_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9, "second": 1e9}
"""Nanoseconds in a unit; older versions write ``nsecond``, ``usecond``, ``msecond``."""
_DURATIONS = ("gpu__time_duration.sum", "gpu__time_duration.avg", "Duration")


@dataclass
class KernelMetrics:
    """A launch of a kernel; ``places`` holds the columns that say where it ran, ``metrics`` values with units."""

    places: dict[str, str]
    metrics: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def duration_ns(self) -> int | None:
        """How long the kernel took; None if that was not collected."""
        for name in _DURATIONS:
            text, unit = self.metrics.get(name, ("", ""))
            value, scale = number_of(text), _NS.get(unit.removesuffix("econd") if unit != "second" else unit)
            if isinstance(value, int | float) and scale is not None and 0 <= value * scale < 1 << 60:
                return round(value * scale)
        return None


def number_of(text: str) -> int | float | str:
    """``1,024`` and ``42.5`` as numbers; another text as it is."""
    plain = text.replace(",", "")
    try:
        return int(plain) if plain.lstrip("-").isdecimal() and len(plain) < 19 else float(plain)
    except ValueError:
        return text


def header_of(lines: Iterable[str]) -> list[str] | None:
    """The columns of the table in a text, which may begin with messages of the program; None without a table."""
    for line in islice(lines, _LOOKED_AT):
        if line.startswith(('"ID",', "ID,")):
            columns = next(csv.reader([line]))
            return columns if set(_KEYS) <= set(columns) else None
    return None


def kernels_of(lines: Iterator[str]) -> Iterator[KernelMetrics]:
    """The kernels of a table, in order. Raises csv.Error for a damaged one."""
    columns = header_of(lines)
    if columns is None:
        return
    is_long = "Metric Name" in columns
    units: dict[str, str] = {}
    current: KernelMetrics | None = None
    for cells in csv.reader(line for line in lines if not line.startswith("==")):
        row = dict(zip(columns, cells, strict=False))
        if not row.get("ID"):
            units = units or row  # the row below the header
            continue
        if not is_long:
            metrics = {
                name: (value, units.get(name, ""))
                for name, value in row.items()
                if name not in _PLACES and value
            }
            yield KernelMetrics(row, metrics)
            continue
        if current is None or current.places["ID"] != row["ID"]:
            if current is not None:
                yield current
            current = KernelMetrics(row)
        if name := row.get("Metric Name"):
            current.metrics.setdefault(name, (row.get("Metric Value", ""), row.get("Metric Unit", "")))
    if current is not None:
        yield current
