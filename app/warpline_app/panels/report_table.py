"""A report of the analysis as a table: one unit per column, shares as bars, trees that open and close."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QMenu, QWidget

from warpline.analysis.rendering import NS_PER_UNIT, format_value
from warpline.analysis.report import NO_NAME, Column, Texts, Values, python_value, sort_table
from warpline.analysis.report import Table as ReportData
from warpline.i18n import tr
from warpline.storage import Capture
from warpline_app.panels.table import Table, TableColumn, TableContent
from warpline_app.theme import Theme

Int64Array = npt.NDArray[np.int64]
INDENT = "    "
_OPEN, _CLOSED, _LEAF = "▾ ", "▸ ", "   "
_OPEN_ALL_UP_TO = 60
_NAME_COLUMNS = ("name", "operation", "Event")
_BARS = frozenset(("ratio", "cpu_ratio", "gpu_ratio", "idle_ratio", "utilization_ratio"))
"""Shares that are drawn as bars."""
_SIDES = ("cpu_ratio", "gpu_ratio", "count", "cpu_total_ns", "gpu_total_ns", "cpu_self_ns", "gpu_self_ns")
"""What stands first in a table of CPU and GPU times: the sides next to each other."""
_HIDDEN = frozenset(("activity", "cause", "side"))
"""Columns for scripts: what they say is in the names already."""


class ReportTable(Table):
    """Shows a `warpline.analysis.report.Table`. Items are rows of it."""

    show_longest = Signal(int)
    filter_wanted = Signal(int)
    hide_wanted = Signal(int)
    events_wanted = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.report: ReportData | None = None
        self._colors: Callable[[int], str | None] = lambda _item: None
        self._columns: list[Column] = []
        self._closed: set[int] = set()
        self._parents: Int64Array = np.empty(0, np.int64)
        self._has_children: npt.NDArray[np.bool_] = np.empty(0, bool)
        self._search = ""
        self._sorting: tuple[str, bool] | None = None
        self._widths: dict[str, int] = {}

    # -- content

    def show_report(self, report: ReportData, capture: Capture, theme: Theme) -> None:
        """Show a report; what was sorted, closed and chosen stays where the table has the same columns."""
        same = self.report is not None and [c.name for c in self.report.columns] == [
            c.name for c in report.columns
        ]
        if not same:
            self._sorting = None
            self._widths = {}
        elif self._sorting is not None:
            report = sort_table(report, *self._sorting)
        self.report = report
        self._colors = _colors(report, capture, theme)
        self._columns = _display_columns(report)
        self._parents, self._has_children = _tree(report)
        self._closed = set()
        if report.depth is not None and len(report) > _OPEN_ALL_UP_TO:
            self._closed = set(np.flatnonzero(self._has_children).tolist())
        self._fill()

    def set_search(self, text: str) -> None:
        """Show only rows whose name contains a text (in a tree with what is above them)."""
        if text != self._search:
            self._search = text
            if self.report is not None:
                self._fill()

    def _fill(self) -> None:
        assert self.report is not None
        columns = [self._column(column, place) for place, column in enumerate(self._columns)]
        items = self._visible()
        chosen = self.current_item()
        self.set_content(TableContent(columns, len(self.report), items), items)
        if self._sorting is not None:
            names = [column.name for column in self._columns]
            if self._sorting[0] in names:
                self.show_sorted(names.index(self._sorting[0]), self._sorting[1])
        if chosen is not None and chosen < len(self.report):
            self.show_item(chosen, scroll=False)

    def _visible(self) -> Int64Array:
        assert self.report is not None
        n = len(self.report)
        shown = np.ones(n, bool)
        if self._search:
            wanted = self._search.casefold()
            name = self.report.data[self.name_column.name]
            shown = np.array([wanted in (name[i] or "").casefold() for i in range(n)], bool)
            for item in np.flatnonzero(shown).tolist() if self.report.depth is not None else ():
                above = int(self._parents[item])
                while above >= 0 and not shown[above]:
                    shown[above] = True
                    above = int(self._parents[above])
        elif self._closed:
            for item in range(n):
                above = int(self._parents[item])
                shown[item] = above < 0 or (shown[above] and above not in self._closed)
        return np.flatnonzero(shown).astype(np.int64)

    @property
    def name_column(self) -> Column:
        """The column that says what a row is."""
        return self._columns[0]

    def _column(self, column: Column, place: int) -> TableColumn:
        assert self.report is not None
        report = self.report
        values = report.data[column.name]
        is_number = isinstance(values, np.ndarray)
        unit, decimals = _unit_of(values) if column.unit == "ns" else ("", 0)

        def text(item: int) -> str:
            value = python_value(values, item)
            if value is not None and column.unit == "ns":
                return f"{value / NS_PER_UNIT[unit]:,.{decimals}f}"
            if value is not None and column.unit == "ratio":
                return "100%" if 0.9995 <= value <= 1 else f"{value:.1%}"
            shown = format_value(value, column, "ns")
            return "–" if shown == "-" else shown

        def raw(item: int) -> str:
            value = python_value(values, item)
            return "" if value is None else str(value)

        title = tr(column.title, "report")
        if column.unit == "ns":
            title = f"{title} ({'µs' if unit == 'us' else unit})"
        of = tr("of {whole}", whole=tr(column.of, "report")) if column.of else ""
        if place == 0:
            return TableColumn(
                title,
                lambda item: self._lead(item) + text(item),
                lambda: _sortable(values),
                raw=raw,
                color=None if report.depth is not None else self._colors,
                width=90 if is_number else 420,
                is_number=False,
                stretches=not is_number,
                tooltip=raw,
            )
        bar: Callable[[int], float] | None = None
        if column.unit == "ratio" and column.name in _BARS:
            tops = values if report.depth is None else np.ma.asarray(values)[report.depth == 0]
            highest = _highest(tops) or 1.0

            def bar(item: int) -> float:
                share = float(python_value(values, item) or 0.0)
                # A part's share is of its parent: only shares of the same whole are stretched alike.
                return share if report.depth is not None and report.depth[item] else share / highest

        return TableColumn(
            title,
            text,
            lambda: _sortable(values),
            raw=raw,
            bar=bar,
            color=self._colors if bar is not None else None,
            is_number=is_number and bar is None,
            width=170 if bar is not None else self._width_of(column, title, text, is_number),
            description=of,
        )

    def _width_of(self, column: Column, title: str, text: Callable[[int], str], is_number: bool) -> int:
        """Room for the title and for the first texts, within limits; measured once for a table."""
        assert self.report is not None
        known = self._widths.get(column.name)
        if known is None:
            metrics = self.fontMetrics()
            rows = range(min(len(self.report), 40))
            longest = max((metrics.horizontalAdvance(text(item)) for item in rows), default=0)
            needed = max(longest, metrics.horizontalAdvance(title + " ▾")) + 24
            known = self._widths[column.name] = min(needed, 150 if is_number else 260)
        return known

    def _lead(self, item: int) -> str:
        if self.report is None or self.report.depth is None:
            return ""
        sign = _LEAF if not self._has_children[item] else _CLOSED if item in self._closed else _OPEN
        return INDENT * int(self.report.depth[item]) + sign

    # -- sorting

    def sort_by(self, section: int, descending: bool | None = None) -> None:
        """Sort the report itself, so that a tree stays a tree."""
        if self.report is None:
            return
        column = self._columns[section]
        is_number = isinstance(self.report.data[column.name], np.ndarray)
        if descending is None:
            same = self._sorting is not None and self._sorting[0] == column.name
            descending = not self._sorting[1] if same and self._sorting is not None else is_number
        self._sorting = (column.name, descending)
        closed = {self._identity(item) for item in self._closed}
        self.report = sort_table(self.report, column.name, descending)
        self._parents, self._has_children = _tree(self.report)
        self._closed = {
            item for item in np.flatnonzero(self._has_children).tolist() if self._identity(item) in closed
        }
        self._fill()
        self.sorted_changed.emit()

    def _identity(self, item: int) -> tuple[str, ...]:
        """The names from the top down to a row."""
        assert self.report is not None
        names = self.report.data[self.name_column.name]
        path = []
        while item >= 0:
            path.append(str(python_value(names, item)))
            item = int(self._parents[item]) if len(self._parents) else -1
        return tuple(reversed(path))

    # -- opening and closing

    def toggle(self, item: int) -> None:
        """Open or close a row of a tree."""
        if self.report is not None and self.report.depth is not None and self._has_children[item]:
            self._closed ^= {item}
            self._fill()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click on the triangle opens and closes; anything else selects."""
        index = self.indexAt(event.position().toPoint())
        if (
            index.isValid()
            and index.column() == 0
            and self.report is not None
            and self.report.depth is not None
        ):
            item = self.model_.item(index.row())
            lead = self.fontMetrics().horizontalAdvance(self._lead(item)) + 14
            if self._has_children[item] and event.position().x() - self.columnViewportPosition(0) < lead:
                self.toggle(item)
                return
        super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Left and right close and open; the rest is the table's."""
        item = self.current_item()
        is_tree = self.report is not None and self.report.depth is not None
        if is_tree and item is not None and event.key() in {Qt.Key.Key_Left, Qt.Key.Key_Right}:
            if (item in self._closed) == (event.key() == Qt.Key.Key_Right) and self._has_children[item]:
                self.toggle(item)
            return
        super().keyPressEvent(event)

    # -- the menu

    def _menu(self, position: QPoint) -> None:
        index = self.indexAt(position)
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.fill_menu(menu, self.model_.item(index.row()) if index.isValid() else None)
        menu.popup(self.viewport().mapToGlobal(position))

    def fill_menu(self, menu: QMenu, item: int | None) -> dict[str, QAction]:
        """What can be done with a row and with the table, by id."""
        actions: dict[str, QAction] = {}
        if item is not None:
            for key, text, signal in (
                ("show", tr("Show the longest in the timeline"), self.show_longest),
                ("events", tr("Show in events"), self.events_wanted),
                ("filter", tr("Filter to this"), self.filter_wanted),
                ("hide", tr("Hide this"), self.hide_wanted),
            ):
                actions[key] = menu.addAction(text, partial(signal.emit, item))
                actions[key].setEnabled(self.has_target(item))
            menu.addSeparator()
            actions["copy_name"] = menu.addAction(tr("Copy name"), lambda: self.copy_name(item))
        actions["copy"] = menu.addAction(tr("Copy rows") + "\tCtrl+C", self.copy)
        actions["copy"].setEnabled(self.selectionModel().hasSelection())
        actions["export"] = menu.addAction(tr("Export table…"), self.choose_export)
        actions["export"].setEnabled(self.model_.rowCount() > 0)
        return actions

    def copy_name(self, item: int) -> None:
        """Put the name of a row on the clipboard."""
        if self.report is not None:
            QGuiApplication.clipboard().setText(
                str(python_value(self.report.data[self.name_column.name], item) or "")
            )

    def has_target(self, item: int) -> bool:
        """Whether a row stands for events that can be shown."""
        return self.name_of(item) is not None or self.event_of(item) is not None

    def name_of(self, item: int) -> int | None:
        """The string id a row stands for."""
        names = None if self.report is None else self.report.targets.names
        return None if names is None or names[item] == NO_NAME else int(names[item])

    def kind_of(self, item: int) -> int:
        """The kind code a row stands for, −1 for any."""
        kinds = None if self.report is None else self.report.targets.kinds
        return -1 if kinds is None else int(kinds[item])

    def event_of(self, item: int) -> int | None:
        """The one event a row stands for."""
        rows = None if self.report is None else self.report.targets.rows
        return None if rows is None or rows[item] < 0 else int(rows[item])

    def items_named(self, names: frozenset[int]) -> list[int]:
        """Rows that stand for one of some names."""
        if self.report is None or self.report.targets.names is None or not names:
            return []
        return np.flatnonzero(np.isin(self.report.targets.names, list(names))).tolist()


