"""Summaries of exactly what is selected: choose a table, read it, find its rows on the timeline."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from warpline.analysis.gpus import activity_combinations, gpus
from warpline.analysis.options import Options
from warpline.analysis.overlap import time_of
from warpline.analysis.registry import REPORTS, ReportSpec, compute_report
from warpline.analysis.report import NotRecorded, Report
from warpline.analysis.selection import Selection, View
from warpline.i18n import tr
from warpline.model.times import format_duration
from warpline_app.background import IsCancelled
from warpline_app.elided import ElidedLabel
from warpline_app.instances import longest
from warpline_app.panels.computed import ComputedPanel
from warpline_app.panels.report_table import ReportTable
from warpline_app.panels.scope import not_recorded_text, selection_of
from warpline_app.state import Document
from warpline_app.theme import Theme

QUICK_ABOVE = 300_000
"""Events of a capture above which medians wait until the hand that drags a range stops."""
_FAMILIES = {"gpu": "GPU", "ranges": "Ranges", "framework": "Framework", "cpu": "CPU", "steps": "Steps"}
_NEEDS = {
    "gpu": ("kernel", "memcpy", "memset", "graph", "cuda_api", "gpu_event"),
    "ranges": ("range",),
    "framework": ("operator", "phase", "range", "kernel", "memory"),
    "cpu": ("thread_state", "cpu_slice", "osrt"),
    "steps": ("phase", "range"),
}
_ABOUT_GPU = frozenset(("kernel", "cuda_gpu_kern_sum", "cuda_gpu_kern_gb_sum", "cuda_gpu_sum"))
_FIRST = ("kernel", "operator", "cuda_gpu_sum", "nvtx_sum", "thread_state", "overview")


@dataclass(frozen=True)
class Request:
    """Which report, about what."""

    report: str
    selection: Selection
    options: Options


class SummaryPanel(ComputedPanel):
    """Follows range selection, filter and highlight; a chosen row lights up its events."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self.report = QComboBox()
        self.report.setAccessibleName(tr("Table"))
        self.report.setMaxVisibleItems(30)
        self.report.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self._fill_choice()
        self.report.currentIndexChanged.connect(self._report_chosen)
        self.search = QLineEdit()
        self.search.setPlaceholderText(tr("Find in this table"))
        self.search.setAccessibleName(tr("Find in this table"))
        self.search.setClearButtonEnabled(True)
        self.search.setMinimumWidth(170)
        self.search.setMaximumWidth(240)
        self.by_thread = QCheckBox(tr("Per thread"))
        self.by_thread.toggled.connect(self.mark_stale)
        self.note = ElidedLabel()
        self.note.setObjectName("muted")
        row = QHBoxLayout()
        row.setContentsMargins(10, 5, 10, 5)
        row.setSpacing(8)
        row.addWidget(self.report)
        row.addWidget(self.search)
        row.addWidget(self.by_thread)
        row.addWidget(self.note, 1)
        self.table = ReportTable()
        self.missing = QLabel()
        self.missing.setObjectName("muted")
        self.missing.setWordWrap(True)
        self.missing.setMargin(16)
        self.missing.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.missing.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(row)
        layout.addWidget(self.table, 1)
        layout.addWidget(self.missing, 1)
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(120)
        self._typing.timeout.connect(lambda: self.table.set_search(self.search.text().strip()))
        self.search.textChanged.connect(self._typing.start)
        self.table.item_selected.connect(self._chosen)
        self.table.item_activated.connect(self.show_longest)
        self.table.show_longest.connect(self.show_longest)
        self.table.filter_wanted.connect(lambda item: self._filter(item, keep=True))
        self.table.hide_wanted.connect(lambda item: self._filter(item, keep=False))
        self.table.events_wanted.connect(self._show_in_events)
        self.state.range_selection_changed.connect(self.range_moved)
        self.state.filter_changed.connect(self.mark_stale)
        self.state.highlight_changed.connect(self._show_highlight)
        self.state.selection_changed.connect(self._show_selection)
        for changed in (self.state.highlight_changed, self.state.selection_changed):
            changed.connect(self._let_go)

    # -- which table

    def _fill_choice(self) -> None:
        kinds = self.document.capture.kinds
        model = self.report.model()
        family = ""
        for spec in REPORTS:
            if spec.family != family:
                family = spec.family
                self.report.addItem(tr(_FAMILIES[family]).upper(), "")
                _disable(model, self.report.count() - 1)
            self.report.addItem("   " + tr(spec.title, "report"), spec.name)
            self.report.setItemData(self.report.count() - 1, spec.name, Qt.ItemDataRole.ToolTipRole)
        present = set(kinds)
        for name in _FIRST:
            spec = next(spec for spec in REPORTS if spec.name == name)
            if _has_data(spec, present):
                self.choose(name)
                return
        self.choose(REPORTS[0].name)

    def choose(self, name: str) -> None:
        """Show a report by its name."""
        self.report.setCurrentIndex(self.report.findData(name))

    def _report_chosen(self, _index: int) -> None:
        self.table.export_name = f"{self.document.path.stem}-{self.report.currentData()}"
        self.mark_stale()

    # -- computing

    def request(self) -> Request:
        """The report, the selection, and whether medians can wait."""
        capture = self.document.capture
        quick = self.is_moving and len(capture.events) > QUICK_ABOVE
        return Request(
            self.report.currentData(),
            selection_of(capture, self.state),
            Options(by_thread=self.by_thread.isChecked(), quick=quick),
        )

    def compute(self, request: Request, is_cancelled: IsCancelled) -> tuple[Report, float | None]:
        """The report, and the share of the range in which the GPUs are busy, where the report is about kernels."""
        capture = self.document.capture
        report = compute_report(capture, request.report, request.selection, request.options)
        busy = None
        if request.report in _ABOUT_GPU and report.table is not None and not request.options.quick:
            busy = busy_share(View(capture, request.selection))
        return report, busy

    def show_result(self, request: Request, answer: tuple[Report, float | None]) -> None:
        """Fill the table, or say what to record."""
        result, busy = answer
        table = result.table
        self.table.setVisible(table is not None)
        self.missing.setVisible(table is None)
        if isinstance(result.result, NotRecorded):
            self.missing.setText(not_recorded_text(result.result))
            self.set_scope("")
            self.note.setText("")
            return
        assert table is not None
        self.table.show_report(table, self.document.capture, self.theme)
        length = format_duration(result.range_ns[1] - result.range_ns[0])
        scope = f"{tr(table.scope, 'report')} · {length}"
        if busy is not None:
            scope += " · " + tr("GPU busy {share}", share=f"{busy:.1%}")
        self.set_scope(scope)
        self.note.setText("  ".join(tr(note, "report") for note in table.notes))
        self.note.setToolTip("\n".join(tr(note, "report") for note in table.notes))
        self._show_highlight()

    def show_failure(self, error: Exception) -> None:
        """Say why there is no table."""
        self.table.hide()
        self.missing.setText(tr("The table could not be computed: {error}", error=error))
        self.missing.show()

    # -- rows and the timeline

    def _chosen(self, item: int) -> None:
        event, name = self.table.event_of(item), self.table.name_of(item)
        if event is not None:
            self.state.select(event)
        elif name is not None:
            self.state.set_highlight((name,))

    def show_longest(self, item: int) -> None:
        """Go to the event a row stands for, or the longest of its events in the selected range."""
        row = self.table.event_of(item)
        name = self.table.name_of(item)
        if row is None and name is not None:
            self.state.set_highlight((name,))
            row = longest(
                self.document.capture,
                frozenset((name,)),
                self.table.kind_of(item),
                self.state.range_selection,
            )
        if row is not None:
            self.state.reveal(row)

    def _name_text(self, item: int) -> str:
        name = self.table.name_of(item)
        if name is None:
            event = self.table.event_of(item)
            name = None if event is None else int(self.document.capture.events.name[event])
        return "" if name is None else self.document.capture.strings[name]

    def _filter(self, item: int, *, keep: bool) -> None:
        text = re.escape(self._name_text(item))
        pattern = f"^{text}$" if keep else f"^(?!{text}$)"
        self.state.change_filter(names=pattern, regex=True, case=True)

    def _show_in_events(self, item: int) -> None:
        self._filter(item, keep=True)
        layout = getattr(self.window(), "panels", None)
        if layout is not None:
            layout.show_panel("events")

    def _show_highlight(self, *_values: object) -> None:
        items = self.table.items_named(self.state.highlight)
        if items and self.table.current_item() not in items:
            self.table.show_item(items[0])
        elif not items and self.state.selection is not None:
            self._show_selection()

    def _show_selection(self, *_values: object) -> None:
        row = self.state.selection
        if row is None:
            return
        name = int(self.document.capture.events.name[row])
        items = self.table.items_named(frozenset((name,)))
        if items and self.table.current_item() not in items:
            self.table.show_item(items[0])

    def _let_go(self, *_values: object) -> None:
        """Nothing is chosen any more: a row that still looked chosen would say otherwise."""
        if self.state.selection is None and not self.state.highlight:
            self.table.show_item(None)

    def apply_theme(self, theme: Theme) -> None:
        """Bars have the colours of the theme."""
        self.forget()


def _disable(model: Any, row: int) -> None:
    if isinstance(model, QStandardItemModel):
        model.item(row).setEnabled(False)


def _has_data(spec: ReportSpec, kinds: set[str]) -> bool:
    needs = {"kernel": ("kernel",), "operator": ("operator",), "cuda_gpu_sum": ("memcpy", "memset")}
    return any(kind in kinds for kind in needs.get(spec.name, _NEEDS[spec.family]))


def busy_share(view: View) -> float | None:
    """Mean share of the selected range in which each GPU has anything to do; None without GPUs."""
    found = gpus(view)
    if not found or not view.duration_ns:
        return None
    busy = sum(time_of(activity_combinations(view, gpu), 7) for gpu in found)
    return busy / (view.duration_ns * len(found))
