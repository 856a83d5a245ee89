"""Table columns of a report: order, units, bars for shares, short names, colours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.cell_text import NS_PER_UNIT, format_value, table_units
from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.kernel_names import short_kernel_name, short_kernel_names
from warpline.analysis.framework.report import NO_NAME, Table, Texts, Values, python_value
from warpline.i18n import tr, translated
from warpline.model.frames import parse_frame
from warpline.storage import Capture
from warpline_app.panels.table.content import TableColumn, frame_of
from warpline_app.timeline.draw.name_colors import NameColors

Int64Array = npt.NDArray[np.int64]
ColorOf = Callable[[int], str | None]
_WHOLE = 1.001
_LEAST_SHOWN = 0.001
_TOO_LONG = 10_000
_ROLE_COLORS = {"state": "running", "core": "core", "stream": "kernel"}
_BAR_WIDTH = 150
_NAME_WIDTH = 240
_READ_AT_ONCE = 4096


def display_columns(report: Table) -> list[Column]:
    """The columns in display order: the row's name, the report's leading columns, then the rest.

    Rows that differ by place have it as their name: ours (*lock*) is the same for many of them.
    """
    columns = [column for column in report.columns if column.role is not Role.CODE]
    # Steps are identified by number; their names repeat it.
    numbered = [column for column in columns if column.role is Role.ORDINAL]
    named = [column for column in columns if column.role is Role.NAME]
    placed = [column for column in columns if column.is_place and column.key and named[:1] and named[0].ours]
    first = (numbered or placed or named or columns)[0]
    others = [column for column in columns if column is not first]
    if placed:
        others.sort(key=lambda column: column is not named[0])
    lead = sorted((column for column in others if column.lead), key=lambda column: column.lead)
    return [first, *lead, *(column for column in others if not column.lead)]


def share_column(report: Table) -> Column | None:
    """The first column whose top-level rows are shares of a whole; None if there is none."""
    for column in display_columns(report):
        if column.role is Role.SHARE:
            tops: Any = np.ma.asarray(report.data[column.name])
            total = np.ma.filled(tops if report.depth is None else tops[report.depth == 0], 0.0).sum()
            if 0 < total < _WHOLE:
                return column
    return None


def value_reader(values: Values) -> Callable[[int], Any]:
    """Reads a column's values as Python values, None if missing; evaluates masks once."""
    if not isinstance(values, np.ndarray):
        return lambda item: python_value(values, item)
    plain = np.ma.getdata(values)
    missing = np.ma.getmaskarray(values)
    if plain.dtype.kind == "f":
        missing = missing | np.isnan(plain)
    return lambda item: None if missing[item] else plain[item].item()


def highest(values: Values) -> float:
    """The largest number of a column, 0 if it has none."""
    if not isinstance(values, np.ndarray) or not len(values):
        return 0.0
    plain = np.ma.filled(np.ma.asarray(values).astype(np.float64), np.nan)
    plain = plain[np.isfinite(plain)]
    return float(plain.max()) if len(plain) else 0.0


def units_of(report: Table) -> dict[str, str]:
    """The unit of each time column; columns of similar size share one."""
    names = [column.name for column in report.columns if column.unit == "ns"]
    return dict(zip(names, table_units([highest(report.data[name]) for name in names]), strict=True))


def _own_unit(most: float) -> str:
    """The unit in which a column's largest time is below 10,000."""
    for unit, scale in NS_PER_UNIT.items():
        if round(most / scale, _decimals(most, unit)) < _TOO_LONG:
            return unit
    return "s"


def _decimals(most: float, unit: str) -> int:
    """Number of useful decimals if ``most`` is a column's largest time."""
    shown = most / NS_PER_UNIT[unit]
    return 0 if unit == "ns" or shown >= 1000 else 1 if shown >= 100 else 2 if shown >= 1 else 3


def text_of(column: Column, values: Values, unit: str | None = None) -> tuple[Callable[[int], str], str]:
    """A column's cell text, and the unit for its title (empty for none).

    ``unit`` is that of times; None selects a suitable one.
    """
    read = value_reader(values)
    if column.unit == "ns":
        most = highest(values)
        unit = unit or _own_unit(most)
        decimals = _decimals(most, unit)
        scale, finest = NS_PER_UNIT[unit], 10.0**-decimals

        def time_text(item: int) -> str:
            value = read(item)
            if value is None:
                return "–"
            shown = value / scale
            # A nonzero value never reads as 0: beside much larger times it keeps one significant digit.
            if shown and abs(shown) < finest / 2:
                return f"{shown:.1g}" if abs(shown) >= _LEAST_SHOWN else f"<{_LEAST_SHOWN}"
            return f"{shown:,.{decimals}f}"

        return time_text, "µs" if unit == "us" else unit
    if column.unit == "ratio":

        def ratio_text(item: int) -> str:
            value = read(item)
            return "–" if value is None else "100%" if 0.9995 <= value <= 1 else f"{value:.1%}"

        return ratio_text, ""

    def text(item: int) -> str:
        shown = format_value(read(item), column, "ns")
        return "–" if shown == "-" else shown

    return text, ""


def names_reader(report: Table, column: Column, capture: Capture) -> Callable[[int], str]:
    """Row names as shown on the timeline: kernels shortened but distinct."""
    if column.is_place:
        return places_reader(report, column)
    kinds = report.targets.kinds
    code = capture.kinds["kernel"].code if "kernel" in capture.kinds else -2
    text, _ = text_of(column, report.data[column.name])
    if kinds is None or not np.any(kinds == code):
        return text
    if len(kinds) > _READ_AT_ONCE:  # event lists are shortened as they come into view
        return lambda item: short_kernel_name(text(item)) if kinds[item] == code else text(item)
    short = short_kernel_names(text(item) for item in np.flatnonzero(kinds == code).tolist())
    return lambda item: short[text(item)] if kinds[item] == code else text(item)


