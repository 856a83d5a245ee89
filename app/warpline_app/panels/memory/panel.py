"""Memory over time per device, its peak, and which events allocated and released how much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from PySide6.QtWidgets import QComboBox, QWidget

from warpline.analysis.framework.options import Options
from warpline.analysis.framework.registry import compute_report
from warpline.analysis.framework.report import NO_NAME, NotRecorded, Report, Table, Targets, sort_table
from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.structure.memory_events import MemoryEvents, memory_events
from warpline.i18n import tr, tr_n, translated
from warpline.model.progress import IsCancelled
from warpline.model.sizes import format_bytes
from warpline.model.times import format_time
from warpline.storage import Capture
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.theme import Theme
from warpline_app.open.document import Document
from warpline_app.panels.charts.chart import Chart, size_unit, time_axis
from warpline_app.panels.frame.computed import ComputedPanel
from warpline_app.panels.frame.room import LEAST_TABLE_PX, SideBySide
from warpline_app.panels.frame.scope import not_recorded_text, scope_suffix, selection_of
from warpline_app.panels.table.report_table import ReportTable
from warpline_app.panels.table.row_actions import RowActions

MAX_POINTS = 600
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class MemoryCurve:
    """A total after each event: ``times`` in ns since the capture's start, ``values`` in bytes; thinned."""

    times: FloatArray
    values: FloatArray

    @property
    def peak(self) -> tuple[float, float]:
        """(time, bytes) of the highest value."""
        place = int(np.argmax(self.values))
        return float(self.times[place]), float(self.values[place])


@dataclass(frozen=True)
class DeviceMemory:
    """One device in the selected range: recorded totals, and allocations by name.

    Without recorded totals, ``net`` is bytes allocated minus released since the range's start.
    """

    title: str
    allocated: MemoryCurve | None
    reserved: MemoryCurve | None
    net: MemoryCurve | None
    table: Table


@dataclass(frozen=True)
class Answer:
    """Memory of a selection; ``devices`` by string id, the busiest first; None if nothing was recorded.

    ``lifetimes`` is computed when it is wanted.
    """

    events: MemoryEvents | None
    devices: Mapping[int, DeviceMemory]
    report: Report
    lifetimes: Report | None = None


@dataclass(frozen=True)
class Request:
    """The selection, and whether lifetimes are wanted."""

    selection: Selection
    with_lifetimes: bool


