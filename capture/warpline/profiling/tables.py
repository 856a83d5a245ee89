"""Formats Paddle's tables of a recording, as `Profiler.summary` prints them.

Titles, columns, units and indents are those of ``paddle.profiler``; values that were not recorded are ``-``, not 0.
Heavy: import it only for a summary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from warpline.i18n import tr
from warpline.model.errors import NotRecordedError, UsageError
from warpline.profiling.states import SortedKeys, SummaryView

if TYPE_CHECKING:
    from warpline.library.capture_reader import CaptureReader
    from warpline.profiling.results import ProfilerResult

UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}
_GAP = "  "
_FIELDS = ("total", "avg", "max", "min")
_Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class _View:
    """One of Paddle's tables: our corresponding report, and Paddle's title."""

    report: str
    title: str
    sides: tuple[str, ...] = ()
    name_width: int = 0
    is_sorted: bool = False
    by_thread: bool = False


_VIEWS = {
    SummaryView.DeviceView: _View(report="device", title="Device Summary", name_width=30),
    SummaryView.OverView: _View(report="overview", title="Overview Summary", name_width=25),
    SummaryView.ModelView: _View(report="model", title="Model Summary", sides=("cpu", "gpu"), name_width=15),
    SummaryView.DistView: _View(report="distributed", title="Distribution Summary", name_width=25),
    SummaryView.OperatorView: _View(
        report="operator",
        title="Operator Summary",
        sides=("cpu", "gpu"),
        name_width=52,
        is_sorted=True,
        by_thread=True,
    ),
    SummaryView.KernelView: _View(
        report="kernel", title="Kernel Summary", sides=("gpu",), name_width=90, is_sorted=True
    ),
    SummaryView.MemManipulationView: _View(
        report="memory_manipulation",
        title="Memory Manipulation Summary",
        sides=("cpu", "gpu"),
        name_width=30,
        is_sorted=True,
    ),
    SummaryView.UDFView: _View(
        report="user_defined",
        title="UserDefined Summary",
        sides=("cpu", "gpu"),
        name_width=11,
        is_sorted=True,
        by_thread=True,
    ),
    SummaryView.MemView: _View(report="memory", title="Memory Summary", name_width=50),
}
"""Tables in Paddle's order."""


@dataclass(frozen=True)
class _Settings:
    sorted_by: SortedKeys
    op_detail: bool
    thread_sep: bool
    time_unit: str
    span: tuple[int | None, int | None]

    @property
    def divisor(self) -> float:
        return UNITS[self.time_unit]


def summary_text(
    result: ProfilerResult,
    sorted_by: SortedKeys = SortedKeys.CPUTotal,
    op_detail: bool = True,
    thread_sep: bool = False,
    time_unit: str = "ms",
    views: SummaryView | Sequence[SummaryView] | None = None,
) -> str:
    """The tables of a recording. A table without data is left out, or gives the reason if ``views`` names it.

    Raises UsageError for an unknown unit, WarplineError when the recording cannot be read.
    """
    if time_unit not in UNITS:
        raise UsageError(
            tr("unknown time unit {unit!r}; choose from {known}", unit=time_unit, known=", ".join(UNITS))
        )
    wanted = list(_VIEWS) if views is None else [views] if isinstance(views, SummaryView) else list(views)
    with result.open() as capture:
        span = result.span_ns(int(capture.metadata.get("start_monotonic_ns", 0)))
        settings = _Settings(sorted_by, op_detail, thread_sep, time_unit, span)
        tables = [_table(capture, _VIEWS[SummaryView(view)], settings, views is not None) for view in wanted]
    return "\n\n\n".join(table for table in tables if table)


def _table(capture: CaptureReader, view: _View, settings: _Settings, is_asked: bool) -> str:
    try:
        report = capture.report(
            view.report, range=settings.span, by_thread=settings.thread_sep and view.by_thread
        )
    except NotRecordedError as error:
        return f"{view.title}: {error}" if is_asked else ""
    rows = list(report.rows(0, len(report)))
    if not rows:
        return ""
    if view.report == "device":
        return _Sheet(view.title, _devices(rows), (30, 20)).text()
    if view.report == "overview":
        return _Sheet(view.title, _overview(rows, settings), (25,) * 4, settings.time_unit).text()
    if view.report == "distributed":
        return _Sheet(view.title, _distributed(rows, settings), (25,) * 3, settings.time_unit).text()
    if view.report == "memory":
        return _Sheet(view.title, _memory(rows), (50, 12, *(15,) * 5)).text()
    return _sides(view, rows, settings)


@dataclass
class _Sheet:
    """A text table: a header row, rows, and title rows with a single cell."""

    title: str
    rows: list[list[str]]
    widths: Sequence[int]
    unit: str = ""
    lines: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The table in Paddle's layout."""
        full = [row for row in self.rows if len(row) > 1]
        widths = [
            max(width, *(len(row[index]) for row in full if index < len(row)))
            for index, width in enumerate(self.widths)
        ]
        length = sum(widths) + len(_GAP) * (len(widths) - 1)
        rule = "".join("-" * width + _GAP for width in widths)
        self.lines = [self.title.center(length, "-")]
        if self.unit:
            self.lines.append(f"Time unit: {self.unit}")
        self.lines += [rule, self._line(self.rows[0], widths), rule]
        for row in self.rows[1:]:
            if len(row) == 1:
                before = (length - len(row[0])) // 2
                self.lines.append(("-" * before + row[0]).ljust(length, "-"))
            else:
                self.lines.append(self._line(row, widths))
        return "\n".join([*self.lines, rule])

    @staticmethod
    def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
        return "".join(cell.ljust(width) + _GAP for cell, width in zip(cells, widths, strict=True))


