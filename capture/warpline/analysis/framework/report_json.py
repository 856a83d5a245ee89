"""Writes reports as JSON and CSV in parts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from warpline.analysis.framework.cell_text import NS_PER_UNIT
from warpline.analysis.framework.column import Column
from warpline.analysis.framework.report import NotRecorded, Report
from warpline.untrusted import spreadsheet_text

_PART_ROWS = 1 << 12
"""A row takes a kilobyte as Python values and text."""


def _head(report: Report) -> dict[str, Any]:
    """The report's JSON without its rows."""
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
    """One report as JSON in parts, one line per row: times in ns, ratios 0–1.

    ``rows`` is null and there is a ``reason`` when the report was not recorded.
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
    """CSV in parts, with one header line; times in ``unit``, which is part of the column's name."""
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
    csv.writer(buffer, lineterminator="\n").writerows(
        [spreadsheet_text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows
    )
    return buffer.getvalue()