class MemoryPanel(ComputedPanel):
    """A curve of allocated and reserved memory beside a table of allocations by event, or of lifetimes by address."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self.device = QComboBox()
        self.device.setAccessibleName(tr("Device"))
        self.device.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.device.currentIndexChanged.connect(self._draw)
        self.listed = QComboBox()
        self.listed.setAccessibleName(tr("Rows of the table"))
        self.listed.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.listed.addItems([tr("By event"), tr("Lifetimes")])
        self.listed.currentIndexChanged.connect(self.mark_stale)
        self.facts = ElidedLabel()
        self.facts.setObjectName("muted")
        self.chart = Chart(self.theme, document.messages)
        self.chart.export_name = f"{document.path.stem}-memory"
        self.chart.clicked.connect(self._clicked)
        self.chart.hovered.connect(lambda x, _y: self.state.set_cursor(document.capture.span[0] + round(x)))
        self.table = ReportTable(RowActions(self))
        self.table.export_name = f"{document.path.stem}-memory"
        split = SideBySide(self.chart, self.table, shares=(480, 520), least_px=(240, LEAST_TABLE_PX))
        self.arrange((self.device, self.listed, self.facts), split)
        self._answer: Answer | None = None
        self.state.range_selection_changed.connect(self.range_moved)
        self.state.filter_changed.connect(self.mark_stale)
        self.state.origin_changed.connect(self._draw)
        self.state.track_selection_changed.connect(self.mark_stale)

    def request(self) -> Request:
        """The selected range and tracks, and which table is wanted."""
        return Request(selection_of(self.document.capture, self.state), self.listed.currentIndex() == 1)

    def compute(self, request: Request, is_cancelled: IsCancelled) -> Answer:
        """Compute events, curves and tables."""
        capture = self.document.capture
        report = compute_report(capture, "memory", request.selection, Options(), is_cancelled)
        if report.table is None:
            return Answer(None, {}, report)
        events = memory_events(View(capture, request.selection))
        lifetimes = None
        if request.with_lifetimes:
            lifetimes = compute_report(
                capture, "memory_lifetimes", request.selection, Options(), is_cancelled
            )
        return Answer(events, devices_of(capture, events, report.table), report, lifetimes)

    def show_result(self, request: Request, answer: Answer) -> None:
        """Fill curve and table."""
        self._answer = answer
        for widget in (self.device, self.listed, self.facts):
            widget.setVisible(answer.events is not None)
        if answer.events is None:
            assert isinstance(answer.report.result, NotRecorded)
            self.say_missing(answer.report.result)
            return
        self.show_content()
        titles = [(memory.title, device) for device, memory in answer.devices.items()]
        if titles != [(self.device.itemText(i), self.device.itemData(i)) for i in range(self.device.count())]:
            chosen = self.device.currentData()
            self.device.blockSignals(True)
            self.device.clear()
            for title, device in titles:
                self.device.addItem(title, device)
            self.device.setCurrentIndex(max(self.device.findData(chosen), 0))
            self.device.blockSignals(False)
        assert answer.report.table is not None
        count = len(answer.events.row)
        events = tr_n("{count:,} event", "{count:,} events", count)
        scope = translated(answer.report.table.scope)
        self.set_scope(f"{scope} · {events}{scope_suffix(self.document.capture, self.state)}")
        self._draw()

    def _draw(self, *_values: object) -> None:
        answer = self._answer
        if answer is None or answer.events is None:
            return
        memory = answer.devices.get(self.device.currentData())
        if memory is None:
            self.chart.clear()
            self.facts.setText(tr("no allocations in this range"))
            return
        table, note = self._table_of(answer, memory)
        self.table.show_report(table, self.document.capture, self.theme)
        curves = [
            (tr("reserved"), memory.reserved, "neutral", False),
            (tr("allocated"), memory.allocated, "memory", True),
            (tr("net allocation since the start of the range"), memory.net, "memory", True),
        ]
        recorded = [
            (title, curve, color, filled) for title, curve, color, filled in curves if curve is not None
        ]
        peaks = [curve.peak for _, curve, _, _ in recorded]
        unit, scale = size_unit(max((value for _, value in peaks), default=0.0))
        self.chart.y_axis.text = lambda value: f"{value:g} {unit}"
        self.chart.begin()
        parts = []
        first, last = answer.report.range_ns
        fine = max((last - first) // 200, 1)
        since = self.state.origin_ns - self.document.capture.span[0]
        for (title, curve, color, filled), (at, peak) in zip(recorded, peaks, strict=True):
            self.chart.line(curve.times, curve.values / scale, self.theme.family(color), filled=filled)
            when = format_time(round(at) - since, fine)
            parts.append(
                tr(
                    "{what}: peak {peak} at {time}",
                    what=title,
                    peak=format_bytes(peak, 3, exact_below=1024),
                    time=when,
                )
            )
        if recorded:
            self.chart.marker(peaks[-1][0], self.theme.hex("muted"), tr("peak"), thin=True)
        self.chart.end()
        time_axis(self.chart, first, last, since)
        highest = max((value for _, value in peaks), default=0.0)
        lowest = min((float(curve.values.min()) for _, curve, _, _ in recorded), default=0.0)
        self.chart.show_range(
            (first, max(last, first + 1)), (min(lowest, 0.0) / scale * 1.08, highest / scale * 1.08 or 1.0)
        )
        if memory.net is not None:
            parts.append(tr("totals not recorded"))
        parts += note
        self.facts.setText(" · ".join(parts))

    def _table_of(self, answer: Answer, memory: DeviceMemory) -> tuple[Table, list[str]]:
        """The table that is wanted, and why another one is shown."""
        if answer.lifetimes is None:
            return memory.table, []
        if not isinstance(answer.lifetimes.result, Table):
            return memory.table, [not_recorded_text(answer.lifetimes.result)]
        table = answer.lifetimes.result
        devices = table.data["device"]
        here = [row for row, device in enumerate(devices) if device in (memory.title, None)]
        return table.take(np.array(here, np.int64)), []

    def _clicked(self, x: float, _y: float) -> None:
        """Show the memory event closest to the click."""
        if self._answer is None or self._answer.events is None:
            return
        events = self._answer.events
        here = np.flatnonzero(events.device == (self.device.currentData() or 0))
        if len(here):
            moment = self.document.capture.span[0] + round(x)
            nearest = here[int(np.argmin(np.abs(events.time[here] - moment)))]
            self.state.reveal(int(events.row[nearest]))

    def apply_theme(self, theme: Theme) -> None:
        self.chart.set_theme(theme)
        self.forget()


def devices_of(capture: Capture, events: MemoryEvents, table: Table) -> dict[int, DeviceMemory]:
    """Curves and table of each device, the one with most events first."""
    devices, counts = np.unique(events.device, return_counts=True)
    result = {}
    for device in devices[np.argsort(-counts, kind="stable")].tolist():
        here = np.flatnonzero(events.device == device)
        name = capture.strings[device] or None
        rows = [row for row in range(len(table)) if table.value(row, "device") == name]
        times = (events.time[here] - capture.span[0]).astype(np.float64)
        allocated = curve_of(times, events.allocated[here])
        reserved = curve_of(times, events.total_reserved[here])
        result[device] = DeviceMemory(
            name or tr("Memory"),
            allocated,
            reserved,
            None if allocated or reserved else net_curve(times, events, here),
            _of_device(capture, table.take(np.array(rows, np.int64))),
        )
    return result


def curve_of(times: FloatArray, totals: npt.NDArray[np.int64]) -> MemoryCurve | None:
    """A total over time; None if not recorded."""
    recorded = ~np.ma.getmaskarray(totals)
    if not recorded.any():
        return None
    return MemoryCurve(*thinned(times[recorded], np.ma.getdata(totals)[recorded].astype(np.float64)))


def net_curve(times: FloatArray, events: MemoryEvents, rows: npt.NDArray[np.int64]) -> MemoryCurve:
    """Bytes allocated minus released since the first of these events; ``times`` are theirs."""
    signed = np.where(events.is_release[rows], -events.bytes[rows], events.bytes[rows])
    return MemoryCurve(*thinned(times, np.cumsum(signed).astype(np.float64)))


def _of_device(capture: Capture, table: Table) -> Table:
    """The table of one device, largest allocations first, without the device column; rows link to their names."""
    columns = tuple(
        c for c in table.columns if c.name != "device" and (c.name != "type" or _varies(table, "type"))
    )
    names = [capture.strings.id(str(table.value(row, "name"))) for row in range(len(table))]
    ids = np.array([int(NO_NAME) if name is None else name for name in names], np.uint32)
    narrowed = replace(
        table, columns=columns, data={c.name: table.data[c.name] for c in columns}, targets=Targets(names=ids)
    )
    return sort_table(narrowed, "allocation_bytes", True)


def _varies(table: Table, column: str) -> bool:
    return len({table.value(row, column) for row in range(len(table))}) > 1


def thinned(times: FloatArray, values: FloatArray, limit: int = MAX_POINTS) -> tuple[FloatArray, FloatArray]:
    """At most about ``limit`` points that keep the extremes of every part, in time order."""
    if len(times) <= limit:
        return times, values
    edges = np.linspace(0, len(times), limit // 2 + 1).astype(np.int64)
    picked = []
    for first, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        part = values[first:stop]
        picked += sorted({first + int(part.argmin()), first + int(part.argmax())})
    index = np.array(picked, np.int64)
    return times[index], values[index]