def _devices(rows: Iterable[_Row]) -> list[list[str]]:
    cells = [["Device", "Utilization (%)"]]
    for row in rows:
        ratio = row["utilization_ratio"]
        cells.append([row["name"], "-" if ratio is None else f"{100 * ratio:.2f}"])
    return cells


def _overview(rows: Sequence[_Row], settings: _Settings) -> list[list[str]]:
    cells = [["Event Type", "Calls", "CPU Time", "Ratio (%)"]]
    side = "cpu"
    for row in rows:
        if row["side"] != side:
            side = row["side"]
            cells.append(["", "Calls", "GPU Time", "Ratio (%)"])
        cells.append(
            [
                _indented(row),
                str(row["count"]),
                f"{row['total_ns'] / settings.divisor:.2f}",
                f"{100 * row['ratio']:.2f}",
            ]
        )
    return cells


def _distributed(rows: Iterable[_Row], settings: _Settings) -> list[list[str]]:
    cells = [["Name", "Total Time", "Ratio (%)"]]
    for row in rows:
        ratio = row.get("ratio")
        cells.append(
            [
                row["name"],
                f"{row['total_ns'] / settings.divisor:.2f}",
                "-" if ratio is None else f"{100 * ratio:.2f}",
            ]
        )
    return cells


def _memory(rows: Iterable[_Row]) -> list[list[str]]:
    cells = [
        [
            "Name",
            "Type",
            "Allocation Count",
            "Free Count",
            "Allocation Size",
            "Free Size",
            "Increased Size",
        ]
    ]
    device = None
    for row in rows:
        if row["device"] != device:
            device = row["device"]
            cells.append([f"Place: {device}"])
        sizes = ("allocation_count", "free_count", "allocation_bytes", "free_bytes", "increased_bytes")
        cells.append([row["name"], row["type"], *(str(row[size]) for size in sizes)])
    return cells


def _sides(view: _View, rows: list[_Row], settings: _Settings) -> str:
    """A table of calls with total, average, maximum, minimum and ratio on CPU and GPU."""
    cells = [
        ["Name", "Calls", *(f"{side.upper()} Total / Avg / Max / Min / Ratio(%)" for side in view.sides)]
    ]
    if view.is_sorted:
        rows = list(_sorted_tree(rows, settings.sorted_by, view.sides))
    if not settings.op_detail and view.report == "operator":
        rows = [row for row in rows if not row.get("depth")]
    if view.by_thread:
        if not settings.thread_sep:
            cells.append(["Thread: All threads merged"])
        rows = sorted(rows, key=lambda row: str(row.get("thread", "")))  # stable: trees stay together
    thread = None
    for row in rows:
        if settings.thread_sep and view.by_thread and row.get("thread") != thread:
            thread = row.get("thread")
            cells.append([f"Thread: {thread}"])
        calls = "-" if row["count"] is None else str(row["count"])
        cells.append([_indented(row), calls, *(_side(row, side, settings.divisor) for side in view.sides)])
    widths = [view.name_width, 6, *(40 for _side_ in view.sides)]
    return _Sheet(view.title, cells, widths, settings.time_unit).text()


def _side(row: _Row, side: str, divisor: float) -> str:
    times = [_of_side(row, side, f"{name}_ns") for name in _FIELDS]
    cells = ["-" if time is None else f"{time / divisor:.2f}" for time in times]
    ratio = _of_side(row, side, "ratio")
    return " / ".join([*cells, "-" if ratio is None else f"{100 * ratio:.2f}"])


def _of_side(row: _Row, side: str, name: str) -> Any:
    """A value of the CPU or GPU side; reports with only one side have no prefix."""
    return row.get(f"{side}_{name}", row.get(name))


def _indented(row: _Row) -> str:
    return "  " * int(row.get("depth") or 0) + str(row["name"])


def _sorted_tree(rows: list[_Row], key: SortedKeys, sides: Sequence[str]) -> Iterator[_Row]:
    """Rows sorted by value, largest first; children stay below their parents."""
    side, name = key.name[:3].lower(), key.name[3:].lower()
    side = side if side in sides else sides[0]

    def ordered(part: list[_Row], depth: int) -> Iterator[_Row]:
        heads = [index for index, row in enumerate(part) if (row.get("depth") or 0) == depth]
        ends = [*heads[1:], len(part)] if heads else []
        groups = [part[first:last] for first, last in zip(heads, ends, strict=True)]
        # Rows without a value on this side come last, in their order.
        groups.sort(key=lambda group: -(_of_side(group[0], side, f"{name}_ns") or 0))
        for group in groups:
            yield group[0]
            yield from ordered(group[1:], depth + 1)

    yield from ordered(rows, 0)