def places_reader(report: Table, column: Column) -> Callable[[int], str]:
    """Places as the timeline names them: ``fight · demo.py:56``; rows without one by their reason."""
    place = raw_of(report.data[column.name])
    reason = next((other for other in report.columns if other.role is Role.NAME), column)
    instead, _ = text_of(reason, report.data[reason.name])

    def text(item: int) -> str:
        frame = parse_frame(place(item))
        if not place(item):
            return instead(item)
        return f"{frame.function} · {frame.place}" if frame.file and frame.function else frame.place

    return text


def make_column(
    report: Table,
    column: Column,
    color: ColorOf,
    width: Callable[[str, Callable[[int], str], bool], int],
    unit: str | None = None,
) -> TableColumn:
    """A column of figures or texts.

    ``width`` measures (title, text, is number); ``unit`` is that of times (`units_of`).
    """
    values = report.data[column.name]
    is_number = isinstance(values, np.ndarray)
    text, unit = text_of(column, values, unit)
    title = translated(column.title) + (f" ({unit})" if unit else "")
    bar = _bar(report, column, values)
    return TableColumn(
        title,
        text,
        sort_values=lambda: sortable(values),
        raw=raw_of(values),
        bar=bar,
        color=color if bar is not None else None,
        is_number=is_number and bar is None,
        width=_BAR_WIDTH if bar is not None else width(title, text, is_number),
        tooltip=None if is_number else text,
        description=tr(
            "share of {whole}; each row's own time, while Findings counts waits where they were caused",
            whole=translated(column.of),
        )
        if column.of
        else "",
        key=column.name,
        frame=frame_of(text) if column.is_place else None,
    )


def name_column(
    report: Table,
    column: Column,
    text: Callable[[int], str],
    color: ColorOf | None,
) -> TableColumn:
    """The column that names a row; it stretches, and its tooltip shows the full name."""
    values = report.data[column.name]
    is_number = isinstance(values, np.ndarray)
    whole = raw_of(values)
    return TableColumn(
        translated(column.title),
        text,
        sort_values=lambda: sortable(values),
        raw=raw_of(values),
        color=color,
        width=90 if is_number else _NAME_WIDTH,
        stretches=not is_number,
        tooltip=(lambda item: translated(whole(item))) if column.ours else whole,
        key=column.name,
        frame=frame_of(raw_of(values)) if column.is_place else None,
    )


def raw_of(values: Values) -> Callable[[int], str]:
    """The copied and exported cell: times in ns, ratios 0–1, full names, empty if missing."""
    read = value_reader(values)

    def raw(item: int) -> str:
        value = read(item)
        return "" if value is None else str(value)

    return raw


def _bar(report: Table, column: Column, values: Values) -> Callable[[int], float] | None:
    if not column.heat:
        return None
    depth = report.depth
    tops = values if depth is None else np.ma.asarray(values)[depth == 0]
    most = highest(tops) or 1.0
    read = value_reader(values)
    parents = tree_of(report)[0] if depth is not None else None

    def bar(item: int) -> float:
        # A child's share is relative to its parent, so its bar is that part of the parent's bar.
        length = float(read(item) or 0.0)
        above = -1 if parents is None else int(parents[item])
        while parents is not None and above >= 0:
            length *= float(read(above) or 0.0)
            above = int(parents[above])
        return length / most

    return bar


def sortable(values: Values) -> npt.NDArray[Any]:
    """Sortable values: numbers with NaN if missing, or text ranks."""
    if isinstance(values, np.ndarray):
        return np.ma.filled(np.ma.asarray(values).astype(np.float64), np.nan)
    if isinstance(values, Texts):
        return values.ranks()[0]
    rank = {text: index for index, text in enumerate(sorted({text or "" for text in values}))}
    return np.array([rank[text or ""] for text in values], np.int64)


def tree_of(report: Table) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    """Parent of each row (−1: none), and which rows have children."""
    n = len(report)
    parents = np.full(n, -1, np.int64)
    if report.depth is None:
        return parents, np.zeros(n, bool)
    path: list[int] = []
    for row, level in enumerate(report.depth.tolist()):
        del path[level:]
        parents[row] = path[-1] if path else -1
        path.append(row)
    has_children = np.zeros(n, bool)
    has_children[parents[parents >= 0]] = True
    return parents, has_children


def colors_of(report: Table, capture: Capture, colors: NameColors) -> ColorOf:
    """The colour of a row's events or track on the timeline."""
    kinds, names, events, tracks = (
        report.targets.kinds,
        report.targets.names,
        report.targets.rows,
        report.targets.tracks,
    )
    theme = colors.theme
    families = {table.code: theme.family(table.spec.color) for table in capture.kinds.values()}

    def color(item: int) -> str | None:
        if kinds is None and events is None and tracks is not None and tracks[item] >= 0:
            return theme.family(_ROLE_COLORS.get(capture.tracks[int(tracks[item])].role, "neutral"))
        if events is not None and events[item] >= 0:
            return colors.of_event(int(events[item]))
        if kinds is None:
            return theme.hex("kernel")
        code = int(kinds[item])
        if names is not None and names[item] != NO_NAME:
            return colors.of_name(code, int(names[item]))
        return families.get(code, theme.family("neutral"))

    return color
