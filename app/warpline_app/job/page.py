"""A job's tab: the map of its ranks and steps, with tables below."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu, QSplitter, QStackedWidget, QWidget

from warpline.analysis.framework.report import NotRecorded
from warpline.i18n import tr, tr_n, translated
from warpline_app.job.at_step import open_chosen
from warpline_app.job.cell_text import cell_lines
from warpline_app.job.controls import JobControls, reasons_text
from warpline_app.job.map_canvas import JobMapCanvas
from warpline_app.job.map_export import MapPicture, copy_cells, copy_picture, save_csv_as, save_picture_as
from warpline_app.job.map_frame import MapFrame
from warpline_app.job.map_input import MapInput
from warpline_app.job.tables import FINDINGS, LinkedTables
from warpline_app.look.native_keys import native_keys
from warpline_app.look.plain import PlainLabel
from warpline_app.look.widgets import flat_column
from warpline_app.open.job.board import JobBoard
from warpline_app.open.workspace import Workspace

_TABLE, _SPLIT = "job/table", "job/split"


def _first_table(board: JobBoard) -> str:
    """Findings if there are any, else the stragglers."""
    return FINDINGS if board.job.findings else "job_stragglers"


class JobPage(QWidget):
    """Shows a `JobBoard`; captures opened from it get tabs of their own."""

    def __init__(self, board: JobBoard, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.board = board
        self._workspace = workspace
        self.controls = JobControls(board)
        self.canvas = JobMapCanvas(board)
        self.input = MapInput(self.canvas)
        self.tables = LinkedTables(board, workspace.messages)
        self._arrange()
        for signal in (self.controls.open_wanted, self.input.open_wanted, self.tables.open_wanted):
            signal.connect(self.open_chosen)
        self.input.copy_wanted.connect(lambda: copy_cells(board))
        self.input.menu_wanted.connect(lambda where: self.menu().popup(where))
        for signal in (board.column_changed, board.range_changed):
            signal.connect(lambda _value: self._explain())
        board.hover_changed.connect(self._tell_hover)
        self._explain()
        settings = workspace.settings
        self.tables.show_report(str(settings.record_of(_TABLE).get("name", _first_table(board))))
        self.tables.chosen.connect(lambda name: settings.set_record(_TABLE, {"name": name}))
        self.setFocusProxy(self.canvas)

    def _arrange(self) -> None:
        self.map = QStackedWidget()
        shown = QWidget()
        column = flat_column(shown)
        column.addWidget(MapFrame(self.canvas), 1)
        column.addWidget(self.controls.strip)
        self.map.addWidget(shown)
        self.map.addWidget(self._why_empty())
        self.map.setCurrentIndex(0 if len(self.board.map.steps) else 1)
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.setHandleWidth(3)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.addWidget(self.map)
        self.splitter.addWidget(self.tables)
        wanted = self.canvas.sizeHint().height()
        self.splitter.setSizes([wanted, max(220, 700 - wanted)])
        self.splitter.setStretchFactor(0, 1)
        self.splitter.setStretchFactor(1, 1)
        saved_split = self._workspace.settings.bytes_of(_SPLIT)
        if saved_split is not None:
            self.splitter.restoreState(saved_split)
        self.splitter.splitterMoved.connect(
            lambda _at, _index: self._workspace.settings.set_bytes(_SPLIT, self.splitter.saveState())
        )
        column = flat_column(self)
        column.addWidget(self.controls)
        column.addWidget(self.splitter, 1)

    def _why_empty(self) -> QWidget:
        """The label shown instead of the map if no rank has a step."""
        report = self.board.job.reports.get("job_steps")
        why = report.result if report is not None else None
        parts = [tr("No steps to show")]
        if isinstance(why, NotRecorded):
            parts += [translated(why.reason), translated(why.remedy)]
        parts.append(reasons_text(self.board))
        label = PlainLabel("\n\n".join(filter(None, parts)))
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        label.setWordWrap(True)
        label.setContentsMargins(40, 10, 40, 10)
        label.setObjectName("muted")
        return label

    def _explain(self) -> None:
        """Update the legend."""
        name = self.board.column
        cells = self.board.map.cells(name) if name else None
        self.controls.legend.show_range(
            self.board.map.column(name),
            self.canvas.range,
            has_missing=cells is not None and bool(np.isnan(cells).any()),
        )

    def _tell_hover(self, cell: object) -> None:
        if self.board.hover is not None:
            self._workspace.tell(" · ".join(cell_lines(self.board, self.board.hover)))
        elif cell is None:
            self._workspace.tell("")

    @property
    def picture(self) -> MapPicture:
        """The widgets a picture of the map is drawn from."""
        return MapPicture(self.board, self.canvas, self.controls.legend)

    def open_chosen(self) -> None:
        """Open the selection: one rank at its step, or several on one timeline."""
        open_chosen(self._workspace, self.board)

    def menu(self) -> QMenu:
        """Context menu of the map and its selection."""
        board = self.board
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        count = len(board.ranks_chosen())
        title = (
            tr_n("Open {count} rank", "Open {count} ranks on one timeline", count)
            if count > 1
            else tr("Open rank")
        )
        menu.addAction(title, self.open_chosen).setEnabled(count > 0)
        menu.addSeparator()
        menu.addAction(tr("Show all") + "\tF", self.canvas.fit)
        menu.addSeparator()
        menu.addAction(tr("Copy values") + native_keys("\tCtrl+C"), lambda: copy_cells(board))
        menu.addAction(tr("Copy picture"), lambda: copy_picture(self.picture))
        menu.addAction(
            tr("Save picture…"), lambda: save_picture_as(self.picture, self, self._workspace.messages)
        )
        menu.addAction(tr("Export map as CSV…"), lambda: save_csv_as(board, self, self._workspace.messages))
        return menu
