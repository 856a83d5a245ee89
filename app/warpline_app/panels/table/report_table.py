"""Shows a report as a table: times in one unit, shares as bars, collapsible trees."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QMenu, QWidget

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import Table, python_value, sort_table
from warpline.i18n import tr, tr_n
from warpline.storage import Capture
from warpline_app.look.theme import Theme
from warpline_app.panels.charts.share_view import Part, largest
from warpline_app.panels.frame.row_target import RowTarget, target_of
from warpline_app.panels.table.content import TableContent
from warpline_app.panels.table.report_columns import (
    ColorOf,
    Int64Array,
    colors_of,
    display_columns,
    make_column,
    name_column,
    names_reader,
    text_of,
    tree_of,
    units_of,
)
from warpline_app.panels.table.row_actions import RowActions
from warpline_app.panels.table.table import PanelTable
from warpline_app.timeline.draw.name_colors import NameColors

INDENT = "    "
_OPEN, _CLOSED, _LEAF = "▾ ", "▸ ", "   "
_OPEN_ALL_UP_TO = 60
_MEASURED_ROWS = 40
_WIDEST_NUMBER, _WIDEST_TEXT = 150, 260


class ReportTable(PanelTable):
    """Shows a `warpline.analysis.framework.report.Table`; items are its rows.

    A click selects the row's target (see `RowActions`), a double click shows it on the timeline.
    """

    def __init__(self, actions: RowActions, parent: QWidget | None = None) -> None:
        super().__init__(actions.document.messages, parent)
        self.report: Table | None = None
        self.row_actions = actions
        self._capture: Capture | None = None
        self._name_colors: NameColors | None = None
        self._name: Callable[[int], str] = str
        self._colors: ColorOf = lambda _item: None
        self._columns: list[Column] = []
        self._closed: set[int] = set()
        self._parents: Int64Array = np.empty(0, np.int64)
        self._has_children: npt.NDArray[np.bool_] = np.empty(0, bool)
        self._search = ""
        self._sorting: tuple[str, bool] | None = None
        self._widths: dict[str, int] = {}
        self.frame_wanted.connect(actions.document.state.show_source)
        self.item_selected.connect(lambda item: self.row_actions.choose(self.target(item)))
        self.item_activated.connect(lambda item: self.row_actions.show(self.target(item)))

    def show_report(self, report: Table, capture: Capture, theme: Theme) -> None:
        """Show a report; sorting, collapsed rows and selection are kept if the columns are the same."""
        same = self.report is not None and [c.name for c in self.report.columns] == [
            c.name for c in report.columns
        ]
        chosen = self._chosen() if same else None
        closed = {self._identity(item) for item in self._closed} if same else set()
        was_tree = same and self._has_children.any()
        if not same:
            self._sorting = None
            self._widths = {}
        elif self._sorting is not None:
            report = sort_table(report, *self._sorting)
        if self._capture is not capture or self._name_colors is None or self._name_colors.theme is not theme:
            self._name_colors = NameColors(capture, theme)
        self._capture = capture
        self._columns = display_columns(report)
        self._take(report)
        if was_tree:
            self._close(closed)
        else:
            many = report.depth is not None and len(report) > _OPEN_ALL_UP_TO
            self._closed = set(np.flatnonzero(self._has_children).tolist()) if many else set()
        self._fill(chosen)

    def _take(self, report: Table) -> None:
        """Update what depends on the order of rows."""
        assert self._capture is not None
        assert self._name_colors is not None
        self.report = report
        self._colors = colors_of(report, self._capture, self._name_colors)
        self._name = names_reader(report, self.name_column, self._capture)
        self._parents, self._has_children = tree_of(report)

    def set_search(self, text: str) -> None:
        """Show only rows whose name contains a text, with their ancestors in a tree."""
        if text != self._search:
            self._search = text
            if self.report is not None:
                self._fill(self._chosen())

    def _fill(self, chosen: tuple[str, ...] | None) -> None:
        report = self.report
        assert report is not None
        first = self.name_column
        is_tree = report.depth is not None
        units = units_of(report)
        columns = [
            name_column(
                report,
                first,
                (lambda item: self._lead(item) + self._name(item)) if is_tree else self._name,
                None if is_tree else self._colors,
            ),
            *(
                make_column(report, column, self._colors, self._width_of(column), units.get(column.name))
                for column in self._columns[1:]
            ),
        ]
        items = self._visible()
        self.set_content(TableContent(columns, len(report), items), items)
        names = [column.name for column in self._columns]
        if self._sorting is not None and self._sorting[0] in names:
            self.show_sorted(names.index(self._sorting[0]), self._sorting[1])
        if chosen is not None:
            found = next((item for item in items.tolist() if self._identity(item) == chosen), None)
            if found is not None:
                self.show_item(found, scroll=False)

    def _visible(self) -> Int64Array:
        assert self.report is not None
        n = len(self.report)
        shown = np.ones(n, bool)
        if self._search:
            wanted = self._search.casefold()
            named = [column for column in self.report.columns if column.role is Role.NAME]
            keys = dict.fromkeys(column.name for column in (self.name_column, *named))
            names = [self.report.data[key] for key in keys]
            shown = np.array(
                [
                    any(wanted in str(python_value(name, i) or "").casefold() for name in names)
                    for i in range(n)
                ],
                bool,
            )
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
        """The column that names a row."""
        return self._columns[0]

    def _width_of(self, column: Column) -> Callable[[str, Callable[[int], str], bool], int]:
        """Width for the title and the first texts, within limits; measured once per table."""

        def width(title: str, text: Callable[[int], str], is_number: bool) -> int:
            assert self.report is not None
            width_px = self._widths.get(column.name)
            if width_px is None:
                metrics = self.fontMetrics()
                rows = range(min(len(self.report), _MEASURED_ROWS))
                longest = max((metrics.horizontalAdvance(text(item)) for item in rows), default=0)
                needed = max(longest, metrics.horizontalAdvance(title + " ▾")) + 24
                width_px = min(needed, _WIDEST_NUMBER if is_number else _WIDEST_TEXT)
                self._widths[column.name] = width_px
            return width_px

        return width

    def _lead(self, item: int) -> str:
        if self.report is None or self.report.depth is None:
            return ""
        sign = _LEAF if not self._has_children[item] else _CLOSED if item in self._closed else _OPEN
        return INDENT * int(self.report.depth[item]) + sign

    def sort_by(self, section: int, descending: bool | None = None) -> None:
        """Sort the report itself, so that trees stay trees."""
        if self.report is None:
            return
        column = self._columns[section]
        is_number = isinstance(self.report.data[column.name], np.ndarray)
        if descending is None:
            same = self._sorting is not None and self._sorting[0] == column.name
            descending = not self._sorting[1] if same and self._sorting is not None else is_number
        self._sorting = (column.name, descending)
        chosen, closed = self._chosen(), {self._identity(item) for item in self._closed}
        self._take(sort_table(self.report, column.name, descending))
        self._close(closed)
        self._fill(chosen)
        self.sorted_changed.emit()

    def _close(self, identities: set[tuple[str, ...]]) -> None:
        parents = np.flatnonzero(self._has_children).tolist() if identities else []
        self._closed = {item for item in parents if self._identity(item) in identities}

    def _chosen(self) -> tuple[str, ...] | None:
        item = self.current_item()
        return None if item is None or self.report is None else self._identity(item)

    def _identity(self, item: int) -> tuple[str, ...]:
        """The key of a row, including its ancestors'; in a list of events, the event."""
        report = self.report
        assert report is not None
        keys = report.key_columns
        if not keys:
            events = report.targets.rows
            return (str(item if events is None else events[item]),)
        path: list[str] = []
        while item >= 0:
            path[:0] = [str(python_value(report.data[column.name], item)) for column in keys]
            item = int(self._parents[item]) if len(self._parents) else -1
        return tuple(path)

    def toggle(self, item: int) -> None:
        """Expand or collapse a row of a tree."""
        if self.report is not None and self.report.depth is not None and self._has_children[item]:
            self._closed ^= {item}
            self._fill(self._chosen())

    def open_item(self, item: int) -> None:
        """Expand a row of a tree."""
        if item in self._closed:
            self.toggle(item)

    def show_one_of(self, items: list[int]) -> None:
        """Select the first visible row among ``items``, expanding ancestors if none is visible."""
        shown = set(self.model_.items_shown().tolist())
        found = next((item for item in items if item in shown), None)
        if found is None and items and not self._search:
            found = items[0]
            above = int(self._parents[found])
            while above >= 0:
                self._closed.discard(above)
                above = int(self._parents[above])
            self._fill(None)
        self.show_item(found)

    def open_all(self, on: bool) -> None:
        """Expand or collapse every row of a tree."""
        self._closed = set() if on else set(np.flatnonzero(self._has_children).tolist())
        self._fill(self._chosen())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click on the triangle expands or collapses; elsewhere it selects."""
        index = self.indexAt(event.position().toPoint())
        is_tree = self.report is not None and self.report.depth is not None
        if index.isValid() and index.column() == 0 and is_tree:
            item = self.model_.item(index.row())
            lead = self.fontMetrics().horizontalAdvance(self._lead(item)) + 14
            if self._has_children[item] and event.position().x() - self.columnViewportPosition(0) < lead:
                self.toggle(item)
                return
        super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Left and Right collapse and expand."""
        item = self.current_item()
        is_tree = self.report is not None and self.report.depth is not None
        if is_tree and item is not None and event.key() in {Qt.Key.Key_Left, Qt.Key.Key_Right}:
            if (item in self._closed) == (event.key() == Qt.Key.Key_Right) and self._has_children[item]:
                self.toggle(item)
            return
        super().keyPressEvent(event)

    def target(self, item: int) -> RowTarget:
        """The target of a row."""
        return RowTarget() if self.report is None else target_of(self.report, item)

    def full_name(self, item: int) -> str:
        """The recorded name of a row."""
        if self.report is None:
            return ""
        return str(python_value(self.report.data[self.name_column.name], item) or "")

    def items_named(self, names: frozenset[int]) -> list[int]:
        """Rows with one of these names."""
        if self.report is None or self.report.targets.names is None or not names:
            return []
        return np.flatnonzero(np.isin(self.report.targets.names, list(names))).tolist()

    def items_of_event(self, event: int) -> list[int]:
        """Rows of one event."""
        rows = None if self.report is None else self.report.targets.rows
        return [] if rows is None else np.flatnonzero(rows == event).tolist()

    def items_on(self, tracks: frozenset[int]) -> list[int]:
        """Rows of one of these tracks."""
        if self.report is None or self.report.targets.tracks is None or not tracks:
            return []
        return np.flatnonzero(np.isin(self.report.targets.tracks, list(tracks))).tolist()

    def parts(self, column: str, other_color: str) -> list[Part]:
        """The largest shares of the top-level rows and the rest, for the chart."""
        report = self.report
        if report is None:
            return []
        tops = np.arange(len(report)) if report.depth is None else np.flatnonzero(report.depth == 0)
        shares = np.ma.filled(np.ma.asarray(report.data[column])[tops].astype(np.float64), 0.0)
        shown, rest = largest(shares)
        parts = [
            Part(
                item,
                self._name(item),
                share,
                self._colors(item) or other_color,
                self.full_name(item),
                self._reason(item),
            )
            for item, share in zip(tops[shown].tolist(), shares[shown].tolist(), strict=True)
        ]
        if len(rest):
            text = tr_n("{count:,} other", "{count:,} others", len(rest))
            parts.append(Part(-1, text, float(shares[rest].sum()), other_color))
        return parts

    def _reason(self, item: int) -> str:
        """What is at the place that names a row; empty where the name says it."""
        report = self.report
        if report is None or not self.name_column.is_place:
            return ""
        column = next((column for column in report.columns if column.role is Role.NAME), self.name_column)
        if column is self.name_column:
            return ""
        text, _unit = text_of(column, report.data[column.name])
        return "" if text(item) == self._name(item) else text(item)

    def fill_menu(self, menu: QMenu, item: int | None) -> dict[str, QAction]:
        """Add the actions of a row and of the table; returns them by id."""
        actions: dict[str, QAction] = {}
        if item is not None:
            target = self.target(item)
            actions = self.row_actions.fill_menu(menu, target, lambda: self.full_name(item))
            actions["copy_row"] = menu.addAction(tr("Copy row"), lambda: self.copy_items([item]))
        actions |= super().fill_menu(menu, item)
        if self._has_children.any():
            menu.addSeparator()
            actions["open_all"] = menu.addAction(tr("Expand all"), lambda: self.open_all(True))
            actions["close_all"] = menu.addAction(tr("Collapse all"), lambda: self.open_all(False))
        return actions
