"""Reports as JSON, CSV and text tables that fit a terminal."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import orjson

from warpline.analysis.report import Column, NotRecorded, Report, Table, Values, python_value
from warpline.i18n import tr

NS_PER_UNIT = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_BYTE_UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1))
_GAP = "  "
_SHORTEST_TEXT = 16


def report_json(report: Report) -> dict[str, Any]:
    """The report as plain data: times in ns, ratios 0–1; ``rows`` is None with a ``reason`` when not recorded."""
    head: dict[str, Any] = {"report": report.name, "range_ns": list(report.range_ns)}
    if isinstance(report.result, NotRecorded):
        return {
            **head,
            "columns": [],
            "rows": None,
            "reason": report.result.reason,
            "remedy": report.result.remedy,
        }
    table = report.result
    columns: list[dict[str, str]] = [{"name": "depth", "unit": ""}] if table.depth is not None else []
    for column in table.columns:
        entry = {"name": column.name, "unit": column.unit}
        if column.of:
            entry["of"] = column.of
        columns.append(entry)
    result = {**head, "columns": columns, "rows": list(table.rows())}
    if table.notes:
        result["notes"] = list(table.notes)
    return result


def write_json(reports: Iterable[Report]) -> bytes:
    """One report as an object, several as an array of objects."""
    documents = [report_json(report) for report in reports]
    return orjson.dumps(
        documents[0] if len(documents) == 1 else documents,
        option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE,
    )


def write_csv(report: Report, unit: str = "ns") -> Iterator[str]:
    """Lines of CSV with one header line; times in ``unit``, the unit being part of the column's title."""
    if isinstance(report.result, NotRecorded):
        return
    table = report.result
    scale = NS_PER_UNIT[unit]
    names = [column.name if unit == "ns" else _renamed(column, unit) for column in table.columns]
    yield _csv_line(names if table.depth is None else ["depth", *names])
    for row in range(len(table)):
        cells: list[Any] = [] if table.depth is None else [int(table.depth[row])]
        for column in table.columns:
            value = python_value(table.data[column.name], row)
            if column.unit == "ns" and scale != 1 and value is not None:
                value = value / scale
            cells.append("" if value is None else value)
        yield _csv_line(cells)


def _renamed(column: Column, unit: str) -> str:
    return column.name.removesuffix("_ns") + f"_{unit}" if column.unit == "ns" else column.name