def _highest(values: Values) -> float:
    """The largest number of a column, 0 when it has none."""
    if not isinstance(values, np.ndarray) or not len(values):
        return 0.0
    plain = np.ma.filled(np.ma.asarray(values).astype(np.float64), np.nan)
    plain = plain[np.isfinite(plain)]
    return float(plain.max()) if len(plain) else 0.0


def _unit_of(values: Values) -> tuple[str, int]:
    """The unit in which the largest time of a column stays below 10,000, and how many decimals are worth reading."""
    highest = _highest(values)
    for unit, scale in NS_PER_UNIT.items():
        if highest < scale * 1e4 or unit == "s":
            shown = highest / scale
            return unit, 0 if unit == "ns" or shown >= 1000 else 1 if shown >= 100 else 2 if shown >= 1 else 3
    return "s", 3


def _display_columns(report: ReportData) -> list[Column]:
    """Names first, then the share, the rest as the report has it."""
    columns = [column for column in report.columns if column.name not in _HIDDEN]
    texts = [column for column in columns if not isinstance(report.data[column.name], np.ndarray)]
    named = [column for column in texts if column.name in _NAME_COLUMNS]
    # Steps are known by their number; their names only repeat it.
    numbered = [column for column in columns if column.name == "step"]
    first = (numbered or named or texts or columns)[0]
    by_name = {column.name: column for column in columns}
    wanted = _SIDES if "cpu_total_ns" in by_name else ("ratio",)
    lead = [first, *(by_name[name] for name in wanted if name in by_name and by_name[name] is not first)]
    return [*lead, *(column for column in columns if column not in lead)]


