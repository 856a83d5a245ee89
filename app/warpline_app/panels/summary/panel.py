"""Reports on the selection: choose a report, read it, find its rows on the timeline."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from PySide6.QtWidgets import QCheckBox, QWidget

from warpline.analysis.framework.options import Options
from warpline.analysis.framework.registry import compute_report, reports
from warpline.analysis.framework.report import NotRecorded, Report
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.structure.gpus import activity_combinations, gpus
from warpline.analysis.structure.overlap import time_of
from warpline.i18n import english, tr, translated
from warpline.model.progress import IsCancelled
from warpline.model.times import format_duration
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.plain import plain
from warpline_app.look.theme import Theme
from warpline_app.look.widgets import search_field, single_shot
from warpline_app.open.background import Job
from warpline_app.open.document import Document
from warpline_app.panels.charts.share_view import ShareView
from warpline_app.panels.frame.computed import ComputedPanel
from warpline_app.panels.frame.room import LEAST_TABLE_PX, SideBySide
from warpline_app.panels.frame.scope import scope_suffix, selected_tracks, selection_of
from warpline_app.panels.summary.report_choice import ReportChoice, ReportEntry
from warpline_app.panels.table.report_columns import share_column
from warpline_app.panels.table.report_table import ReportTable
from warpline_app.panels.table.row_actions import RowActions

QUICK_ABOVE = 300_000
"""With more events in a capture, medians wait until a drag ends."""
_FROM_BLOCKS = frozenset(("kernel", "cuda_gpu_kern_sum", "cuda_api_sum", "osrt_sum"))
"""Reports whose quick form adds up blocks; the first computation makes these."""
_FAMILIES = {
    "gpu": english("GPU"),
    "ranges": english("Ranges"),
    "framework": english("Framework"),
    "cpu": english("CPU"),
    "steps": english("Steps"),
}
_ABOUT_GPU = frozenset(("kernel", "cuda_gpu_kern_sum", "cuda_gpu_kern_gb_sum", "cuda_gpu_sum"))
_REPORTS = {spec.name: spec for spec in reports()}
"""Loaded with this module, on whichever thread imports it."""
_PREFERRED = ("kernel", "operator", "cuda_gpu_sum", "waits", "nvtx_sum", "overview")


@dataclass(frozen=True)
class SummaryRequest:
    """Which report, over which selection."""

    report: str
    selection: Selection
    options: Options


class SummaryPanel(ComputedPanel):
    """Follows range, filter and highlight; selecting a row highlights its events."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self._prepared: frozenset[str] = frozenset()
        self._preparing: Job | None = None
        self.report = ReportChoice(_entries(document))
        self.report.choose(_first_of(document))
        self.report.chosen.connect(self._report_chosen)
        self.search = search_field(tr("Find in this table"), width_px=(170, 240))
        self.by_thread = QCheckBox(tr("Per thread"))
        self.by_thread.toggled.connect(self.mark_stale)
        self.note = ElidedLabel()
        self.note.setObjectName("muted")
        self.has_chart = QCheckBox(tr("Chart"))
        self.has_chart.setChecked(True)
        self.has_chart.toggled.connect(self._draw_shares)
        self.table = ReportTable(RowActions(self))
        self.table.export_name = f"{document.path.stem}-{self.report.current}"
        self.shares = ShareView(document.messages)
        self.shares.part_clicked.connect(self._part_chosen)
        self.shares.part_activated.connect(self.table.item_activated)
        self._split = SideBySide(self.table, self.shares, shares=(720, 340), least_px=(LEAST_TABLE_PX, 200))
        self.arrange((self.report, self.search, self.by_thread, self.has_chart, self.note), self._split)
        self._typing = single_shot(self, 120, lambda: self.table.set_search(self.search.text().strip()))
        self.search.textChanged.connect(self._typing.start)
        self.table.item_selected.connect(self.shares.set_chosen)
        self.table.sorted_changed.connect(self._draw_shares)
        self.state.range_selection_changed.connect(self.range_moved)
        self.state.filter_changed.connect(self.mark_stale)
        self.state.highlight_changed.connect(self._show_highlight)
        self.state.selection_changed.connect(self._show_selection)
        self.state.track_selection_changed.connect(self._track_selected)
        for changed in (self.state.highlight_changed, self.state.selection_changed):
            changed.connect(self._clear_selection)

    def choose(self, name: str) -> None:
        """Show a report by name."""
        self.report.choose(name)

    def _report_chosen(self, name: str) -> None:
        self.table.export_name = f"{self.document.path.stem}-{name}"
        self.shares.export_name = f"{self.table.export_name}-share"
        self.mark_stale()

    def request(self) -> SummaryRequest:
        """The report, the selection, and whether medians can wait."""
        capture = self.document.capture
        quick = self.is_moving and len(capture.events) > QUICK_ABOVE
        selection = selection_of(capture, self.state)
        if self._is_chosen_here:
            # The row was selected in this table, which keeps listing the others.
            selection = replace(selection, tracks=None)
        return SummaryRequest(
            self.report.current,
            selection,
            Options(by_thread=self.by_thread.isChecked(), quick=quick),
        )

    def compute(self, request: SummaryRequest, is_cancelled: IsCancelled) -> tuple[Report, float | None]:
        """The report, and the GPUs' busy share of the range for reports on kernels."""
        capture = self.document.capture
        report = compute_report(capture, request.report, request.selection, request.options, is_cancelled)
        busy = None
        if request.report in _ABOUT_GPU and report.table is not None and not request.options.quick:
            busy = busy_share(View(capture, request.selection))
        return report, busy

    def show_result(self, request: SummaryRequest, answer: tuple[Report, float | None]) -> None:
        """Fill the table, or show what to record."""
        result, busy = answer
        table = result.table
        if table is None:
            assert isinstance(result.result, NotRecorded)
            self.say_missing(result.result)
            self.note.setText("")
            return
        self.show_content()
        self.table.show_report(table, self.document.capture, self.theme)
        length = format_duration(result.range_ns[1] - result.range_ns[0])
        scope = f"{translated(table.scope)} · {length}"
        if not self._is_chosen_here:
            scope += scope_suffix(self.document.capture, self.state)
        if busy is not None:
            scope += " · " + tr("GPU busy {share}", share=f"{busy:.1%}")
        self.set_scope(scope)
        self.note.setText("  ".join(translated(note) for note in table.notes))
        self.note.setToolTip(plain("\n".join(translated(note) for note in table.notes)))
        self._draw_shares()
        self._show_highlight()
        self._prepare(request.report)

    @property
    def is_busy(self) -> bool:
        """Whether something is being computed, is waiting for a drag to end, or is being prepared."""
        return super().is_busy or self._preparing is not None

    def _prepare(self, report: str) -> None:
        """Prepare the blocks used while a range is dragged, once the first table is shown."""
        capture = self.document.capture
        if len(capture.events) <= QUICK_ABOVE or report not in _FROM_BLOCKS - self._prepared:
            return
        self._prepared |= {report}
        quick = Options(quick=True)
        job = Job(
            lambda _progress, is_cancelled: compute_report(capture, report, Selection(), quick, is_cancelled),
            self,
        )
        for ended in (job.succeeded, job.failed, job.cancelled):
            ended.connect(self._is_prepared)
        self._preparing = job.launch()

    def _is_prepared(self, *_result: object) -> None:
        self._preparing = None

    def _draw_shares(self, *_values: object) -> None:
        """Draw the top-level rows as areas if the table has shares of a whole."""
        column = share_column(self.table.report) if self.table.report is not None else None
        self.has_chart.setEnabled(column is not None)
        self.shares.setVisible(column is not None and self.has_chart.isChecked())
        self._split.refresh()  # otherwise its place stays blank until the next round of events
        if column is not None and self.shares.isVisibleTo(self):
            other = self.theme.family("neutral")
            self.shares.show_parts(
                self.table.parts(column.name, other),
                tr(
                    "{column}: share of {whole}",
                    column=translated(column.title),
                    whole=translated(column.of),
                )
                if column.of
                else translated(column.title),
            )
            self.shares.set_chosen(self.table.current_item())

    def _part_chosen(self, item: int) -> None:
        self.table.show_item(item)
        self.shares.set_chosen(item)
        self.table.item_selected.emit(item)

    def _show_highlight(self, *_values: object) -> None:
        if self.state.highlight:
            self._mark(self.table.items_named(self.state.highlight))
        elif self.state.selection is not None:
            self._show_selection()
        else:
            self._mark_track()

    def _show_selection(self, *_values: object) -> None:
        row = self.state.selection
        if row is not None:
            items = self.table.items_of_event(row)
            name = int(self.document.capture.events.name[row])
            self._mark(items or self.table.items_named(frozenset((name,))))

    @property
    def _is_chosen_here(self) -> bool:
        """Whether the timeline's selected row was selected here, in a table whose rows are tracks."""
        chosen = self.table.row_actions.chosen_row
        is_last = chosen is not None and chosen == self.state.track_selection
        return is_last and _REPORTS[self.report.current].of_tracks

    def _track_selected(self, *_values: object) -> None:
        if self.table.row_actions.chosen_row != self.state.track_selection:
            self.table.row_actions.chosen_row = None
        if self._is_chosen_here:
            self._mark_track()
        else:
            self.mark_stale()

    def _mark_track(self) -> None:
        if _REPORTS[self.report.current].of_tracks and self.state.track_selection is not None:
            tracks = selected_tracks(self.document.capture, self.state) or frozenset()
            self._mark(self.table.items_on(tracks))

    def _mark(self, items: list[int]) -> None:
        if items and self.table.current_item() not in items:
            self.table.show_one_of(items)
        self.shares.set_chosen(self.table.current_item())

    def _clear_selection(self, *_values: object) -> None:
        """Clear the selection of rows with that of the timeline."""
        if self.state.selection is None and not self.state.highlight:
            self.table.show_item(None)
            self.shares.set_chosen(None)

    def apply_theme(self, theme: Theme) -> None:
        self.forget()


def _entries(document: Document) -> list[ReportEntry]:
    """Every report, with what is missing for those this capture cannot fill."""
    kinds = document.capture.kinds
    return [
        ReportEntry(
            spec.name,
            translated(spec.title),
            translated(_FAMILIES.get(spec.family, spec.family)),
            ""
            if _has_data(spec, kinds)
            else tr("no events of kind {kinds}", kinds=" / ".join(sorted(spec.needs))),
        )
        for spec in _REPORTS.values()
    ]


def _first_of(document: Document) -> str:
    """The most informative report for a capture: its kernels, else its operators, else its waits."""
    kinds = document.capture.kinds
    return next((name for name in _PREFERRED if _has_data(_REPORTS[name], kinds)), next(iter(_REPORTS)))


def _has_data(spec: ReportSpec, kinds: Collection[str]) -> bool:
    return not spec.needs or any(kind in kinds for kind in spec.needs)


def busy_share(view: View) -> float | None:
    """Mean busy share of the GPUs in the selected range; None without GPUs."""
    all_gpus = gpus(view)
    if not all_gpus or not view.duration_ns:
        return None
    busy = sum(time_of(activity_combinations(view, gpu), 7) for gpu in all_gpus)
    return busy / (view.duration_ns * len(all_gpus))