def _csv_line(cells: list[Any]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue()


def write_text(
    report: Report, width: int, unit: str | None = None, limit: int | None = None
) -> Iterator[str]:
    """Lines of a table of at most ``width`` columns of text; one time unit for the table, picked when None.

    Long names are shortened in the middle. At most ``limit`` rows are shown, and it says how many there are.
    """
    yield f"{report.title} ({report.name})"
    if isinstance(report.result, NotRecorded):
        yield _GAP + tr("not recorded: {reason}", reason=str(report.result))
        return
    table = report.result
    if table.scope:
        yield _GAP + table.scope
    shown = len(table) if limit is None else min(limit, len(table))
    rows = range(shown)
    unit = unit or pick_unit(table)
    titles = [_title(column, unit) for column in table.columns]
    cells = [_cells(table, column, unit, rows) for column in table.columns]
    left = [_is_text(table.data[column.name]) for column in table.columns]
    if not rows:
        yield _GAP + tr("nothing in this range")
        return
    for block in _blocks(table, titles, cells, left, width):
        widths = _widths(block, titles, cells, left, width)
        yield ""
        yield _line([titles[i] for i in block], widths, [left[i] for i in block])
        yield _line(["─" * w for w in widths], widths, [True] * len(block))
        for row in rows:
            yield _line([cells[i][row] for i in block], widths, [left[i] for i in block])
    yield ""
    if shown < len(table):
        yield _GAP + tr("{shown} of {count} rows", shown=shown, count=len(table))
    for text in _footnotes(table):
        yield _GAP + text


def _footnotes(table: Table) -> Iterator[str]:
    wholes: dict[str, list[str]] = {}
    for column in table.columns:
        if column.of:
            wholes.setdefault(column.of, []).append(column.title)
    for whole, titles in wholes.items():
        yield tr("{columns} (%): of {whole}", columns=", ".join(titles), whole=whole)
    yield from table.notes


def pick_unit(table: Table) -> str:
    """The time unit in which the largest number of the table stays below a million."""
    largest = 0.0
    for column in table.columns:
        values = table.data[column.name]
        if column.unit == "ns" and isinstance(values, np.ndarray) and len(values):
            high = np.ma.max(np.ma.masked_invalid(np.abs(values.astype(np.float64))))
            if high is not np.ma.masked:
                largest = max(largest, float(high))
    for unit, scale in NS_PER_UNIT.items():
        if largest < scale * 1e6:
            return unit
    return "s"


def _title(column: Column, unit: str) -> str:
    if column.unit == "ns":
        return f"{column.title} ({'µs' if unit == 'us' else unit})"
    if column.unit == "ratio":
        return f"{column.title} (%)"
    return column.title


def _is_text(values: Values) -> bool:
    return not isinstance(values, np.ndarray)


def _cells(table: Table, column: Column, unit: str, rows: range) -> list[str]:
    values = table.data[column.name]
    indented = (
        table.depth
        if table.depth is not None and _is_text(values) and column is _name_column(table)
        else None
    )
    result = []
    for row in rows:
        text = format_value(python_value(values, row), column, unit)
        result.append(text if indented is None else "  " * int(indented[row]) + text)
    return result


def _name_column(table: Table) -> Column:
    """The column that carries the tree's indentation: the first one with texts."""
    return next(column for column in table.columns if _is_text(table.data[column.name]))


def format_value(value: Any, column: Column, unit: str) -> str:
    """One cell as text; "-" for what was not recorded. ``unit`` is the unit of times."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, bool):
        return tr("yes") if value else tr("no")
    if column.unit == "ns":
        if unit == "ns":
            return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
        return f"{value / NS_PER_UNIT[unit]:,.3f}"
    if column.unit == "ratio":
        return f"{value * 100:.1f}"
    if column.unit in {"bytes", "bytes_per_second"}:
        return _bytes(value) + ("/s" if column.unit == "bytes_per_second" else "")
    if isinstance(value, float):
        return f"{value:,.2f}"
    # Identifiers are no quantities: a thread id has no thousands separator.
    return str(value) if column.name in _IDENTIFIERS else f"{value:,}"


_IDENTIFIERS = frozenset(
    ("pid", "tid", "device", "context", "stream", "correlation", "step", "range_id", "parent_id")
)


def _bytes(value: float) -> str:
    for name, scale in _BYTE_UNITS:
        if abs(value) >= scale or scale == 1:
            return f"{value / scale:.2f} {name}" if scale > 1 else f"{value:.0f} B"
    return f"{value:.0f} B"


def text_width(text: str) -> int:
    """Columns a terminal needs for a text: wide characters of East Asian scripts take two."""
    if text.isascii():
        return len(text)
    return sum(
        2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text
    )


def shorten(text: str, width: int) -> str:
    """The text in at most ``width`` columns, with its middle left out: kernels often differ at both ends only."""
    if text_width(text) <= width:
        return text
    tail = (width - 1) // 3
    head = width - 1 - tail
    while text_width(text[:head]) > width - 1 - tail and head:
        head -= 1
    while text_width(text[len(text) - tail :]) > (width - 1) // 3 and tail:
        tail -= 1
    return text[:head] + "…" + (text[-tail:] if tail else "")


def _line(cells: list[str], widths: list[int], left: list[bool]) -> str:
    parts = []
    for cell, width, is_left in zip(cells, widths, left, strict=True):
        text = shorten(cell, width)
        pad = " " * (width - text_width(text))
        parts.append(text + pad if is_left else pad + text)
    return (_GAP + _GAP.join(parts)).rstrip()


def _natural_width(column: int, titles: list[str], cells: list[list[str]]) -> int:
    return max(text_width(titles[column]), max((text_width(cell) for cell in cells[column]), default=0))


def _smallest_width(column: int, titles: list[str], cells: list[list[str]], left: list[bool]) -> int:
    natural = _natural_width(column, titles, cells)
    return min(natural, max(_SHORTEST_TEXT, text_width(titles[column]))) if left[column] else natural


def _blocks(
    table: Table, titles: list[str], cells: list[list[str]], left: list[bool], width: int
) -> Iterator[list[int]]:
    """Columns in blocks that fit: what does not stand beside the others goes below, the names repeated."""
    columns = list(range(len(table.columns)))
    name = next((i for i in reversed(columns) if left[i]), columns[0])
    block: list[int] = []
    used = 0
    reserved = _smallest_width(name, titles, cells, left) + len(_GAP)
    for column in columns:
        if column == name:
            continue
        need = _smallest_width(column, titles, cells, left) + len(_GAP)
        if block and used + need + reserved > width:
            yield _placed(block, name)
            block, used = [], 0
        block.append(column)
        used += need
    yield _placed(block, name)


def _placed(block: list[int], name: int) -> list[int]:
    """The names at the side where the report has them."""
    return sorted([*block, name]) if block and name < min(block) else [*block, name]


def _widths(
    block: list[int], titles: list[str], cells: list[list[str]], left: list[bool], width: int
) -> list[int]:
    natural = [_natural_width(i, titles, cells) for i in block]
    smallest = [_smallest_width(i, titles, cells, left) for i in block]
    spare = width - sum(smallest) - len(_GAP) * len(block)
    widths = smallest[:]
    # The last text column is the names: what room there is goes to it first.
    for place in reversed(range(len(block))):
        grow = max(0, min(natural[place] - widths[place], spare))
        widths[place] += grow
        spare -= grow
    return widths
