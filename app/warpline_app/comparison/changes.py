"""Differences between two captures, one report at a time, and the differences of their metadata."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QStackedWidget, QWidget

from warpline.analysis.compare.comparison import compare_report
from warpline.analysis.compare.comparison_text import fact_name, fact_value
from warpline.analysis.compare.metadata import GROUPS
from warpline.analysis.compare.tables import TableComparison
from warpline.analysis.framework.registry import reports
from warpline.i18n import tr, translated
from warpline.model import WarplineError
from warpline.recording.again import series_files
from warpline_app.comparison.change_columns import change_content
from warpline_app.comparison.places import names_of
from warpline_app.comparison.series_view import SeriesView
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.widgets import flat_column, tool_row
from warpline_app.open.background import Job
from warpline_app.open.comparing import ComparedPair
from warpline_app.open.series import Series, read_series
from warpline_app.open.workspace import Workspace
from warpline_app.panels.table.content import TableColumn, TableContent
from warpline_app.panels.table.table import PanelTable
from warpline_app.remembered.series_notes import SeriesNotes

METADATA, SERIES = "metadata", "series"
_FIRST = ("cuda_gpu_kern_sum", "operator", "waits", "osrt_sum", "nvtx_sum")


class Changes(QWidget):
    """A list of the reports both captures have, and the table of the selected one."""

    names_chosen = Signal(list)
    """key texts of the selected row"""
    run_chosen = Signal(Path)
    """another run of the series to compare with"""

    def __init__(self, pair: ComparedPair, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self._pair, self._settings = pair, workspace.settings
        self._job: Job | None = None
        self._has_begun = False
        self._shown: TableComparison | None = None
        self.choice = QComboBox()
        self.choice.setAccessibleName(tr("Compared report"))
        self._fill_choice()
        self.note = ElidedLabel()
        self.note.setObjectName("muted")
        self.table = PanelTable(workspace.messages)
        self.table.export_name = "comparison"
        self.table.item_selected.connect(self._go)
        self.table.item_activated.connect(self._go)
        row = tool_row(4, 10)
        row.addWidget(self.choice)
        row.addWidget(self.note, 1)
        column = flat_column(self)
        column.addLayout(row)
        self.series = SeriesView()
        self.series.run_chosen.connect(self.run_chosen)
        self._pages = QStackedWidget()
        self._pages.addWidget(self.table)
        self._pages.addWidget(self.series)
        column.addWidget(self._pages, 1)
        self.choice.currentIndexChanged.connect(lambda _index: self._compute())

    @property
    def is_settled(self) -> bool:
        """Whether the selected report is shown."""
        return self._has_begun and self._job is None

    @property
    def shown(self) -> TableComparison | None:
        """The comparison in the table; None for the metadata or no comparison."""
        return self._shown

    def _fill_choice(self) -> None:
        a, b = (side.run.capture for side in (self._pair.comparison.a, self._pair.comparison.b))
        specs = [
            spec
            for spec in reports()
            if spec.needs
            and all(
                any(kind in capture.kinds and len(capture.kinds[kind]) for kind in spec.needs)
                for capture in (a, b)
            )
        ]
        if self._pair.comparison.facts:
            self.choice.addItem(tr("Metadata differences"), METADATA)
        if len(series_files(self._pair.b.path)) > 1:
            self.choice.addItem(tr("Runs of this series"), SERIES)
        for spec in specs:
            self.choice.addItem(translated(spec.title), spec.name)
        names = [spec.name for spec in specs]
        best = next((name for name in _FIRST if name in names), names[0] if names else METADATA)
        self.choice.setCurrentIndex(max(self.choice.findData(best), 0))

    def begin(self) -> None:
        """Compute the first report, once the timelines are painted."""
        if not self._has_begun:
            self._has_begun = True
            self._compute()

    def show_report(self, name: str) -> None:
        """Select a report. Raises KeyError unless both captures have it."""
        place = self.choice.findData(name)
        if place < 0:
            raise KeyError(name)
        self.choice.setCurrentIndex(place)

    def _compute(self) -> None:
        if not self._has_begun:
            return
        if self._job is not None:
            self._job.cancel()
            self._job = None
        name = self.choice.currentData()
        self._pages.setCurrentWidget(self.series if name == SERIES else self.table)
        if name == SERIES:
            self._read_series()
            return
        if name is None or name == METADATA:
            self._shown = None
            self.note.setText("")
            self.table.set_content(self._metadata())
            return
        comparison = self._pair.comparison
        self.note.setText(tr("computing…"))
        job = Job(
            lambda _p, is_cancelled: compare_report(
                comparison.a, comparison.b, name, comparison.choices, is_cancelled
            ),
            self,
            again=self._compute,
        )
        job.succeeded.connect(self._show)
        job.failed.connect(self._fail)
        self._job = job
        job.launch()

    def _show(self, table: TableComparison) -> None:
        self._job = None
        self._shown = table
        matched = sum(bool(row.rules) for row in table.rows)
        new = sum(row.a is None for row in table.rows)
        gone = sum(row.b is None for row in table.rows)
        self.note.setText(
            tr(
                "{column} · {new:,} only in B, {gone:,} only in A, {matched:,} matched by rules",
                column=translated(table.column.title),
                new=new,
                gone=gone,
                matched=matched,
            )
        )
        self.table.set_content(change_content(table))

    def _read_series(self) -> None:
        path = self._pair.b.path
        self._shown = None
        self.note.setText(tr("reading the runs beside {name}…", name=path.name))
        job = Job(lambda _progress, is_cancelled: read_series(path, is_cancelled), self, again=self._compute)
        job.succeeded.connect(self._show_series)
        job.failed.connect(self._fail)
        self._job = job
        job.launch()

    def _show_series(self, series: Series) -> None:
        self._job = None
        self.note.setText(tr("Double-click a run to add a note"))
        shown = self._pair.a.path, self._pair.b.path
        self.series.show_series(series, SeriesNotes(self._settings, series.id), shown)

    def _fail(self, error: Exception) -> None:
        self._job = None
        self._shown = None
        self.table.set_content(TableContent())
        text = str(error) if isinstance(error, WarplineError) else repr(error)
        # Errors contain the report's command-line name; show its title instead.
        self.note.setText(text.replace(str(self.choice.currentData()), self.choice.currentText()))

    def _metadata(self) -> TableContent:
        facts = self._pair.comparison.facts
        columns = [
            TableColumn(
                tr("Group"), lambda item: translated(GROUPS[facts[item].group]), width=110, key="group"
            ),
            TableColumn(tr("Name"), lambda item: fact_name(facts[item]), width=190, key="fact"),
            TableColumn(
                "A",
                lambda item: fact_value(facts[item].a or None),
                tooltip=lambda item: fact_value(facts[item].a or None),
                width=200,
                stretches=True,
                key="fact_a",
            ),
            TableColumn(
                "B",
                lambda item: fact_value(facts[item].b or None),
                tooltip=lambda item: fact_value(facts[item].b or None),
                width=200,
                stretches=True,
                key="fact_b",
            ),
        ]
        return TableContent(columns, len(facts))

    def _go(self, item: int) -> None:
        if self._shown is not None:
            row = self._shown.rows[item]
            self.names_chosen.emit(sorted(names_of([*row.names_a, *row.names_b])))

    def shut_down(self) -> None:
        """Cancel the computation."""
        if self._job is not None:
            self._job.cancel()
            self._job = None
