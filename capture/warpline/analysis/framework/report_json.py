"""Reports as JSON and CSV, a part at a time; and how single values read."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import NotRecorded, Report
from warpline.i18n import tr

NS_PER_UNIT = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_BYTE_UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1))
_PART_ROWS = 1 << 16


def _head(report: Report) -> dict[str, Any]:
    """All of the report's JSON but its rows."""
    head: dict[str, Any] = {"report": report.name, "range_ns": list(report.range_ns)}
    if isinstance(report.result, NotRecorded):
        return {**head, "columns": [], "reason": report.result.reason, "remedy": report.result.remedy}
    table = report.result
    columns: list[dict[str, Any]] = [{"name": "depth", "unit": ""}] if table.depth is not None else []
    for column in table.columns:
        entry: dict[str, Any] = {"name": column.name, "unit": column.unit}
        if column.of:
            entry["of"] = column.of
        if column.key:
            entry["key"] = True
        columns.append(entry)
    head["columns"] = columns
    if table.notes:
        head["notes"] = list(table.notes)
    return head


def json_parts(report: Report) -> Iterator[bytes]:
    """One report as JSON, one line per row, in parts that need little memory: times in ns, ratios 0–1.

    ``rows`` is null, with a ``reason``, when the report was not recorded.
    """
    yield orjson.dumps(_head(report))[:-1] + b',\n"rows":'
    if isinstance(report.result, NotRecorded):
        yield b"null}\n"
        return
    table = report.result
    yield b"["
    separator = b"\n"
    for first in range(0, len(table), _PART_ROWS):
        part = table.part(first, first + _PART_ROWS)
        yield separator + b",\n".join([orjson.dumps(row) for row in part.rows()])
        separator = b",\n"
    yield b"\n]}\n" if len(table) else b"]}\n"


def write_json(reports: Iterable[Report]) -> Iterator[bytes]:
    """One report as an object, several as an array of objects."""
    several = list(reports)
    if len(several) == 1:
        yield from json_parts(several[0])
        return
    yield b"["
    for number, report in enumerate(several):
        if number:
            yield b","
        yield from json_parts(report)
    yield b"]\n"


def write_csv(report: Report, unit: str = "ns") -> Iterator[str]:
    """CSV with one header line, in parts; times in ``unit``, the unit being part of the column's title."""
    if isinstance(report.result, NotRecorded):
        return
    table = report.result
    names = [column.name if unit == "ns" else _renamed(column, unit) for column in table.columns]
    yield _csv_text([names if table.depth is None else ["depth", *names]])
    for first in range(0, len(table), _PART_ROWS):
        part = table.part(first, first + _PART_ROWS)
        columns = [_in_unit(part.values(column.name), column, unit) for column in table.columns]
        if part.depth is not None:
            columns.insert(0, part.depth.tolist())
        yield _csv_text(zip(*columns, strict=True))


def _in_unit(values: list[Any], column: Column, unit: str) -> list[Any]:
    scale = NS_PER_UNIT[unit]
    if column.unit != "ns" or scale == 1:
        return values
    return [None if value is None else value / scale for value in values]


def _renamed(column: Column, unit: str) -> str:
    return column.name.removesuffix("_ns") + f"_{unit}" if column.unit == "ns" else column.name


def _csv_text(rows: Iterable[Iterable[Any]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


def format_value(value: Any, column: Column, unit: str) -> str:
    """One cell as text; "-" for what was not recorded. ``unit`` is the unit of times."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, bool):
        return tr("yes") if value else tr("no")
    if column.unit == "ns":
        return _time(value, unit)
    if column.unit == "ratio":
        return f"{value * 100:.1f}"
    if column.unit in {"bytes", "bytes_per_second"}:
        return _bytes(value) + ("/s" if column.unit == "bytes_per_second" else "")
    if isinstance(value, float):
        return f"{value:,.2f}"
    # Identifiers are no quantities: a thread id has no thousands separator.
    return str(value) if column.role in {Role.ID, Role.ORDINAL} else f"{value:,}"


def _time(value: float, unit: str) -> str:
    """Three decimals; what would lose all its digits beside a large neighbour keeps two that count, down to 1 ns."""
    if unit == "ns":
        return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
    scaled = value / NS_PER_UNIT[unit]
    if scaled and abs(scaled) < 0.01:
        finest = len(str(NS_PER_UNIT[unit])) - 1
        digits = min(1 - math.floor(math.log10(abs(scaled))), finest)
        whole, _, decimals = f"{scaled:.{max(digits, 3)}f}".partition(".")
        return f"{whole}.{decimals.rstrip('0'):0<3}"
    return f"{scaled:,.3f}"


def _bytes(value: float) -> str:
    for name, scale in _BYTE_UNITS:
        if abs(value) >= scale or scale == 1:
            return f"{value / scale:.2f} {name}" if scale > 1 else f"{value:.0f} B"
    return f"{value:.0f} B"
