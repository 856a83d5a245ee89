"""Steps side by side: what each spent its time on, how busy the GPU was, which fall out of line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QSplitter, QWidget

from warpline.analysis.framework.options import Options
from warpline.analysis.framework.registry import compute_report
from warpline.analysis.framework.report import NotRecorded, Report, Table
from warpline.analysis.framework.selection import Selection
from warpline.analysis.steps.step_breakdown import CATEGORIES, CATEGORY_TITLES
from warpline.i18n import english, tr, tr_n, translated
from warpline.model.progress import IsCancelled
from warpline_app.look.theme import Theme
from warpline_app.panels.charts.chart import Chart, duration_ticks, whole_ticks
from warpline_app.panels.frame.computed import ComputedPanel
from warpline_app.panels.frame.row_target import target_of
from warpline_app.panels.frame.scope import selection_of
from warpline_app.panels.table.report_table import ReportTable
from warpline_app.panels.table.row_actions import RowActions
from warpline_app.session.document import Document

_CATEGORY_COLORS = {
    "kernel": "kernel",
    "memcpy": "copy_to_device",
    "memset": "set",
    "communication": "communication",
    "runtime": "api",
    "dataloader": "phase",
    "cpu_exec": "operator",
    "other": "neutral",
}
_PHASE_COLORS = ("phase", "operator", "communication", "python", "copy_to_device", "range")
_PHASES = (
    ("dataloader_ns", english("Dataloader")),
    ("forward_ns", english("Forward")),
    ("backward_ns", english("Backward")),
    ("optimization_ns", english("Optimization")),
    ("host_to_device_ns", english("Copies to GPU")),
    ("others_ns", english("Others")),
)


@dataclass(frozen=True)
class StepsRequest:
    """Which steps."""

    selection: Selection
    step: str | None


class StepsPanel(ComputedPanel):
    """A stacked chart over a table; a click on a bar or a row selects the step's range."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self.stack = QComboBox()
        self.stack.setAccessibleName(tr("What the bars show"))
        self.stack.addItem(tr("By activity"), "activity")
        self.stack.addItem(tr("By phase"), "phase")
        self.stack.currentIndexChanged.connect(self._draw)
        self.step = QLineEdit()
        self.step.setPlaceholderText(tr("Name of the step, or /regex/ (ProfilerStep)"))
        self.step.setAccessibleName(tr("Name of the step"))
        self.step.setClearButtonEnabled(True)
        self.step.setMinimumWidth(280)
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(250)
        self._typing.timeout.connect(self.mark_stale)
        self.step.textChanged.connect(self._typing.start)
        self.legend = QLabel()
        self.legend.setObjectName("muted")
        self.chart = Chart(self.theme)
        self.chart.export_name = f"{document.path.stem}-steps"
        self.chart.clicked.connect(self._bar_clicked)
        self.table = ReportTable(RowActions(self))
        self.table.export_name = f"{document.path.stem}-steps"
        split = QSplitter(Qt.Orientation.Horizontal)
        split.addWidget(self.chart)
        split.addWidget(self.table)
        split.setSizes([520, 480])
        self.arrange((self.stack, self.step, self.legend), split)
        self._breakdown: Table | None = None
        self._marked = np.empty(0, np.int64)
        self._steps: Table | None = None
        self.state.range_selection_changed.connect(self._mark_range)
        self.state.filter_changed.connect(self.mark_stale)
        self.state.track_selection_changed.connect(self.mark_stale)

    def request(self) -> StepsRequest:
        """All steps of the tracks that pass: a selected range marks steps instead of leaving others out."""
        chosen = selection_of(self.document.capture, self.state)
        return StepsRequest(Selection(tracks=chosen.tracks), self.step.text().strip() or None)

    def compute(self, request: StepsRequest, is_cancelled: IsCancelled) -> tuple[Report, Report]:
        """The steps and where their time went."""
        capture, options = self.document.capture, Options(step=request.step)
        steps = compute_report(capture, "steps", request.selection, options, is_cancelled)
        return steps, compute_report(capture, "step_breakdown", request.selection, options, is_cancelled)

    def show_result(self, request: StepsRequest, answer: tuple[Report, Report]) -> None:
        """Fill table and chart."""
        steps, breakdown = answer
        found = steps.table
        self._steps, self._breakdown = found, breakdown.table
        self.legend.setVisible(found is not None)
        if found is None:
            assert isinstance(steps.result, NotRecorded)
            self.say_missing(steps.result)
            return
        self.show_content()
        self.table.show_report(found, self.document.capture, self.theme)
        outliers = int(np.sum(np.asarray(found.data["outlier"])))
        text = tr_n("{count} step", "{count} steps", len(found))
        if outliers:
            text += " · " + tr_n("{count} outlier", "{count} outliers", outliers)
        self.set_scope(text)
        self._marked = self._marked[self._marked < len(found)]
        self._draw()
        self._mark_range()

    def _parts(self) -> list[tuple[str, str, np.ndarray]]:
        """(title, colour, ns per step) of the stack."""
        if self.stack.currentData() == "activity" and self._breakdown is not None:
            columns = self._breakdown.data
            return [
                (
                    translated(title),
                    self.theme.family(_CATEGORY_COLORS[key]),
                    np.asarray(columns[f"{key}_ns"]),
                )
                for key, title in zip(CATEGORIES, CATEGORY_TITLES, strict=True)
                if np.any(np.asarray(columns[f"{key}_ns"]))
            ]
        assert self._steps is not None
        columns = self._steps.data
        return [
            (translated(title), self.theme.family(color), np.asarray(columns[key]))
            for (key, title), color in zip(_PHASES, _PHASE_COLORS, strict=True)
            if key in columns
        ]

    def _draw(self, *_values: object) -> None:
        if self._steps is None:
            return
        self.chart.begin()
        parts = self._parts()
        count = len(self._steps)
        x = np.arange(count, dtype=np.float64)
        base = np.zeros(count)
        for _, color, values in parts:
            self.chart.bars(x, 0.78, values.astype(np.float64), color, base.copy())
            base += values
        if not parts:
            base = np.asarray(self._steps.data["duration_ns"]).astype(np.float64)
            self.chart.bars(x, 0.78, base, self.theme.family("phase"))
        marked = self._marked
        if len(marked) < count:
            self.chart.bars(x[marked], 0.78, base[marked], self.theme.hex("selection"), is_outline=True)
        numbers = np.asarray(self._steps.data["step"]).tolist()
        self.chart.x_axis.text = lambda v: str(numbers[round(v)]) if v == round(v) and 0 <= v < count else ""
        self.chart.x_axis.ticks = whole_ticks
        self.chart.y_axis.texts = duration_ticks
        self.chart.end()
        # A step or two do not fill the width: a bar stays a bar.
        self.chart.show_range((-0.6, max(count, 6) - 0.4), (0, float(base.max(initial=1)) * 1.06))
        self.legend.setText(
            "   ".join(f'<span style="color:{color}">■</span> {title}' for title, color, _ in parts)
        )

    def _mark_range(self, *_values: object) -> None:
        """Outline the steps that the selected range touches; where it is one, select its row."""
        selected, steps = self.state.range_selection, self._steps
        marked = np.empty(0, np.int64)
        if steps is not None and steps.targets.starts is not None and selected is not None:
            assert steps.targets.stops is not None
            touched = (steps.targets.starts < selected[1]) & (steps.targets.stops > selected[0])
            marked = np.flatnonzero(touched)
        if marked.tolist() != self._marked.tolist():
            self._marked = marked
            self._draw()
        report = self.table.report
        if (
            len(marked) == 1
            and steps is not None
            and report is not None
            and report.targets.starts is not None
        ):
            assert steps.targets.starts is not None
            items = np.flatnonzero(report.targets.starts == steps.targets.starts[marked[0]])
            if len(items):
                self.table.show_item(int(items[0]))

    def _bar_clicked(self, x: float, _y: float) -> None:
        place = round(x)
        if self._steps is not None and 0 <= place < len(self._steps):
            target = target_of(self._steps, place)
            self.table.row_actions.choose(target)
            start, stop = target.range_ns or self.state.view
            low, high = self.state.view
            if start < low or stop > high:
                self.table.row_actions.show(target)

    def apply_theme(self, theme: Theme) -> None:
        """Colours are part of the bars."""
        self.chart.set_theme(theme)
        self.forget()
