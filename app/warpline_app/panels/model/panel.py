"""The network's modules as a tree with times, and as areas or a graph coloured by a measure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QUrl
from PySide6.QtGui import QAction, QDesktopServices
from PySide6.QtWidgets import QComboBox, QMenu, QStackedWidget, QWidget

from warpline.analysis.framework.registry import compute_report
from warpline.analysis.framework.report import NotRecorded, Report, Table
from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.steps.module_flow import ModuleFlow, module_flow
from warpline.analysis.structure.modules import IN_TRACES
from warpline.i18n import english, tr, tr_n, translated
from warpline.model.progress import IsCancelled
from warpline.model.times import format_duration
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.eliding import ends_apart
from warpline_app.look.plain import plain
from warpline_app.look.theme import Theme, mix, to_rgb
from warpline_app.look.widgets import search_field, single_shot
from warpline_app.open.document import Document
from warpline_app.panels.charts.share_view import Part, ShareView, largest
from warpline_app.panels.frame.computed import ComputedPanel
from warpline_app.panels.frame.room import LEAST_TABLE_PX, SideBySide
from warpline_app.panels.frame.scope import scope_suffix, selection_of
from warpline_app.panels.model.documentation import pages_of
from warpline_app.panels.model.graph_view import GraphView, Node
from warpline_app.panels.model.inside import (
    TOP,
    first_with_choice,
    graph_inside,
    row_above,
    rows_inside,
    shares_inside,
)
from warpline_app.panels.table.report_table import ReportTable
from warpline_app.panels.table.row_actions import RowActions

_MEASURES = {
    "self_ns": english("Own time"),
    "gpu_self_ns": english("Own GPU time"),
    "backward_self_ns": english("Own backward"),
    "gpu_self_kept_bytes": english("Own GPU memory per call"),
    "host_self_kept_bytes": english("Own host memory per call"),
    "self_parameters": english("Own parameters"),
    "count": english("Calls"),
}
"""Measures for the areas, by column of the report."""
_COLDEST = 0.35
_OPEN_LEVELS = 3


@dataclass(frozen=True)
class ModelRequest:
    """Which events."""

    selection: Selection


@dataclass(frozen=True)
class ModelResult:
    """The report of modules, and the order of their calls."""

    report: Report
    flow: ModuleFlow


class _ModuleTable(ReportTable):
    """Modules; the menu of a layer leads to its documentation."""

    def fill_menu(self, menu: QMenu, item: int | None) -> dict[str, QAction]:
        """See `ReportTable.fill_menu`."""
        actions = super().fill_menu(menu, item)
        return actions if item is None else actions | self.add_pages(menu, item)

    def add_pages(self, menu: QMenu, item: int) -> dict[str, QAction]:
        """Add the pages about a row's layer to a menu; returns the actions by framework."""
        if self.report is None or "class_name" not in self.report.data:
            return {}
        classes = [_plain_class(name) for name in self.report.values("class_name")]
        pages = pages_of(classes[item], frozenset(classes))
        if pages:
            menu.addSeparator()
        actions = {}
        for framework, address in pages:
            title = tr("{name} in the documentation of {framework}", name=classes[item], framework=framework)
            action = menu.addAction(title)
            action.triggered.connect(
                lambda _on=False, address=address: QDesktopServices.openUrl(QUrl(address))
            )
            action.setToolTip(plain(address))
            actions[f"page_{framework}"] = action
        return actions


def _plain_class(name: str | None) -> str:
    """``Linear`` for ``torch.nn.Linear``, and for the ``Linear_0`` of traces."""
    return re.sub(r"_\d+$", "", (name or "").rpartition(".")[2])