def _tree(report: ReportData) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    """Parent of each row (−1: none) and which rows have children."""
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


def _sortable(values: Values) -> npt.NDArray[Any]:
    if isinstance(values, np.ndarray):
        return np.ma.filled(np.ma.asarray(values).astype(np.float64), np.nan)
    texts = values if isinstance(values, Texts) else list(values)
    if isinstance(texts, Texts):
        return texts.ranks()[0]
    rank = {text: place for place, text in enumerate(sorted({text or "" for text in texts}))}
    return np.array([rank[text or ""] for text in texts], np.int64)


def _colors(report: ReportData, capture: Capture, theme: Theme) -> Callable[[int], str | None]:
    """The colour of the kind a row stands for."""
    from warpline.analysis.kernels import is_communication

    kinds = report.targets.kinds
    names = report.targets.names
    families = {table.code: theme.family(table.spec.color) for table in capture.kinds.values()}
    kernel = capture.kinds["kernel"].code if "kernel" in capture.kinds else -2

    def color(item: int) -> str | None:
        if kinds is None:
            return theme.hex("kernel")
        code = int(kinds[item])
        is_named = code == kernel and names is not None and names[item] != NO_NAME
        if is_named and names is not None and is_communication(capture.strings[int(names[item])]):
            return theme.family("communication")
        return families.get(code, theme.family("neutral"))

    return color
