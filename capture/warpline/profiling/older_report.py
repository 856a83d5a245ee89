"""Prints the report of Paddle's older profiler: the tree of events with calls and times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from warpline.i18n import tr
from warpline.model.errors import NotRecordedError
from warpline.profiling.results import ProfilerResult

_SORTED_BY = {
    "calls": ("count", "number of calls"),
    "total": ("total_ns", "total time"),
    "max": ("cpu_max_ns", "maximum time"),
    "min": ("cpu_min_ns", "minimum time"),
    "ave": ("cpu_avg_ns", "average time"),
}
_Row = dict[str, Any]


def older_report(result: ProfilerResult, sorted_key: str | None = None) -> str:
    """Events with calls, total, minimum, maximum and average time in ms, and share; indented below their parents.

    ``sorted_key`` is ``calls``, ``total``, ``max``, ``min`` or ``ave``; otherwise the report's own order is kept.
    Raises WarplineError when the recording cannot be read.
    """
    with result.open() as capture:
        span = result.span_ns(int(capture.metadata.get("start_monotonic_ns", 0)))
        try:
            report = capture.report("events", range=span)
            rows = list(report.rows(0, len(report)))
        except NotRecordedError as error:
            return tr("No profiling report: {error}", error=error)
        has_gpu = bool(capture.devices)
    column, order = _SORTED_BY.get(sorted_key or "", ("", "event first end time"))
    if column:
        rows = list(_sorted(rows, column, 0))
    names = ["  " * row["depth"] + row["name"] for row in rows]
    width = max([len(name) for name in names] + [20]) + 4
    lines = [
        "",
        "------------------------->     Profiling Report     <-------------------------",
        "",
        f"Place: {'All' if has_gpu else 'CPU'}",
        "Time unit: ms",
        f"Sorted by {order} in descending order in the same thread",
        "",
        "Event".ljust(width)
        + "".join(title.ljust(12) for title in ("Calls", "Total", "Min.", "Max.", "Ave.", "Ratio.")),
    ]
    for name, row in zip(names, rows, strict=True):
        times = (row[key] / 1e6 for key in ("total_ns", "cpu_min_ns", "cpu_max_ns", "cpu_avg_ns"))
        cells = [str(row["count"]), *(f"{time:.6g}" for time in times), f"{row['ratio'] or 0:.6f}"]
        lines.append(name.ljust(width) + "".join(cell.ljust(12) for cell in cells))
    return "\n".join(line.rstrip() for line in lines)


def _sorted(rows: list[_Row], column: str, depth: int) -> Iterator[_Row]:
    heads = [place for place, row in enumerate(rows) if row["depth"] == depth]
    groups = [rows[first:last] for first, last in zip(heads, [*heads[1:], len(rows)], strict=False)]
    for group in sorted(groups, key=lambda group: -(group[0][column] or 0)):
        yield group[0]
        yield from _sorted(group[1:], column, depth + 1)
