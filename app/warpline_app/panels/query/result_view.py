"""The rows of a query's result: a table linked to the timeline, and a chart of two columns beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from warpline.i18n import tr
from warpline.query.session import QueryResult, TableInfo
from warpline_app.look.theme import Theme
from warpline_app.look.widgets import flat_column
from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.room import LEAST_TABLE_PX, SideBySide
from warpline_app.panels.frame.row_target import RowTarget
from warpline_app.panels.query.result_columns import ResultTargets, result_content
from warpline_app.panels.table.content import TableContent
from warpline_app.panels.table.row_actions import RowActions
from warpline_app.panels.table.table import PanelTable

if TYPE_CHECKING:
    from warpline_app.panels.query.result_chart import ResultChart


class ResultTable(PanelTable):
    """Rows of a result. A row of an event selects it; a row with a time and a duration frames them."""

    def __init__(self, panel: Panel) -> None:
        super().__init__(panel.document.messages)
        self._actions = RowActions(panel)
        self._targets: ResultTargets | None = None
        self.item_selected.connect(lambda item: self._choose(self.target(item)))
        self.item_activated.connect(lambda item: self._actions.show(self.target(item)))

    def show_result(self, content: TableContent, targets: ResultTargets) -> None:
        """Show other rows."""
        self._targets = targets
        self.set_content(content)
        self.scrollToTop()

    def target(self, item: int) -> RowTarget:
        """What a row means on the timeline."""
        return RowTarget() if self._targets is None else self._targets.of(item)

    def _choose(self, target: RowTarget) -> None:
        if target.range_ns is not None:
            self._actions.show(target)
        elif not target.is_nothing:
            self._actions.choose(target)

    def fill_menu(self, menu: QMenu, item: int | None) -> dict[str, QAction]:
        """Add the actions of a row that means something on the timeline; returns them by id."""
        actions: dict[str, QAction] = {}
        target = RowTarget() if item is None else self.target(item)
        if item is not None and not target.is_nothing:
            actions["show"] = menu.addAction(tr("Show in the timeline"), lambda: self._actions.show(target))
            menu.addSeparator()
        return {**actions, **super().fill_menu(menu, item)}


class ResultView(QWidget):
    """The table, and the chart when it is wanted."""

    def __init__(self, panel: Panel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._panel = panel
        self.result: QueryResult | None = None
        self.table = ResultTable(panel)
        self.table.export_name = f"{panel.document.path.stem}-query"
        self._side = QWidget()
        flat_column(self._side)
        self._side.hide()
        self.chart: ResultChart | None = None
        split = SideBySide(self.table, self._side, shares=(1, 1), least_px=(LEAST_TABLE_PX, LEAST_TABLE_PX))
        flat_column(self).addWidget(split)

    def show_result(self, result: QueryResult, sql: str, tables: Sequence[TableInfo]) -> None:
        """Show the rows of a query."""
        document = self._panel.document
        self.result = result
        capture, origin_ns = document.capture, document.state.origin_ns - document.capture.span[0]
        targets = ResultTargets(result, sql, tables, capture)
        self.table.show_result(result_content(result, origin_ns), targets)
        self._draw()

    def show_origin(self) -> None:
        """Show times relative to another origin."""
        if self.result is not None:
            document = self._panel.document
            origin_ns = document.state.origin_ns - document.capture.span[0]
            self.table.set_content(result_content(self.result, origin_ns))

    def show_chart(self, on: bool) -> None:
        """Show or hide the chart."""
        if on and self.chart is None:
            from warpline_app.panels.query.result_chart import ResultChart

            self.chart = ResultChart(self._panel.document, self._panel.theme)
            self.chart.item_clicked.connect(self._go_to)
            layout = self._side.layout()
            assert layout is not None
            layout.addWidget(self.chart)
        self._side.setVisible(on)
        self._draw()

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        if self.chart is not None:
            self.chart.set_theme(theme)

    def _draw(self) -> None:
        if self.chart is not None and self.result is not None and not self._side.isHidden():
            self.chart.show_result(self.result)

    def _go_to(self, item: int) -> None:
        self.table.show_item(item)
        self.table.item_selected.emit(item)
