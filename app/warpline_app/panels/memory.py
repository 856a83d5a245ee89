"""Memory over time per device, the largest allocations, and which events made them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QSplitter, QVBoxLayout, QWidget

from warpline.analysis.options import Options
from warpline.analysis.paddle_memory import MemoryEvents, memory_events
from warpline.analysis.registry import compute_report
from warpline.analysis.report import NotRecorded, Report, Table
from warpline.analysis.selection import Selection, View
from warpline.i18n import tr
from warpline.model.times import format_time
from warpline_app.background import IsCancelled
from warpline_app.panels.chart import Chart, size_unit
from warpline_app.panels.computed import ComputedPanel
from warpline_app.panels.report_table import ReportTable
from warpline_app.panels.scope import not_recorded_text, selection_of
from warpline_app.state import Document
from warpline_app.theme import Theme

MAX_POINTS = 4_000


@dataclass(frozen=True)
class Request:
    """About what."""

    selection: Selection


@dataclass(frozen=True)
class Answer:
    """The events of the range, the table of who made them, and the range in ns since the capture began."""

    events: MemoryEvents | None
    report: Report
    range_ns: tuple[int, int]


class MemoryPanel(ComputedPanel):
    """A curve of what is allocated and reserved beside a table of who allocates."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self.device = QComboBox()
        self.device.setAccessibleName(tr("Device"))
        self.device.currentIndexChanged.connect(self._draw)
        self.facts = QLabel()
        self.facts.setObjectName("muted")
        row = QHBoxLayout()
        row.setContentsMargins(10, 5, 10, 3)
        row.setSpacing(10)
        row.addWidget(self.device)
        row.addWidget(self.facts, 1)
        self.chart = Chart(self.theme)
        self.chart.export_name = f"{document.path.stem}-memory"
        self.chart.clicked.connect(self._clicked)
        self.table = ReportTable()
        self.table.export_name = f"{document.path.stem}-memory"
        self.missing = QLabel()
        self.missing.setObjectName("muted")
        self.missing.setWordWrap(True)
        self.missing.setMargin(16)
        self.missing.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.missing.hide()
        self.split = QSplitter(Qt.Orientation.Horizontal)
        self.split.addWidget(self.chart)
        self.split.addWidget(self.table)
        self.split.setSizes([500, 500])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(row)
        layout.addWidget(self.split, 1)
        layout.addWidget(self.missing, 1)
        self._events: MemoryEvents | None = None
        self._table: Table | None = None
        self._range_ns = (0, 0)
        self.state.range_selection_changed.connect(self.range_moved)
        self.state.filter_changed.connect(self.mark_stale)

    def request(self) -> Request:
        """The selected range and tracks."""
        return Request(selection_of(self.document.capture, self.state))

    def compute(self, request: Request, is_cancelled: IsCancelled) -> Answer:
        """Events and table."""
        report = compute_report(self.document.capture, "memory", request.selection, Options())
        view = View(self.document.capture, request.selection)
        events = memory_events(view) if report.table is not None else None
        return Answer(events, report, report.range_ns)

    def show_result(self, request: Request, answer: Answer) -> None:
        """Fill curve and table."""
        table = answer.report.table
        self._events, self._table, self._range_ns = answer.events, table, answer.range_ns
        for widget in (self.split, self.device, self.facts):
            widget.setVisible(table is not None)
        self.missing.setVisible(table is None)
        if table is None or answer.events is None:
            result = answer.report.result
            assert isinstance(result, NotRecorded)
            self.missing.setText(not_recorded_text(result))
            self.set_scope("")
            return
        chosen = self.device.currentData()
        self.device.blockSignals(True)
        self.device.clear()
        devices, counts = np.unique(answer.events.device, return_counts=True)
        for device in devices[np.argsort(-counts)].tolist():
            self.device.addItem(self.document.capture.strings[device] or tr("Memory"), device)
        if chosen is not None and self.device.findData(chosen) >= 0:
            self.device.setCurrentIndex(self.device.findData(chosen))
        self.device.blockSignals(False)
        self.set_scope(table.scope + f" · {len(answer.events.row):,}")
        self._draw()

    def show_failure(self, error: Exception) -> None:
        """Say why there is nothing."""
        self.split.hide()
        self.missing.setText(str(error))
        self.missing.show()

    def _draw(self, *_values: object) -> None:
        events, table = self._events, self._table
        if events is None or table is None:
            return
        device = self.device.currentData() or 0
        title = self.document.capture.strings[device] or None
        of_device = [row for row in range(len(table)) if table.value(row, "device") == title]
        self.table.show_report(table.take(np.array(of_device, np.int64)), self.document.capture, self.theme)
        self.chart.clear()
        here = np.flatnonzero(events.device == device)
        if not len(here):
            self.facts.setText(tr("nothing was allocated in this range"))
            return
        origin = self.document.capture.span[0]
        times = (events.time[here] - origin).astype(np.float64)
        parts = []
        totals = [values[here] for values in (events.total_reserved, events.allocated)]
        peaks = [float(np.ma.max(v)) for v in totals if not np.ma.getmaskarray(v).all()]
        unit, scale = size_unit(max(peaks, default=0.0))
        self.chart.y_axis.text = lambda value: f"{value:g} {unit}"
        highest = 0.0
        for title, values, color, filled in (
            (tr("reserved"), events.total_reserved[here], "neutral", False),
            (tr("allocated"), events.allocated[here], "memory", True),
        ):
            known = ~np.ma.getmaskarray(values)
            if not known.any():
                continue
            at, level = thinned(times[known], np.ma.getdata(values)[known].astype(np.float64))
            self.chart.line(at, level / scale, self.theme.family(color), filled=filled)
            peak = float(level.max())
            highest = max(highest, peak)
            parts.append(tr("{what}: peak {peak}", what=title, peak=bytes_text(peak)))
        first, last = self._range_ns
        length = last - first
        self.chart.x_axis.text = lambda value: format_time(round(value), max(length // 200, 1))
        self.chart.setYRange(0, highest / scale * 1.08 or 1.0, padding=0)
        self.chart.setXRange(float(first), float(max(last, first + 1)), padding=0.01)
        self.facts.setText(" · ".join(parts))

    def _clicked(self, x: float, _y: float) -> None:
        """Go to the memory event nearest to the click."""
        if self._events is None:
            return
        here = np.flatnonzero(self._events.device == (self.device.currentData() or 0))
        if len(here):
            moment = self.document.capture.span[0] + round(x)
            nearest = here[int(np.argmin(np.abs(self._events.time[here] - moment)))]
            self.state.reveal(int(self._events.row[nearest]))

    def apply_theme(self, theme: Theme) -> None:
        """Colours are part of the curves."""
        self.chart.set_theme(theme)
        self.forget()


def thinned(times: np.ndarray, values: np.ndarray, limit: int = MAX_POINTS) -> tuple[np.ndarray, np.ndarray]:
    """At most about ``limit`` points that keep every part's lowest and highest value, in the order of time."""
    if len(times) <= limit:
        return times, values
    heads = np.linspace(0, len(times), limit // 2 + 1).astype(np.int64)[:-1]
    edges = np.append(heads, len(times))
    picked = []
    for first, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        part = values[first:stop]
        picked += sorted({first + int(part.argmin()), first + int(part.argmax())})
    index = np.array(picked, np.int64)
    return times[index], values[index]


def bytes_text(value: float) -> str:
    """A size with a unit that fits."""
    for name, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if abs(value) >= scale:
            return f"{value / scale:.3g} {name}"
    return f"{value:.0f} B"
