"""The roofline: operators of a GPU by arithmetic intensity and rate, below the limits of its data sheet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLabel, QWidget

from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.hardware.devices import DeviceModel, device_of
from warpline.analysis.hardware.kernel_work import NO_SHAPES, KernelWork, OperatorGroup, kernel_work
from warpline.analysis.hardware.limits import Assessment, Limit, judge, peak_of
from warpline.analysis.structure.gpus import gpus
from warpline.i18n import tr, translated
from warpline.model.progress import IsCancelled
from warpline.model.times import format_duration
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.plain import plain
from warpline_app.look.theme import Theme
from warpline_app.open.document import Document
from warpline_app.panels.charts.chart import Chart, log_ticks
from warpline_app.panels.frame.computed import ComputedPanel
from warpline_app.panels.frame.scope import scope_suffix, selection_of
from warpline_app.state.lit import Lit

FloatArray = npt.NDArray[np.float64]
_LOOKS: Mapping[Limit, tuple[str, str, str]] = {
    Limit.COMPUTE: ("kernel", "o", "●"),
    Limit.MEMORY: ("copy_to_device", "s", "■"),
    Limit.LATENCY: ("overhead", "t1", "▲"),
}
"""Colour family, symbol in the chart and in the legend; shapes tell them apart without colour."""
_LEAST_PX, _MOST_PX = 7.0, 26.0
_NEAR_PX = 16.0
_LABEL_AT = 0.6
"""Where along the rising line its label stands."""
_LEAST_SHARE = 0.0005
"""Operators with a smaller share of the kernel time are not drawn."""


@dataclass(frozen=True, eq=False)
class GpuRoofline:
    """One GPU: title, work, model (None with a reason), and the drawn groups with how each compares."""

    title: str
    work: KernelWork
    model: DeviceModel | None
    reason: str
    groups: tuple[int, ...]
    assessments: tuple[Assessment, ...]


class RooflinePanel(ComputedPanel):
    """A point for each operator and shape. A click highlights its kernels in the timeline."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self.device = QComboBox()
        self.device.setAccessibleName(tr("GPU"))
        self.device.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.device.currentIndexChanged.connect(self._draw)
        self.legend = QLabel()
        self.legend.setTextFormat(Qt.TextFormat.RichText)
        self.legend.setWordWrap(True)
        self.facts = ElidedLabel()
        self.chart = Chart(self.theme, document.messages)
        self.chart.export_name = f"{document.path.stem}-roofline"
        self.chart.clicked.connect(self._clicked)
        self.chart.hovered.connect(self._hovered)
        self.arrange((self.device, self.legend, self.facts), self.chart, self.facts)
        self.rooflines: tuple[GpuRoofline, ...] = ()
        self._chosen = -1
        self.state.range_selection_changed.connect(self.range_moved)
        self.state.track_selection_changed.connect(self.mark_stale)

    def request(self) -> Selection:
        """The selected range and tracks."""
        return selection_of(self.document.capture, self.state)

    def compute(self, request: Selection, is_cancelled: IsCancelled) -> tuple[GpuRoofline, ...]:
        """Compute the work of each GPU and compare it with its model."""
        capture = self.document.capture
        view = View(capture, request, is_cancelled)
        result = []
        for gpu in gpus(view):
            work = kernel_work(view, gpu)
            model, reason = device_of(capture, gpu.device, gpu.rank)
            drawn = tuple(
                number
                for number, group in enumerate(work.groups)
                if group.flops > 0 and group.time_ns >= _LEAST_SHARE * work.time_ns
            )
            assessments = tuple(judge(model, work.groups[number]) for number in drawn) if model else ()
            result.append(GpuRoofline(gpu.title, work, model, reason, drawn, assessments))
        return tuple(roofline for roofline in result if roofline.work.groups)

    def show_result(self, request: Selection, result: tuple[GpuRoofline, ...]) -> None:
        """Fill the list of GPUs and draw."""
        self.rooflines = result
        self._chosen = -1
        if not result:
            self.say_missing(NO_SHAPES)
            return
        self.show_content()
        titles = [translated(roofline.title) for roofline in result]
        if titles != [self.device.itemText(place) for place in range(self.device.count())]:
            self.device.blockSignals(True)
            self.device.clear()
            self.device.addItems(titles)
            self.device.blockSignals(False)
        self.device.setVisible(len(result) > 1)
        self._draw()

    @property
    def roofline(self) -> GpuRoofline | None:
        """The GPU that is shown."""
        place = max(self.device.currentIndex(), 0)
        return self.rooflines[place] if place < len(self.rooflines) else None

    def points(self, roofline: GpuRoofline) -> tuple[FloatArray, FloatArray]:
        """Base-10 logarithms of FLOPs per byte and FLOPs per second of the drawn groups."""
        groups = [roofline.work.groups[number] for number in roofline.groups]
        intensity = np.array([group.flops / max(group.bytes, 1.0) for group in groups])
        rate = np.array([group.flops / max(group.time_ns, 1) * 1e9 for group in groups])
        return np.log10(np.maximum(intensity, 1e-6)), np.log10(np.maximum(rate, 1.0))

    def _draw(self, *_values: object) -> None:
        roofline = self.roofline
        if roofline is None:
            return
        x, y = self.points(roofline)
        known = 100 * roofline.work.known_ns / max(roofline.work.time_ns, 1)
        scope = tr("the work of {percent:.0f} % of the kernel time is known", percent=known)
        self.set_scope(scope + scope_suffix(self.document.capture, self.state))
        self.chart.begin()
        roofs = self._roofs(roofline)
        low, high = self._limits(x, roofline, roofs)
        self._draw_roofs(roofline, roofs, low, high)
        self._draw_points(roofline, x, y)
        bottom = math.floor(float(y.min(initial=9.0)))
        top = max([*(math.log10(peak) for peak in roofs.values()), float(y.max(initial=9.0))]) + 0.7
        self.chart.x_axis.ticks = self.chart.y_axis.ticks = log_ticks
        self.chart.x_axis.text = lambda value: tr("{number} FLOP/B", number=_number(10**value))
        self.chart.y_axis.text = lambda value: _rate(10**value)
        self.chart.label(low, top, tr("FLOP/s"), self.theme.hex("muted"))
        self.chart.end()
        self.chart.show_range((low, high), (bottom, top))
        self.legend.setText(self._legend(roofline))
        self._say(self._chosen)

    def _roofs(self, roofline: GpuRoofline) -> dict[str, float]:
        """The peaks that the drawn groups could reach, FLOP/s by precision."""
        if roofline.model is None:
            return {}
        roofs: dict[str, float] = {}
        for number in roofline.groups:
            group = roofline.work.groups[number]
            peak = peak_of(roofline.model, group)
            if peak is not None:
                roofs.setdefault(group.precision if group.work.is_matrix else "fp32", peak)
        return roofs

    def _limits(self, x: FloatArray, roofline: GpuRoofline, roofs: dict[str, float]) -> tuple[float, float]:
        low, high = float(x.min(initial=0.0)), float(x.max(initial=2.0))
        if roofline.model is not None and roofs:
            high = max(high, math.log10(max(roofs.values()) / roofline.model.bytes_per_second) + 0.5)
        return math.floor(low * 2) / 2 - 0.1, math.ceil(high * 2) / 2 + 0.1

    def _draw_roofs(self, roofline: GpuRoofline, roofs: dict[str, float], low: float, high: float) -> None:
        if roofline.model is None or not roofs:
            return
        color, bandwidth = self.theme.hex("muted"), math.log10(roofline.model.bytes_per_second)
        top = math.log10(max(roofs.values()))
        self.chart.line(np.array([low, top - bandwidth]), np.array([low + bandwidth, top]), color)
        memory = tr("memory: {rate:,.0f} GB/s", rate=roofline.model.memory)
        # To the left of the rising line and above it there is always room.
        place = low + _LABEL_AT * (top - bandwidth - low)
        self.chart.label(place, place + bandwidth, memory, color, above=True, right=True)
        for precision, peak in sorted(roofs.items(), key=lambda roof: -roof[1]):
            level = math.log10(peak)
            self.chart.line(
                np.array([level - bandwidth, high]), np.array([level, level]), color, key=precision
            )
            text = f"{precision.upper()} {peak / 1e12:,.0f} TFLOP/s"
            self.chart.label(high, level, text, color, above=True, right=True)

    def _draw_points(self, roofline: GpuRoofline, x: FloatArray, y: FloatArray) -> None:
        time = np.array([roofline.work.groups[number].time_ns for number in roofline.groups], np.float64)
        size = _LEAST_PX + (_MOST_PX - _LEAST_PX) * np.sqrt(time / max(float(time.max(initial=1.0)), 1.0))
        limits = np.array([self._limit(roofline, place).value for place in range(len(x))])
        for limit, (family, symbol, _) in _LOOKS.items():
            own = np.flatnonzero(limits == limit.value)
            self.chart.dots(x[own], y[own], size[own], self.theme.family(family), symbol)
        if 0 <= self._chosen < len(x):
            own = np.array([self._chosen])
            self.chart.dots(x[own], y[own], size[own] + 7, self.theme.hex("selection"), "o", is_outline=True)

    def _limit(self, roofline: GpuRoofline, place: int) -> Limit:
        limit = roofline.assessments[place].limit if roofline.assessments else Limit.LATENCY
        return limit if limit in _LOOKS else Limit.LATENCY

    def _legend(self, roofline: GpuRoofline) -> str:
        if roofline.model is None:
            return escape(tr("not judged: {reason}", reason=translated(roofline.reason)))
        texts = {
            Limit.COMPUTE: tr("computation"),
            Limit.MEMORY: tr("memory"),
            Limit.LATENCY: tr("below half of both"),
        }
        return " &nbsp; ".join(
            f'<span style="color:{self.theme.family(family)}">{sign}</span> {texts[limit]}'
            for limit, (family, _, sign) in _LOOKS.items()
        )

    def about(self, place: int) -> str:
        """The facts of a drawn group."""
        roofline = self.roofline
        if roofline is None or not 0 <= place < len(roofline.groups):
            return ""
        group = roofline.work.groups[roofline.groups[place]]
        parts = [
            self._name(group),
            tr("{time} in {calls:,} calls", time=format_duration(group.time_ns), calls=group.calls),
            f"{group.flops / max(group.time_ns, 1) / 1e3:,.2f} TFLOP/s",
            tr("{number} FLOP/B", number=_number(group.flops / max(group.bytes, 1.0))),
        ]
        if roofline.assessments:
            ratio = roofline.assessments[place].roof_ratio
            parts.insert(1, tr("{percent:.0f} % of its limit", percent=100 * ratio))
        return " · ".join(parts)

    def _name(self, group: OperatorGroup) -> str:
        strings = self.document.capture.strings
        sizes = " × ".join(f"{size:,}" for _, size in group.work.sizes)
        shapes = sizes or "".join(strings[group.shapes].split()).replace(",", ", ")
        return f"{strings[group.name]} {shapes}"

    def _say(self, place: int) -> None:
        text = self.about(place)
        self.facts.setText(
            text or tr("Each point is an operator; its area is its time. Click one to see its kernels.")
        )
        self.facts.setToolTip(plain(text))

    def nearest(self, x: float, y: float) -> int:
        """The place of the drawn group at a position of the chart, −1 for none within reach."""
        roofline = self.roofline
        if roofline is None or not roofline.groups:
            return -1
        xs, ys = self.points(roofline)
        wide, high = self.chart.getPlotItem().getViewBox().viewPixelSize()
        distance = np.hypot((xs - x) / wide, (ys - y) / high)
        best = int(np.argmin(distance))
        return best if distance[best] <= _NEAR_PX else -1

    def _hovered(self, x: float, y: float) -> None:
        place = self.nearest(x, y)
        self._say(place if place >= 0 else self._chosen)

    def _clicked(self, x: float, y: float) -> None:
        """Highlight the kernels of a group in the timeline; a click beside all points removes that."""
        roofline, place = self.roofline, self.nearest(x, y)
        if roofline is None:
            return
        self._chosen = place
        if place < 0:
            self.state.set_lit(None)
        else:
            self.state.set_lit(self._lit(roofline, roofline.groups[place]))
        self._draw()

    def _lit(self, roofline: GpuRoofline, number: int) -> Lit:
        work = roofline.work
        rows, view = work.row[work.group == number], View(self.document.capture)
        start, stop = view.times_of(rows)
        order = np.argsort(start, kind="stable")
        name = self._name(work.groups[number])
        return Lit(
            key=f"roofline|{name}",
            title=name,
            ranges=np.column_stack((start, stop))[order],
            row_of_range=rows[order],
            rows=rows,
            tracks=tuple(np.unique(view.track_of(rows)).tolist()),
        )

    def apply_theme(self, theme: Theme) -> None:
        self.chart.set_theme(theme)
        self.forget()


def _number(value: float) -> str:
    """A number of a logarithmic axis."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _rate(value: float) -> str:
    """A rate at a tick: 10 T for 10 TFLOP/s."""
    for unit, scale in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale * 0.999:
            return f"{_number(value / scale)} {unit}"
    return _number(value)
