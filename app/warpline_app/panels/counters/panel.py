"""Counters and utilization of GPUs and cores over the visible or selected time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from warpline.i18n import tr, translated
from warpline.model.progress import IsCancelled
from warpline.model.sizes import format_bytes
from warpline.model.times import format_duration
from warpline.storage import Capture
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.plain import plain
from warpline_app.look.theme import Theme
from warpline_app.open.document import Document
from warpline_app.panels.charts.chart import Chart, size_unit, time_axis
from warpline_app.panels.frame.computed import ComputedPanel
from warpline_app.panels.frame.room import SideBySide
from warpline_app.timeline.model.core_load import counter_title, is_system_load

BINS = 400
_NARROWEST_LIST, _WIDEST_LIST = 150, 340
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CountersRequest:
    """A series and a time range. ``series`` is a counter's index, or −1 − index of a GPU or core."""

    series: int
    start_ns: int
    stop_ns: int


@dataclass(frozen=True)
class CounterCurve:
    """Minimum, maximum and mean per bin; NaN if nothing was recorded."""

    times: FloatArray
    low: FloatArray
    high: FloatArray
    mean: FloatArray


def busy_share(
    capture: Capture, track: int, kinds: Iterable[str], start_ns: int, stop_ns: int, bins: int
) -> FloatArray:
    """Exact busy share 0–1 of a GPU or core in equal parts of a range: the union of events of these kinds."""
    from warpline.analysis.framework.selected.selected_events import join_events
    from warpline.analysis.framework.selection import Selection, View
    from warpline.analysis.structure.overlap import covered_ns
    from warpline.model.intervals import merge_intervals

    view = View(capture, Selection(start_ns, stop_ns, tracks=frozenset([track])))
    events = join_events([view.events(kind) for kind in kinds if kind in capture.kinds])
    edges = start_ns + (np.arange(bins + 1) * ((stop_ns - start_ns) / bins)).astype(np.int64)
    edges[-1] = stop_ns
    merged = merge_intervals(events.start, events.stop)
    return covered_ns(merged, edges[:-1], edges[1:]) / np.maximum(np.diff(edges), 1)


