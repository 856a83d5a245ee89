"""All events as a table: of the selected range or of the whole capture, of one kind with its attributes or of all."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from warpline.i18n import tr, tr_n
from warpline.model.times import format_duration, format_time
from warpline_app.background import IsCancelled, Job, Progress
from warpline_app.panels.event_context import context_columns
from warpline_app.panels.facts import attribute_text
from warpline_app.panels.panel import Panel
from warpline_app.panels.table import Table, TableColumn, TableContent, sorted_order, text_ranks
from warpline_app.state import Document, Filter
from warpline_app.theme import Theme

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
SORT_BY_TIME_UP_TO = 3_000_000
"""More events than this come in the order of the file (track by track) until a header is clicked."""


@dataclass(frozen=True)
class Query:
    """Which events: ``kind`` empty for all, ``range_ns`` None for the whole capture, ``text`` sought in names."""

    kind: str = ""
    range_ns: tuple[int, int] | None = None
    text: str = ""
    filter: Filter = field(default_factory=Filter)


def name_ids(capture: Capture, text: str, *, regex: bool = False, case: bool = False) -> Int64Array:
    """Ids of names that contain a text; ``/…/`` or ``regex`` make it a regular expression.

    A broken expression matches nothing: it is being typed.
    """
    if len(text) > 2 and text.startswith("/") and text.endswith("/"):
        text, regex = text[1:-1], True
    try:
        return capture.strings.find(text, regex=regex, case=case).astype(np.int64)
    except re.error:
        return np.empty(0, np.int64)


def rows_of(capture: Capture, query: Query, is_cancelled: IsCancelled = lambda: False) -> Int64Array | None:
    """Rows of the events that pass, in the order of the file; None for all of them.

    An event counts as inside a range when it overlaps it; an event without duration when it lies in it.
    """
    rows: Int64Array | None = capture.kinds[query.kind].rows if query.kind in capture.kinds else None
    if query.range_ns is not None:
        inside = capture.rows_in(np.arange(len(capture.lanes)), *query.range_ns)
        rows = (
            inside if rows is None else inside[capture.events.kind[inside] == capture.kinds[query.kind].code]
        )
    for text, regex, case in (
        (query.text, False, False),
        (query.filter.names, query.filter.regex, query.filter.case),
    ):
        if text and not is_cancelled():
            wanted = np.zeros(len(capture.strings) + 1, bool)
            wanted[name_ids(capture, text, regex=regex, case=case)] = True
            names = capture.events.name if rows is None else capture.events.name[rows]
            hits = np.flatnonzero(wanted[np.minimum(names, len(capture.strings))])
            rows = hits.astype(np.int64) if rows is None else rows[hits]
    if query.filter.kinds and not is_cancelled():
        codes = [capture.kinds[kind].code for kind in query.filter.kinds if kind in capture.kinds]
        kinds = capture.events.kind if rows is None else capture.events.kind[rows]
        hits = np.flatnonzero(np.isin(kinds, codes))
        rows = hits.astype(np.int64) if rows is None else rows[hits]
    return rows


def capture_starts(capture: Capture, rows: Int64Array | None = None) -> Int64Array:
    """Starts of events in capture time."""
    if rows is not None:
        return capture.event_times(rows)[0]
    if not np.any(capture.lane_offset_ns):
        return capture.events.start
    return capture.events.start - np.repeat(capture.lane_offset_ns, capture.lanes.count)


def event_columns(capture: Capture, kind: str, origin_ns: int, theme: Theme) -> list[TableColumn]:
    """Start, duration, name, kind and track; of one kind also its attributes."""
    events = capture.events

    def start(row: int) -> int:
        return capture.event_span(row)[0]

    def track_title(row: int) -> str:
        track = capture.tracks[capture.track_of_row(row)]
        above = capture.tracks[track.parent].title if track.parent >= 0 else ""
        return f"{above} › {track.title}" if above else track.title

    def name_values() -> npt.NDArray[Any]:
        return text_ranks(capture.strings.all())[np.minimum(events.name, max(0, len(capture.strings) - 1))]

    def track_values() -> npt.NDArray[Any]:
        return np.repeat(capture.lanes.track, capture.lanes.count)

    colors = {table.code: theme.family(table.spec.color) for table in capture.kinds.values()}
    titles = {table.code: tr(table.spec.title, "kind") for table in capture.kinds.values()}
    columns = [
        TableColumn(
            tr("Start"),
            lambda row: format_time(start(row) - origin_ns),
            lambda: capture_starts(capture),
            raw=lambda row: str(start(row) - capture.span[0]),
            is_number=True,
            width=130,
            description=tr("Time since the start of the capture; copied in nanoseconds"),
        ),
        TableColumn(
            tr("Duration"),
            lambda row: format_duration(int(events.duration[row])),
            lambda: events.duration,
            raw=lambda row: str(int(events.duration[row])),
            is_number=True,
            width=100,
            description=tr("Copied in nanoseconds"),
        ),
        TableColumn(
            tr("Name"),
            lambda row: capture.strings[int(events.name[row])],
            name_values,
            color=lambda row: colors.get(int(events.kind[row])),
            width=380,
            stretches=not kind,
            tooltip=lambda row: capture.strings[int(events.name[row])],
        ),
    ]
    if not kind:
        columns.append(
            TableColumn(
                tr("Kind"), lambda row: titles.get(int(events.kind[row]), ""), lambda: events.kind, width=130
            )
        )
    columns.append(
        TableColumn(
            tr("Track"),
            track_title,
            track_values,
            raw=lambda row: capture.tracks[capture.track_of_row(row)].uri,
            width=210,
            tooltip=lambda row: capture.tracks[capture.track_of_row(row)].uri,
        )
    )
    if kind not in capture.kinds:
        return columns
    return columns + context_columns(capture, kind) + _attribute_columns(capture, kind)


def _attribute_columns(capture: Capture, kind: str) -> list[TableColumn]:
    table = capture.kinds[kind]
    columns: list[TableColumn] = []
    for spec in table.spec.attributes:
        values, valid = table.column(spec.name)
        # A column that no event filled would only be dashes.
        if spec.name == "stack" or not np.any(valid):
            continue
        is_number = spec.dtype != "string" and not spec.enum

        def value_of(row: int, values: Any = values, valid: Any = valid) -> Any:
            index = int(np.searchsorted(table.stored_rows, row))
            return values[index].item() if index < len(valid) and valid[index] else None

        def text(row: int, spec: Any = spec, value_of: Any = value_of) -> str:
            value = value_of(row)
            return "–" if value is None else attribute_text(capture, spec, value).partition("  (")[0]

        def raw(row: int, spec: Any = spec, value_of: Any = value_of) -> str:
            value = value_of(row)
            if value is None:
                return ""
            return attribute_text(capture, spec, value) if spec.dtype == "string" or spec.enum else str(value)

        def sort_values(spec: Any = spec, values: Any = values, valid: Any = valid) -> npt.NDArray[Any]:
            known = values
            if spec.dtype == "string":
                ranks = text_ranks(capture.strings.all())
                known = ranks[np.minimum(values, max(0, len(capture.strings) - 1))]
            whole = np.full(len(capture.events), np.nan)
            whole[table.rows] = np.where(valid, known, np.nan)
            return whole

        unit = f" ({spec.unit})" if spec.unit and spec.unit not in {"ns", "bytes", "ratio"} else ""
        columns.append(
            TableColumn(
                tr(spec.title, "attribute") + unit, text, sort_values, raw=raw, is_number=is_number, width=120
            )
        )
    return columns


@dataclass(frozen=True)
class _Answer:
    query: Query
    items: Int64Array | None
    order: Int64Array | None
    by_time: bool


class EventsPanel(Panel):
    """Follows range selection and filter; zooming changes nothing here."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self.kind = QComboBox()
        self.kind.setAccessibleName(tr("Kind of events"))
        self.kind.addItem(tr("All kinds"), "")
        for name, table in document.capture.kinds.items():
            self.kind.addItem(f"{tr(table.spec.title, 'kind')}  ({len(table):,})", name)
        self.kind.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.kind.currentIndexChanged.connect(self.mark_stale)
        self.search = QLineEdit()
        self.search.setPlaceholderText(tr("Filter by name, /regex/"))
        self.search.setClearButtonEnabled(True)
        self.search.setMaximumWidth(300)
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(120)
        self._typing.timeout.connect(self.mark_stale)
        self.search.textChanged.connect(self._typing.start)
        self.note = QLabel()
        self.note.setObjectName("muted")
        row = QHBoxLayout()
        row.setContentsMargins(10, 5, 10, 5)
        row.setSpacing(8)
        row.addWidget(self.kind)
        row.addWidget(self.search, 1)
        row.addWidget(self.note)
        row.addStretch(1)
        self.table = Table()
        self.table.export_name = f"{document.path.stem}-events"
        self.table.item_selected.connect(self._chosen)
        self.table.item_activated.connect(self.state.reveal)
        self.table.sorted_changed.connect(self._say_order)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(row)
        layout.addWidget(self.table, 1)
        self._job: Job | None = None
        self._shown: Query | None = None
        self.state.range_selection_changed.connect(self.mark_stale)
        self.state.filter_changed.connect(self.mark_stale)
        self.state.origin_changed.connect(self._origin_changed)
        self.state.selection_changed.connect(self._show_selection)

    @property
    def is_busy(self) -> bool:
        """Whether rows are being collected."""
        return self._job is not None

    def refresh(self) -> None:
        """Collect the rows in the background; what is shown stays until they are there."""
        query = Query(
            self.kind.currentData() or "",
            self.state.range_selection,
            self.search.text().strip(),
            Filter(
                names=self.state.filter.names,
                regex=self.state.filter.regex,
                case=self.state.filter.case,
                kinds=self.state.filter.kinds,
            ),
        )
        if self._job is not None:
            self._job.cancel()
            self._job = None
        if query == self._shown:
            return
        capture = self.document.capture

        def work(_progress: Progress, is_cancelled: IsCancelled) -> _Answer:
            rows = rows_of(capture, query, is_cancelled)
            count = len(capture.events) if rows is None else len(rows)
            by_time = count <= SORT_BY_TIME_UP_TO
            order = sorted_order(capture_starts(capture), rows, False) if by_time else None
            return _Answer(query, rows, order, by_time)

        job = Job(work, self)
        self._job = job
        job.succeeded.connect(self._show)
        job.failed.connect(self._failed)
        job.launch()

    def _show(self, answer: _Answer) -> None:
        self._job = None
        capture = self.document.capture
        kind_changed = self._shown is None or self._shown.kind != answer.query.kind
        self._shown = answer.query
        columns = event_columns(capture, answer.query.kind, self.state.origin_ns, self.theme)
        count = len(capture.events) if answer.items is None else len(answer.items)
        model = self.table.model_
        keeps_sorting = model.sort_column > 0 and not kind_changed
        self.table.set_content(
            TableContent(columns, len(capture.events), answer.items), None if keeps_sorting else answer.order
        )
        if not keeps_sorting:
            self.table.show_sorted(0 if answer.by_time else -1, False)
        self._say_order()
        events = tr_n("{text} event", "{text} events", count, text=f"{count:,}")
        if answer.query.range_ns is None:
            self.set_scope(tr("{events} in the whole capture", events=events))
        else:
            low, high = answer.query.range_ns
            length = format_duration(high - low)
            self.set_scope(tr("{events} in the selected range · {length}", events=events, length=length))
        self._show_selection()

    def _failed(self, error: Exception) -> None:
        self._job = None
        self.note.setText(tr("The events could not be collected: {error}", error=error))

    def _say_order(self) -> None:
        in_file_order = self.table.model_.sort_column < 0 and self.table.model_.rowCount() > 0
        self.note.setText(tr("ordered by track; click a header to sort") if in_file_order else "")

    def _chosen(self, row: int) -> None:
        self.state.select(row)

    def _show_selection(self, *_values: object) -> None:
        if self.isVisible():
            self.table.show_item(self.state.selection)

    def _origin_changed(self, *_values: object) -> None:
        self._shown = None
        self.mark_stale()

    def apply_theme(self, theme: Theme) -> None:
        """Colours of kinds are made from the theme."""
        self._shown = None
        self.mark_stale()
