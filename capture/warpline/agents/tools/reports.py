"""The tool for reports: one of them as a table, or which of them the capture has data for."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.agents.session import ToolCall
from warpline.agents.texts import joined, names, not_recorded, paged, scaled, table
from warpline.agents.tool import CAPTURE, RANGE, TRACK, Tool, ToolArgument
from warpline.analysis.framework.column import Role
from warpline.model.errors import UsageError

if TYPE_CHECKING:
    from warpline.analysis.framework.column import Column
    from warpline.analysis.framework.report import Table
    from warpline.library.capture_reader import CaptureReader

_LEAST_SHARE = 0.001
_MOST_COLUMNS = 8
_NAMES = (Role.NAME, Role.TEXT, Role.CODE, Role.REASON)


def _report(call: ToolCall, given: dict[str, Any]) -> str:
    from warpline.analysis.framework.options import Options
    from warpline.analysis.framework.registry import compute_report, find_report, reports
    from warpline.analysis.framework.report import NotRecorded, sort_table
    from warpline.library.selecting import range_ns, select

    reader = call.reader(given["capture"])
    if given["name"] is None:
        return _listing(reader)
    try:
        find_report(given["name"])
    except UsageError as error:
        near = get_close_matches(given["name"], [spec.name for spec in reports()], n=1)
        hint = f"did you mean {near[0]!r}?" if near else "report without a name lists those with data"
        raise UsageError(f"no report {given['name'][:80]!r}; {hint}") from error
    capture = reader.storage
    selection = select(capture, reader.path, range_ns(given["range"]), given["track"])
    report = compute_report(
        capture, given["name"], selection, Options(step=given["step"]), call.cancelled.is_set
    )
    if isinstance(report.result, NotRecorded):
        return not_recorded(report.result.reason, report.result.remedy)
    result = report.result
    if given["sort"]:
        column = _column(result, given["sort"].removeprefix("-"))
        result = sort_table(result, column.name, False if given["sort"].startswith("-") else None)
    left_out = 0
    if not given["offset"]:
        result, left_out = _without_small(result)
    first = min(given["offset"], len(result))
    stop = min(first + given["rows"], len(result))
    if not len(result):
        return joined([f"{report.title}. {result.scope}", "no rows here"])
    shown = result.take(np.arange(first, stop))
    lines = [
        f"{report.title}. {result.scope}".strip(),
        *_table_lines(shown, _chosen(shown, given["columns"])),
    ]
    lines += result.notes
    lines.append(paged(first, stop - first, len(result)))
    if left_out:
        lines.append(f"left out: {left_out:,} rows below 0.1 %")
    return joined(lines)


def _without_small(table: Table) -> tuple[Table, int]:
    """The rows of at least 0.1 % of the whole, and how many others there are. Trees keep all rows."""
    share = next((column for column in table.columns if column.role is Role.SHARE), None)
    if share is None or table.depth is not None or not len(table):
        return table, 0
    values = np.ma.filled(np.ma.asarray(table.data[share.name], np.float64), np.inf)
    keep = np.flatnonzero(~(values < _LEAST_SHARE))
    return table.take(keep), len(table) - len(keep)


def _column(table: Table, name: str) -> Column:
    for column in table.columns:
        if name.casefold() in (column.name.casefold(), column.title.casefold()):
            return column
    known = ", ".join(column.name for column in table.columns)
    raise UsageError(f"no column {name[:80]!r}; there are: {known}")


def _chosen(table: Table, wanted: Sequence[str] | None) -> list[Column]:
    """The columns to show: those asked for, else those with values, names first."""
    if wanted:
        return [_column(table, name) for name in wanted]
    told = [c for c in table.columns if c.role is not Role.CODE and not _is_empty(table.data[c.name])]
    first = [c for c in told if c.role is Role.NAME]
    return (first + [c for c in told if c not in first])[:_MOST_COLUMNS]


def _is_empty(values: Any) -> bool:
    return all(value is None for value in _values(values))


def _values(values: Any) -> list[Any]:
    if isinstance(values, np.ndarray):
        return list(np.ma.asarray(values).tolist())
    return list(values)


def _table_lines(shown: Table, columns: Sequence[Column]) -> list[str]:
    cells = []
    for column in columns:
        values = _values(shown.data[column.name])
        if column.role in _NAMES:
            texts = names(values)
            if column.role is Role.NAME and shown.depth is not None:
                texts = ["  " * int(depth) + text for depth, text in zip(shown.depth, texts, strict=True)]
            cells.append([column.name, *texts])
        else:
            title = column.name.removesuffix("_ns").removesuffix("_bytes")
            cells.append(scaled(title, column.role, values))
    return table(cells)


def _listing(reader: CaptureReader) -> str:
    """The reports that the capture has data for, then what lacks, grouped by reason."""
    from warpline.analysis.framework.not_recorded import lacking
    from warpline.analysis.framework.registry import reports

    there: list[str] = []
    absent: dict[str, list[str]] = {}
    for spec in reports():
        reason = lacking(spec, reader.storage)
        if reason is None:
            there.append(f"{spec.name}\t{spec.title}")
        else:
            absent.setdefault(str(reason), []).append(spec.name)
    lines = ["reports:", *there]
    lines += [f"not recorded ({len(names)} reports): {reason}" for reason, names in absent.items()]
    return joined(lines)


TOOLS = (
    Tool(
        name="report",
        description="A report as a table (kernels, copies, API calls, ranges, waits …); without name the list of those "
        "with data.",
        run=_report,
        arguments={
            "capture": CAPTURE,
            "name": ToolArgument("string"),
            "range": RANGE,
            "track": TRACK,
            "step": ToolArgument("string"),
            "sort": ToolArgument("string", "column; -column reverses"),
            "columns": ToolArgument("array"),
            "rows": ToolArgument("integer", default=12, least=1, most=200),
            "offset": ToolArgument("integer", default=0),
        },
    ),
)