class CountersPanel(ComputedPanel):
    """Shows one curve, selected at the left, over the selected range or else the visible one."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        capture = document.capture
        self.series = QListWidget()
        self.series.setObjectName("panelList")
        self.series.setAccessibleName(tr("Counters"))
        self.series.setTextElideMode(Qt.TextElideMode.ElideRight)
        self._busy = [track for track in capture.tracks if track.role in _busy_kinds(capture)]
        self._fill()
        self.series.currentRowChanged.connect(self.mark_stale)
        self.facts = ElidedLabel()
        self.facts.setObjectName("muted")
        self.chart = Chart(self.theme, document.messages)
        self.chart.export_name = f"{document.path.stem}-counter"
        self.chart.hovered.connect(self._hovered)
        self.chart.clicked.connect(self._clicked)
        right = QWidget()
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 6, 8, 2)
        column.setSpacing(2)
        self.facts.setContentsMargins(12, 0, 12, 0)
        column.addWidget(self.facts)
        column.addWidget(self.chart, 1)
        list_px = min(max(self.series.sizeHintForColumn(0) + 28, _NARROWEST_LIST), _WIDEST_LIST)
        split = SideBySide(
            self.series, right, shares=(list_px, 1000 - list_px), least_px=(120, 300), stacked=(1, 3)
        )
        self.arrange((), split)
        if not self.series.count():
            self.say_missing(
                tr(
                    "No counters recorded. Record with --trace nvml or --trace cpu to see utilization and memory."
                )
            )
        self.state.range_selection_changed.connect(self.range_moved)
        self.state.view_changed.connect(self.mark_stale)
        self.state.origin_changed.connect(self.forget)

    def _fill(self) -> None:
        """List the series under their owners' names."""
        capture = self.document.capture
        groups: dict[str, list[tuple[int, str, int]]] = {}
        for number, track in enumerate(self._busy):
            title = translated(track.title) or track.uri
            if track.role == "core":
                cores = translated(capture.tracks[track.parent].title) if track.parent >= 0 else tr("Machine")
                text = tr("{core}: recorded program", core=title)
                groups.setdefault(cores, []).append((track.index, text, -1 - number))
            else:
                groups.setdefault(title, []).append((track.index, tr("Utilization"), -1 - number))
        for counter in capture.counters:
            track = capture.tracks[counter.track]
            title = translated(capture.tracks[track.parent].title) if track.parent >= 0 else tr("Machine")
            text = counter_title(capture, counter)
            if is_system_load(capture, counter):
                text = tr("{core}: whole system", core=translated(track.title) or track.uri)
            groups.setdefault(title, []).append((track.index, text, counter.index))
        for title, series in groups.items():
            head = QListWidgetItem(title)
            head.setFlags(Qt.ItemFlag.NoItemFlags)
            head.setToolTip(plain(title))
            self.series.addItem(head)
            # Show a core's use by the program next to its total use.
            for _track, text, index in sorted(series, key=itemgetter(0)):
                item = QListWidgetItem(f"   {text}")
                item.setToolTip(plain(f"{title} · {text}"))
                item.setData(Qt.ItemDataRole.UserRole, index)
                self.series.addItem(item)
        self.series.setCurrentRow(min(1, self.series.count() - 1))

    def request(self) -> CountersRequest | None:
        """The selected series over the selected range, else the visible one."""
        if self.series.currentRow() < 0:
            return None
        item = self.series.currentItem()
        if item.data(Qt.ItemDataRole.UserRole) is None:
            return None
        start, stop = self.state.range_selection or self.state.view
        return CountersRequest(item.data(Qt.ItemDataRole.UserRole), start, stop)

    def compute(self, request: CountersRequest, is_cancelled: IsCancelled) -> CounterCurve:
        """Compute the values per bin."""
        capture = self.document.capture
        bins = min(BINS, max(request.stop_ns - request.start_ns, 1))
        width = (request.stop_ns - request.start_ns) / bins
        middles = (np.arange(bins) + 0.5) * width + float(request.start_ns - capture.span[0])
        times: FloatArray = middles.astype(np.float64)
        if request.series < 0:
            busy = self._busy[-1 - request.series]
            kinds = _busy_kinds(capture)[busy.role]
            share = busy_share(capture, busy.index, kinds, request.start_ns, request.stop_ns, bins)
            return CounterCurve(times, share, share, share)
        counter = capture.counters[request.series]
        low, high, mean = counter.query(request.start_ns, request.stop_ns, bins)
        if counter.interpolation == "step":
            low, high, mean = (
                _forward_filled(values, counter.value_at(request.start_ns)) for values in (low, high, mean)
            )
        return CounterCurve(times, low, high, mean)

    def show_result(self, request: CountersRequest, curve: CounterCurve) -> None:
        """Draw the curve."""
        self.chart.begin()
        self._draw(request, curve)
        self.chart.end()

    def _draw(self, request: CountersRequest, curve: CounterCurve) -> None:
        scale = 1.0
        if request.series >= 0 and self.document.capture.counters[request.series].unit == "bytes":
            # Ticks at round numbers of the displayed unit.
            scale = size_unit(float(np.nanmax(np.append(curve.high, 0.0))))[1]
        self.chart.y_axis.text = lambda value: self.value_text(request.series, value * scale)
        length = request.stop_ns - request.start_ns
        origin = self.document.capture.span[0]
        since = self.state.origin_ns - origin
        time_axis(self.chart, request.start_ns - origin, request.stop_ns - origin, since)
        color = self.theme.family("kernel" if request.series < 0 else "memory")
        known = np.isfinite(curve.mean)
        if not known.any():
            self.facts.setText(tr("nothing recorded in this range"))
            self.set_scope("")
            return
        self.chart.line(curve.times, curve.mean / scale, color, filled=True)
        if not np.array_equal(curve.low[known], curve.high[known]):
            for values in (curve.low, curve.high):
                self.chart.line(curve.times, values / scale, self.theme.hex("muted"))
        highest = float(np.nanmax(curve.high))
        top = 1.0 if request.series < 0 else highest * 1.08 or 1.0
        lowest = min(0.0, float(np.nanmin(curve.low)))
        margin = (top - lowest) * 0.02
        self.chart.show_range(
            (float(curve.times[0]), float(curve.times[-1])),
            ((lowest - margin) / scale, (top + margin) / scale),
        )
        self.facts.setText(
            tr(
                "mean {mean} · highest {high} · lowest {low}",
                mean=self.value_text(request.series, float(np.nanmean(curve.mean))),
                high=self.value_text(request.series, highest),
                low=self.value_text(request.series, float(np.nanmin(curve.low))),
            )
        )
        where = tr("selected range") if self.state.range_selection else tr("visible range")
        self.set_scope(f"{where} · {format_duration(length)}")

    def value_text(self, series: int, value: float) -> str:
        """A value with its unit."""
        if series < 0:
            return f"{value:.0%}"
        unit = self.document.capture.counters[series].unit
        if unit == "bytes":
            return format_bytes(value, exact_below=1024)
        if unit == "ratio":
            return f"{value:.0%}"
        return f"{value:.4g} {translated(unit)}".strip()

    def _hovered(self, x: float, _y: float) -> None:
        self.state.set_cursor(self.document.capture.span[0] + round(x))

    def _clicked(self, x: float, _y: float) -> None:
        """Centre the timeline on the clicked moment if it is out of view."""
        start, stop = self.state.view
        moment = self.document.capture.span[0] + round(x)
        if not start <= moment < stop:
            self.state.set_view(moment - (stop - start) // 2, moment + (stop - start) // 2)

    def apply_theme(self, theme: Theme) -> None:
        self.chart.set_theme(theme)
        self.forget()


def _busy_kinds(capture: Capture) -> dict[str, tuple[str, ...]]:
    """Event kinds that make tracks of a role busy, among those recorded."""
    from warpline.analysis.framework.selection import GPU_KINDS

    known = {"gpu": tuple(GPU_KINDS), "core": ("cpu_slice",)}
    return {role: kinds for role, kinds in known.items() if role == "gpu" or "cpu_slice" in capture.kinds}


def _forward_filled(values: FloatArray, before: float | None) -> FloatArray:
    """Fill empty bins with the previous value: a step lasts until the next sample."""
    filled = values.copy()
    known = np.isfinite(filled)
    if before is not None and len(filled) and not known[0]:
        filled[0] = before
        known[0] = True
    place = np.maximum.accumulate(np.where(known, np.arange(len(filled)), -1))
    is_filled = place >= 0
    filled[is_filled] = filled[place[is_filled]]
    return filled