class ModelPanel(ComputedPanel):
    """Follows range, filter and highlight; selecting a module highlights its calls, and vice versa."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self.search = search_field(tr("Find a module"), width_px=(170, 240))
        self.measure = QComboBox()
        self.measure.setAccessibleName(tr("Measure of the areas"))
        self.measure.setToolTip(tr("Measure of the areas"))
        self.measure.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.measure.currentIndexChanged.connect(self._draw_areas)
        self.pages = QStackedWidget()
        self.style_ = QComboBox()
        self.style_.setAccessibleName(tr("Areas or graph"))
        self.style_.setToolTip(tr("Areas or graph"))
        self.style_.addItems([tr("Areas"), tr("Graph")])
        self.style_.currentIndexChanged.connect(self.pages.setCurrentIndex)
        self.note = ElidedLabel()
        self.note.setObjectName("muted")
        self.table = _ModuleTable(RowActions(self))
        self.table.export_name = f"{document.path.stem}-modules"
        self.areas = ShareView(document.messages)
        self.areas.export_name = f"{document.path.stem}-model"
        self.areas.part_clicked.connect(self._area_chosen)
        self.areas.part_activated.connect(self.table.item_activated)
        self.graph = GraphView(document.messages)
        self.graph.export_name = f"{document.path.stem}-graph"
        self.graph.node_clicked.connect(self._area_chosen)
        self.graph.node_opened.connect(self.show_inside)
        self.graph.left.connect(self._show_outside)
        self.graph.menu_wanted.connect(self.table.add_pages)
        self.pages.addWidget(self.areas)
        self.pages.addWidget(self.graph)
        self._flow: ModuleFlow | None = None
        self._root = TOP
        split = SideBySide(self.table, self.pages, shares=(660, 400), least_px=(LEAST_TABLE_PX, 220))
        self.arrange((self.search, self.style_, self.measure, self.note), split)
        self._typing = single_shot(self, 120, lambda: self.table.set_search(self.search.text().strip()))
        self.search.textChanged.connect(self._typing.start)
        self.table.item_selected.connect(self.areas.set_chosen)
        self.table.item_selected.connect(self.graph.set_chosen)
        self.table.sorted_changed.connect(self._draw_areas)
        self.state.range_selection_changed.connect(self.range_moved)
        self.state.filter_changed.connect(self.mark_stale)
        self.state.track_selection_changed.connect(self.mark_stale)
        self.state.highlight_changed.connect(self._show_chosen)
        self.state.selection_changed.connect(self._show_chosen)

    def request(self) -> ModelRequest:
        """The calls in the selection."""
        return ModelRequest(selection_of(self.document.capture, self.state))

    def compute(self, request: ModelRequest, is_cancelled: IsCancelled) -> ModelResult:
        """Compute the report, with names relative to the parent row, and the call order."""
        report = compute_report(self.document.capture, "modules", request.selection, cancelled=is_cancelled)
        table = report.table
        if table is None:
            return ModelResult(report, ModuleFlow(*[np.empty(0, np.int64)] * 4))
        renamed = replace(table, data={**table.data, "name": relative_names(table)})
        flow = module_flow(View(self.document.capture, request.selection, cancelled=is_cancelled))
        return ModelResult(replace(report, result=renamed), flow)

    def show_result(self, _request: ModelRequest, result: ModelResult) -> None:
        """Fill tree, areas and graph, or show what to record."""
        report, self._flow = result.report, result.flow
        table = report.table
        if table is None:
            assert isinstance(report.result, NotRecorded)
            self.say_missing(report.result)
            self.note.setText("")
            return
        self.show_content()
        is_first = self.table.report is None
        self.table.show_report(table, self.document.capture, self.theme)
        if is_first and table.depth is not None:
            for item in np.flatnonzero(table.depth < _OPEN_LEVELS).tolist():
                self.table.open_item(item)
        length = format_duration(report.range_ns[1] - report.range_ns[0])
        scope = f"{translated(table.scope)} · {length}{scope_suffix(self.document.capture, self.state)}"
        self.set_scope(scope)
        self.note.setText("  ".join(translated(note) for note in table.notes))
        self.note.setToolTip(plain("\n".join(translated(note) for note in table.notes)))
        self._offer_measures(table)
        self._root = first_with_choice(table)
        self._draw_areas()
        self._show_chosen()

    def _offer_measures(self, table: Table) -> None:
        available = [name for name in _MEASURES if name in table.data]
        if [self.measure.itemData(place) for place in range(self.measure.count())] == available:
            return
        self.measure.blockSignals(True)
        self.measure.clear()
        for name in available:
            self.measure.addItem(translated(_MEASURES[name]), name)
        self.measure.blockSignals(False)

    def _draw_areas(self, *_values: object) -> None:
        """Draw an area for each module in the tree's order."""
        table, measure = self.table.report, self.measure.currentData()
        if table is None or measure is None or measure not in table.data:
            return
        # A call may release more memory than it allocates.
        values = np.maximum(np.asarray(table.data[measure]).astype(np.float64), 0.0)
        self.areas.show_parts(
            self._parts(values / max(float(values.sum()), 1.0)), translated(_MEASURES[measure])
        )
        self._draw_graph(table, measure)
        self.areas.set_chosen(self.table.current_item())

    def _parts(self, shares: npt.NDArray[np.float64]) -> list[Part]:
        shown, rest = largest(shares)
        highest = float(shares.max(initial=0.0)) or 1.0
        items, paths = shown.tolist(), [self._path(item) for item in shown.tolist()]
        names = ends_apart([self.table.full_name(item) for item in items], paths)
        parts = [
            Part(item, name, share, self._heat(share / highest), path)
            for item, name, share, path in zip(items, names, shares[shown].tolist(), paths, strict=True)
        ]
        if len(rest):
            text = tr_n("{count:,} other", "{count:,} others", len(rest))
            parts.append(Part(-1, text, float(shares[rest].sum()), self.theme.family("neutral")))
        return parts

    def _draw_graph(self, table: Table, measure: str) -> None:
        """Draw the modules inside the current one, in call order."""
        assert self._flow is not None
        rows, edges = graph_inside(table, self._flow, self._root)
        shares = shares_inside(table, self._root, rows, measure)
        highest = max(shares, default=0.0) or 1.0
        nodes = []
        for row, share in zip(rows, shares, strict=True):
            part = Part(row, self.table.full_name(row), share, self._heat(share / highest), self._path(row))
            nodes.append(Node(part, bool(rows_inside(table, row))))
        where = tr("whole network")
        if self._root != TOP:
            where = self._path(self._root)
        self.graph.show_graph(nodes, edges, tr("{module}, in call order", module=where))
        self.graph.set_chosen(self.table.current_item())

    def _path(self, row: int) -> str:
        """Full name of a row's module."""
        return self.document.capture.strings[int(self.table.target(row).name or 0)].removeprefix(IN_TRACES)

    def show_inside(self, row: int) -> None:
        """Show the graph inside a row's module; `TOP`: the modules without a caller."""
        self._root = row
        self._draw_areas()

    def _show_outside(self) -> None:
        table = self.table.report
        if table is not None and self._root != TOP:
            self.show_inside(row_above(table, self._root))

    def _heat(self, share: float) -> str:
        """The operator colour, stronger for larger shares."""
        strong, ground = to_rgb(self.theme.family("operator")), self.theme.rgb("panel")
        return f"#{mix(ground, strong, _COLDEST + (1 - _COLDEST) * share) & 0xFFFFFF:06x}"

    def _area_chosen(self, item: int) -> None:
        if item >= 0:
            self.table.show_one_of([item])
            self.areas.set_chosen(item)
            self.graph.set_chosen(item)
            self.table.item_selected.emit(item)

    def _show_chosen(self, *_values: object) -> None:
        """Select the module of the selected or highlighted call."""
        names = self.state.highlight
        if not names and self.state.selection is not None:
            names = frozenset((int(self.document.capture.events.name[self.state.selection]),))
        items = self.table.items_named(frozenset(names)) if names else []
        if items and self.table.current_item() not in items:
            self.table.show_one_of(items)
        elif not names:
            self.table.show_item(None)
        self.areas.set_chosen(self.table.current_item())
        self.graph.set_chosen(self.table.current_item())

    def apply_theme(self, theme: Theme) -> None:
        self.forget()


def relative_names(table: Table) -> list[str]:
    """Module names relative to the caller's (``layer.0`` below ``bert.encoder``)."""
    names = [str(name) for name in table.data["name"]]
    assert table.depth is not None
    ancestors: list[str] = []
    result = []
    for name, depth in zip(names, table.depth.tolist(), strict=True):
        del ancestors[depth:]
        prefix = f"{ancestors[-1]}." if ancestors else ""
        result.append(name.removeprefix(prefix) or name)
        ancestors.append(name)
    return result
