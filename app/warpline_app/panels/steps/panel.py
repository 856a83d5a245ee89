"""Steps side by side: where each spent its time, GPU utilization, outliers."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QComboBox, QToolTip, QWidget

from warpline.analysis.framework.options import Options
from warpline.analysis.framework.registry import compute_report
from warpline.analysis.framework.report import NotRecorded, Report, Table
from warpline.analysis.framework.selection import Selection
from warpline.analysis.steps.step_breakdown import CATEGORIES, CATEGORY_TITLES
from warpline.i18n import english, tr, tr_n, translated
from warpline.model.progress import IsCancelled
from warpline.model.times import format_duration
from warpline_app.look.plain import plain
from warpline_app.look.theme import Theme
from warpline_app.look.widgets import muted_label, search_field, single_shot
from warpline_app.open.document import Document
from warpline_app.panels.charts.chart import Chart, duration_ticks, whole_ticks
from warpline_app.panels.frame.computed import ComputedPanel
from warpline_app.panels.frame.room import LEAST_TABLE_PX, SideBySide
from warpline_app.panels.frame.row_target import target_of
from warpline_app.panels.frame.scope import selection_of
from warpline_app.panels.table.report_table import ReportTable
from warpline_app.panels.table.row_actions import RowActions

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


_BAR = 0.78
"""Width of a bar; steps are 1 apart."""


@dataclass(frozen=True)
class StepsRequest:
    """Which steps."""

    selection: Selection
    step: str | None


class StepsPanel(ComputedPanel):
    """A stacked chart beside a table; a click on a bar or a row selects the step's range."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self.stack = QComboBox()
        self.stack.setAccessibleName(tr("Division of the bars"))
        self.stack.addItem(tr("By activity"), "activity")
        self.stack.addItem(tr("By phase"), "phase")
        self.stack.currentIndexChanged.connect(self._show_stack)
        self.step = search_field(
            tr("Name of the step, or /regex/ (ProfilerStep)"), name=tr("Name of the step")
        )
        self.step.setMinimumWidth(280)
        self._typing = single_shot(self, 250, self.mark_stale)
        self.step.textChanged.connect(self._typing.start)
        self.legend = muted_label()
        self.legend.setTextFormat(Qt.TextFormat.RichText)
        self.legend.setWordWrap(True)
        self.chart = Chart(self.theme, document.messages)
        self.chart.export_name = f"{document.path.stem}-steps"
        self.chart.clicked.connect(self._bar_clicked)
        self.chart.hovered.connect(self._hovered)
        self.table = ReportTable(RowActions(self))
        self.table.export_name = f"{document.path.stem}-steps"
        split = SideBySide(self.chart, self.table, shares=(520, 480), least_px=(240, LEAST_TABLE_PX))
        self.arrange((self.stack, self.step, self.legend), split)
        self._step_count = ""
        self._heights: tuple[list[tuple[str, str, np.ndarray]], np.ndarray] = ([], np.empty(0))
        """the parts of the bars, and their total heights"""
        self._breakdown: Table | None = None
        self._marked = np.empty(0, np.int64)
        self._steps: Table | None = None
        self.state.range_selection_changed.connect(self._mark_range)
        self.state.filter_changed.connect(self.mark_stale)
        self.state.track_selection_changed.connect(self.mark_stale)

    def request(self) -> StepsRequest:
        """All steps on the filtered tracks; a selected range marks steps instead of excluding others."""
        chosen = selection_of(self.document.capture, self.state)
        return StepsRequest(Selection(tracks=chosen.tracks), self.step.text().strip() or None)

    def compute(self, request: StepsRequest, is_cancelled: IsCancelled) -> tuple[Report, Report]:
        """Compute the steps and their breakdown."""
        capture, options = self.document.capture, Options(step=request.step)
        steps = compute_report(capture, "steps", request.selection, options, is_cancelled)
        return steps, compute_report(capture, "step_breakdown", request.selection, options, is_cancelled)

    def show_result(self, request: StepsRequest, answer: tuple[Report, Report]) -> None:
        """Fill table and chart."""
        steps, breakdown = answer
        table = steps.table
        self._steps, self._breakdown = table, breakdown.table
        self.legend.setVisible(table is not None)
        if table is None:
            assert isinstance(steps.result, NotRecorded)
            self.say_missing(steps.result)
            return
        self.show_content()
        outliers = int(np.sum(np.asarray(table.data["outlier"])))
        self._step_count = tr_n("{count} step", "{count} steps", len(table))
        if outliers:
            self._step_count += " · " + tr_n("{count} outlier", "{count} outliers", outliers)
        self._marked = self._marked[self._marked < len(table)]
        self._show_stack()

    @property
    def _is_by_activity(self) -> bool:
        return self.stack.currentData() == "activity" and self._breakdown is not None

    @property
    def _shown_table(self) -> Table | None:
        """The table that bars and list show."""
        return self._breakdown if self._is_by_activity else self._steps

    def _show_stack(self, *_values: object) -> None:
        """Show bars and table for one definition of a step: with the GPU work it launched, or without."""
        shown = self._shown_table
        if shown is None:
            return
        definition = tr("GPU work included") if self._is_by_activity else tr("GPU work not included")
        self.set_scope(f"{self._step_count} · {definition}")
        self.table.show_report(shown, self.document.capture, self.theme)
        self._draw()
        self._mark_range()

    def _parts(self) -> list[tuple[str, str, np.ndarray]]:
        """(title, colour, ns per step) of the stack."""
        if self._is_by_activity:
            assert self._breakdown is not None
            columns = self._breakdown.data
            return [
                (
                    translated(title),
                    self.theme.family(_CATEGORY_COLORS[key]),
                    np.ma.filled(np.ma.asarray(columns[f"{key}_ns"]), 0),
                )
                for key, title in zip(CATEGORIES, CATEGORY_TITLES, strict=True)
                if np.ma.filled(np.ma.asarray(columns[f"{key}_ns"]), 0).any()
            ]
        assert self._steps is not None
        columns = self._steps.data
        parts = [
            (translated(title), self.theme.family(color), np.asarray(columns[key]))
            for (key, title), color in zip(_PHASES, _PHASE_COLORS, strict=True)
            if key in columns
        ]
        if parts and "others_ns" not in columns:
            # A bar is as high as its step is long, including time outside known phases.
            rest = np.asarray(columns["duration_ns"]) - np.sum([values for _, _, values in parts], axis=0)
            rest = np.maximum(rest, 0)
            parts.append((translated(_PHASES[-1][1]), self.theme.family(_PHASE_COLORS[-1]), rest))
        return parts

    def _draw(self, *_values: object) -> None:
        if self._steps is None:
            return
        self.chart.begin()
        parts = self._parts()
        count = len(self._steps)
        x = np.arange(count, dtype=np.float64)
        base = np.zeros(count)
        for _, color, values in parts:
            self.chart.bars(x, _BAR, values.astype(np.float64), color, base.copy())
            base += values
        if not parts:
            base = np.asarray(self._steps.data["duration_ns"]).astype(np.float64)
            self.chart.bars(x, _BAR, base, self.theme.family("phase"))
        self._heights = parts, base
        outliers = np.flatnonzero(np.asarray(self._steps.data["outlier"]))
        if len(outliers):
            self.chart.bars(x[outliers], _BAR, base[outliers], self.theme.hex("warning"), is_outline=True)
        marked = self._marked
        if len(marked) < count:
            self.chart.bars(x[marked], _BAR, base[marked], self.theme.hex("selection"), is_outline=True)
        numbers = np.asarray(self._steps.data["step"]).tolist()
        self.chart.x_axis.text = lambda v: str(numbers[round(v)]) if v == round(v) and 0 <= v < count else ""
        self.chart.x_axis.ticks = whole_ticks
        self.chart.y_axis.texts = duration_ticks
        self.chart.end()
        # Keep bars narrow when there are few steps.
        self.chart.show_range((-0.6, max(count, 6) - 0.4), (0, float(base.max(initial=1)) * 1.06))
        entries = [f'<span style="color:{color}">■</span>&nbsp;{escape(title)}' for title, color, _ in parts]
        if len(outliers):
            entries.append(f'<span style="color:{self.theme.hex("warning")}">□</span>&nbsp;{tr("outlier")}')
        self.legend.setText("   ".join(entries))

    def about_bar(self, place: int) -> str:
        """Tooltip of a bar: step, length, breakdown, overlap, and whether it is an outlier."""
        assert self._steps is not None
        assert self._shown_table is not None
        parts, stacked = self._heights
        whole = np.asarray(self._shown_table.data["total_ns" if self._is_by_activity else "duration_ns"])
        number = tr("step {number}", number=int(np.asarray(self._steps.data["step"])[place]))
        lines = [f"{number} · {format_duration(int(whole[place]))}"]
        lines += [
            f"{title}   {format_duration(int(values[place]))}   {values[place] / max(whole[place], 1):.1%}"
            for title, _, values in parts
            if values[place]
        ]
        if stacked[place] > whole[place]:
            more = format_duration(int(stacked[place] - whole[place]))
            lines.append(tr("phases overlap by {time}", time=more))
        if bool(np.asarray(self._steps.data["outlier"])[place]):
            above = float(np.asarray(self._steps.data["deviation_ratio"])[place])
            lines.append(tr("outlier: {share} above the median", share=f"{above:.0%}"))
        return "\n".join(lines)

    def _hovered(self, x: float, y: float) -> None:
        place = round(x)
        is_over = self._steps is not None and 0 <= place < len(self._steps) and abs(x - place) <= _BAR / 2
        if is_over and 0 <= y <= self._heights[1][place]:
            QToolTip.showText(QCursor.pos(), plain(self.about_bar(place)), self.chart)
        else:
            QToolTip.hideText()

    def _mark_range(self, *_values: object) -> None:
        """Outline the steps in the selected range; if there is one, select its row."""
        selected, shown = self.state.range_selection, self._shown_table
        marked = np.empty(0, np.int64)
        if shown is not None and selected is not None:
            starts, stops = shown.targets.starts, shown.targets.stops
            if starts is not None and stops is not None:
                marked = np.flatnonzero((starts < selected[1]) & (stops > selected[0]))
        if marked.tolist() != self._marked.tolist():
            self._marked = marked
            self._draw()
        report = self.table.report
        if len(marked) != 1 or shown is None or report is None:
            return
        shown_starts, table_starts = shown.targets.starts, report.targets.starts
        if shown_starts is not None and table_starts is not None:
            items = np.flatnonzero(table_starts == shown_starts[marked[0]])
            if len(items):
                self.table.show_item(int(items[0]))

    def _bar_clicked(self, x: float, _y: float) -> None:
        place, shown = round(x), self._shown_table
        if shown is not None and 0 <= place < len(shown):
            target = target_of(shown, place)
            self.table.row_actions.choose(target)
            start, stop = target.range_ns or self.state.view
            low, high = self.state.view
            if start < low or stop > high:
                self.table.row_actions.show(target)

    def apply_theme(self, theme: Theme) -> None:
        self.chart.set_theme(theme)
        self.forget()
