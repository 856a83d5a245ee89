"""The event table: events of the selected range or the whole capture, of one kind with attributes or of all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QInputDialog,
    QMenu,
    QWidget,
)

from warpline.i18n import tr, tr_n, translated
from warpline.model.progress import IsCancelled
from warpline.model.times import format_duration
from warpline_app.look.chip import Chip
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.theme import Theme
from warpline_app.look.widgets import flat_column, search_field, single_shot
from warpline_app.look.wrapping_row import WrappingRow
from warpline_app.open.document import Document
from warpline_app.panels.events.columns import event_columns
from warpline_app.panels.events.query import EventQuery, capture_starts, rows_of
from warpline_app.panels.frame.computed import ComputedPanel
from warpline_app.panels.frame.row_target import RowTarget
from warpline_app.panels.frame.scope import scope_suffix, selected_name, selected_tracks
from warpline_app.panels.table.column_filter import ColumnFilter, can_filter
from warpline_app.panels.table.content import Items, TableColumn, TableContent, sorted_order
from warpline_app.panels.table.row_actions import RowActions
from warpline_app.panels.table.table import PanelTable

SORT_BY_TIME_UP_TO = 3_000_000
"""With more events, the table is in file order (track by track) until a header is clicked."""
_TYPING_MS = 120


@dataclass(frozen=True)
class _Answer:
    columns: list[TableColumn]
    items: Items | None
    order: Items | None
    by_time: bool


class EventTable(PanelTable):
    """A table whose items are rows of a capture."""

    def __init__(self, document: Document, actions: RowActions, parent: QWidget | None = None) -> None:
        super().__init__(document.messages, parent)
        self._capture = document.capture
        self._actions = actions

    def fill_menu(self, menu: QMenu, item: int | None) -> dict[str, QAction]:
        """Add the actions of an event and of the table; returns them by id."""
        actions: dict[str, QAction] = {}
        if item is not None:
            name = self._capture.strings[int(self._capture.events.name[item])]
            target = RowTarget.of_event(item)
            actions = self._actions.fill_menu(menu, target, lambda: name)
            actions["copy_row"] = menu.addAction(tr("Copy row"), lambda: self.copy_items([item]))
        return {**actions, **super().fill_menu(menu, item)}


class EventsPanel(ComputedPanel):
    """Follows the selected range and filter; the zoom only if *Follow zoom* is checked."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self.kind = QComboBox()
        self.kind.setAccessibleName(tr("Kind of events"))
        self.kind.addItem(tr("All kinds"), "")
        for name, table in document.capture.kinds.items():
            self.kind.addItem(f"{translated(table.spec.title)}  ({len(table):,})", name)
        self.kind.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.kind.currentIndexChanged.connect(self._kind_chosen)
        self.search = search_field(
            tr('Filter by name, "whole name", /regex/'), name=tr("Filter by name"), width_px=(210, 300)
        )
        self.follows = QCheckBox(tr("Follow zoom"))
        self.follows.setToolTip(tr("List the events of the visible range while no range is selected"))
        self.follows.toggled.connect(self.mark_stale)
        self._typing = single_shot(self, _TYPING_MS, self.mark_stale)
        self.search.textChanged.connect(self._typing.start)
        chips = QWidget()
        self._chips = QHBoxLayout(chips)
        self._chips.setContentsMargins(0, 0, 0, 0)
        self._chips.setSpacing(6)
        self.note = ElidedLabel()
        self.note.setObjectName("muted")
        row = WrappingRow()
        for widget in (self.kind, self.search, self.follows, chips, self.note):
            row.add(widget, is_stretching=widget is self.note)
        self.table = EventTable(document, RowActions(self))
        self.table.export_name = f"{document.path.stem}-events"
        self.table.item_selected.connect(self.state.select)
        self.table.frame_wanted.connect(self.state.show_source)
        self.table.item_activated.connect(self.state.frame)
        self.table.sorted_changed.connect(self._show_note)
        header = self.table.horizontalHeader()
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._header_menu)
        layout = flat_column(self)
        layout.addLayout(row)
        layout.addWidget(self.table, 1)
        self._filters: tuple[ColumnFilter, ...] = ()
        self._kind: str | None = None
        self.state.range_selection_changed.connect(self.range_moved)
        self.state.track_selection_changed.connect(self.mark_stale)
        self.state.filter_changed.connect(self.mark_stale)
        self.state.view_changed.connect(self._view_changed)
        self.state.origin_changed.connect(self.forget)
        self.state.selection_changed.connect(self._show_selection)

    @property
    def is_busy(self) -> bool:
        """Whether rows are being collected or the user is still typing or zooming."""
        return super().is_busy or self._typing.isActive()

    def request(self) -> EventQuery:
        """The events to list."""
        state = self.state
        visible = state.view if self.follows.isChecked() else None
        # The timeline's row filter does not affect events; without it, equal queries compare equal.
        name_filter = replace(state.filter, rows="", only=())
        return EventQuery(
            kind=self.kind.currentData() or "",
            range_ns=state.range_selection or visible,
            text=self.search.text().strip(),
            filter=name_filter,
            tracks=selected_tracks(self.document.capture, state),
            name=selected_name(self.document.capture, state),
            columns=self._filters,
        )

    def compute(self, request: EventQuery, is_cancelled: IsCancelled) -> _Answer:
        """Collect the rows and, unless there are too many, sort them by time."""
        capture = self.document.capture
        columns = event_columns(capture, request.kind, self.state.origin_ns, self.theme)
        rows = rows_of(capture, request, columns, is_cancelled)
        count = len(capture.events) if rows is None else len(rows)
        by_time = count <= SORT_BY_TIME_UP_TO
        order = sorted_order(capture_starts(capture), rows, False) if by_time else None
        return _Answer(columns, rows, order, by_time)

    def show_result(self, query: EventQuery, answer: _Answer) -> None:
        """Fill the table; sorting is kept while the kind is the same."""
        capture = self.document.capture
        kind_changed = self._kind != query.kind
        self._kind = query.kind
        count = len(capture.events) if answer.items is None else len(answer.items)
        keeps_sorting = self.table.model_.sort_column > 0 and not kind_changed
        self.table.set_content(
            TableContent(answer.columns, len(capture.events), answer.items, is_ascending=True),
            None if keeps_sorting else answer.order,
        )
        if not keeps_sorting:
            self.table.show_sorted(0 if answer.by_time else -1, False)
        if kind_changed and self._filters:
            self._show_chips()
        self._show_note()
        events = tr_n("{count:,} event", "{count:,} events", count)
        suffix = scope_suffix(capture, self.state)
        if query.range_ns is None:
            self.set_scope(tr("{events} in the whole capture", events=events) + suffix)
        else:
            low, high = query.range_ns
            length = format_duration(high - low)
            text = (
                tr("{events} in the selected range · {length}", events=events, length=length)
                if self.state.range_selection is not None
                else tr("{events} in the visible range · {length}", events=events, length=length)
            )
            self.set_scope(text + suffix)
        self._show_selection()

    def show_failure(self, error: Exception) -> None:
        """Show the error and keep the previous rows."""
        self.note.setText(tr("Could not collect the events: {error}", error=error))

    def _show_note(self) -> None:
        in_file_order = self.table.model_.sort_column < 0 and self.table.model_.rowCount() > 0
        text = tr("sorted by track; click a header to sort differently") if in_file_order else ""
        if not self.table.model_.rowCount():
            text = tr("no matching events: change the kind, the filter or the range")
        self.note.setText(text)

    def filter_column(self, column: str, text: str) -> None:
        """List only rows with this value in a column (by identity); an empty text removes the filter."""
        others = tuple(column_filter for column_filter in self._filters if column_filter.column != column)
        self._set_filters((*others, ColumnFilter(column, text)) if text else others)

    def _set_filters(self, filters: tuple[ColumnFilter, ...]) -> None:
        self._filters = filters
        self._show_chips()
        self.mark_stale()

    def _show_chips(self) -> None:
        """Show a chip for each filter, with column titles once that kind is displayed."""
        while (item := self._chips.takeAt(0)) is not None:
            chip = item.widget()
            if chip is not None:
                chip.hide()
                chip.deleteLater()
        titles = {column.identity: column.title for column in self.table.model_.columns}
        for column_filter in self._filters:
            text = f"{titles.get(column_filter.column, column_filter.column)}: {column_filter.text}"
            self._chips.addWidget(Chip(text, partial(self.filter_column, column_filter.column, ""), self))

    @property
    def chips(self) -> list[Chip]:
        """One chip per filtered column."""
        widgets = (self._chips.itemAt(place) for place in range(self._chips.count()))
        return [chip for item in widgets if item is not None and isinstance(chip := item.widget(), Chip)]

    def _header_menu(self, position: QPoint) -> None:
        section = self.table.horizontalHeader().logicalIndexAt(position)
        if section >= 0:
            menu = QMenu(self)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            self.fill_header_menu(menu, section)
            menu.popup(self.table.horizontalHeader().mapToGlobal(position))

    def fill_header_menu(self, menu: QMenu, section: int) -> dict[str, QAction]:
        """Add sorting and filtering by a column; returns the actions by id."""
        column = self.table.model_.columns[section]
        actions = {
            "ascending": menu.addAction(tr("Sort ascending"), lambda: self.table.sort_by(section, False)),
            "descending": menu.addAction(tr("Sort descending"), lambda: self.table.sort_by(section, True)),
            "filter": menu.addAction(tr("Filter by this column…"), lambda: self.ask_filter(section)),
        }
        for key in ("ascending", "descending"):
            actions[key].setEnabled(column.sort_values is not None)
        actions["filter"].setEnabled(can_filter(column))
        return actions

    def ask_filter(self, section: int) -> QInputDialog:
        """Ask for the filter of a column."""
        column = self.table.model_.columns[section]
        dialog = QInputDialog(self)
        dialog.setWindowTitle(tr("Filter by {column}", column=column.title))
        hint = (
            tr("A number, time or size: > 1ms, <= 64 KiB, 1ms..2ms")
            if column.choices is None
            else tr("Part of the text, or =the whole text; separate alternatives with |")
        )
        dialog.setLabelText(hint)
        column_filter = next((f.text for f in self._filters if f.column == column.identity), "")
        dialog.setTextValue(column_filter)
        dialog.textValueSelected.connect(lambda text: self.filter_column(column.identity, text.strip()))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()
        return dialog

    def show_events_of(self, target: RowTarget) -> None:
        """List the events of another panel's row."""
        capture = self.document.capture
        name = target.name_in(capture)
        kind = capture.kind_of_code.get(target.kind, "")
        self.kind.setCurrentIndex(max(self.kind.findData(kind), 0))
        self.search.setText("" if name is None else f'"{capture.strings[name]}"')
        self._typing.stop()
        if target.columns:
            self._set_filters(tuple(ColumnFilter(*column) for column in target.columns))
        self.mark_stale()

    def _kind_chosen(self, _index: int) -> None:
        # Drop filters on attributes of other kinds, which have no column now.
        kind = self.kind.currentData()
        self._set_filters(
            tuple(f for f in self._filters if "." not in f.column or f.column.startswith(f"{kind}."))
        )

    def _view_changed(self, *_values: object) -> None:
        if self.follows.isChecked() and self.state.range_selection is None:
            self._typing.start()

    def _show_selection(self, *_values: object) -> None:
        if self.isVisible():
            self.table.show_item(self.state.selection)

    def apply_theme(self, theme: Theme) -> None:
        self.forget()
