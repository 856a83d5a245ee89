"""The flame graph of ranges, operators, Python calls or samples of exactly what is selected."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QLineEdit, QMenu, QVBoxLayout, QWidget

from warpline.analysis.flame import Flame, flame_graph
from warpline.analysis.report import NotRecorded
from warpline.analysis.selection import Selection, View
from warpline.i18n import tr
from warpline_app.background import IsCancelled
from warpline_app.instances import longest
from warpline_app.panels.computed import ComputedPanel
from warpline_app.panels.flame_view import FlameView
from warpline_app.panels.scope import not_recorded_text, selection_of
from warpline_app.state import Document
from warpline_app.theme import Theme

_SOURCES = (("operators", "Operators"), ("ranges", "Ranges"), ("python", "Python"), ("samples", "Samples"))
_ORDERS = (("heavy", "Left-heavy"), ("bottom", "Bottom-up"), ("time", "In time"))


@dataclass(frozen=True)
class Request:
    """Which graph, about what."""

    source: str
    order: str
    selection: Selection


class FlamePanel(ComputedPanel):
    """Follows range selection and filter; a clicked box lights up its name on the timeline."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        kinds = document.capture.kinds
        self.source = QComboBox()
        self.source.setAccessibleName(tr("Of what"))
        for key, title in _SOURCES:
            self.source.addItem(tr(title, "flame"), key)
        wanted = {"operators": "operator", "ranges": "range", "python": "python", "samples": "sample"}
        present = [key for key, kind in wanted.items() if kind in kinds]
        if present:
            self.source.setCurrentIndex(self.source.findData(present[0]))
        self.source.currentIndexChanged.connect(self.mark_stale)
        self.order = QComboBox()
        self.order.setAccessibleName(tr("Order"))
        for key, title in _ORDERS:
            self.order.addItem(tr(title, "flame"), key)
        self.order.currentIndexChanged.connect(self.mark_stale)
        self.search = QLineEdit()
        self.search.setPlaceholderText(tr("Find, /regex/"))
        self.search.setAccessibleName(tr("Find in the graph"))
        self.search.setClearButtonEnabled(True)
        self.search.setMaximumWidth(220)
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(120)
        self._typing.timeout.connect(self._find)
        self.search.textChanged.connect(self._typing.start)
        self.note = QLabel(tr("double click: zoom in, on the ground: out"))
        self.note.setObjectName("muted")
        row = QHBoxLayout()
        row.setContentsMargins(10, 5, 10, 5)
        row.setSpacing(8)
        for widget in (self.source, self.order, self.search):
            row.addWidget(widget)
        row.addWidget(self.note, 1)
        self.view = FlameView(document.capture, self.theme)
        self.view.export_name = f"{document.path.stem}-flame"
        self.view.box_clicked.connect(self._clicked)
        self.view.box_menu.connect(self._menu)
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
        layout.addWidget(self.view, 1)
        layout.addWidget(self.missing, 1)
        self.state.range_selection_changed.connect(self.range_moved)
        self.state.filter_changed.connect(self.mark_stale)
        self.state.highlight_changed.connect(self._show_highlight)

    def request(self) -> Request:
        """The graph asked for."""
        capture = self.document.capture
        return Request(self.source.currentData(), self.order.currentData(), selection_of(capture, self.state))

    def compute(self, request: Request, is_cancelled: IsCancelled) -> Flame | NotRecorded:
        """The boxes."""
        view = View(self.document.capture, request.selection)
        return flame_graph(
            view, request.source, bottom_up=request.order == "bottom", by_time=request.order == "time"
        )

    def show_result(self, request: Request, result: Flame | NotRecorded) -> None:
        """Draw the boxes, or say what to record."""
        is_missing = isinstance(result, NotRecorded)
        self.view.setVisible(not is_missing)
        self.missing.setVisible(is_missing)
        if isinstance(result, NotRecorded):
            self.missing.setText(not_recorded_text(result))
            self.set_scope("")
            return
        self.view.show_flame(result)
        where = (
            tr("in the whole capture") if request.selection.start_ns is None else tr("in the selected range")
        )
        self.set_scope(f"{self.source.currentText()} {where} · {self.view.value_text(result.total)}")
        self._show_highlight()

    def show_failure(self, error: Exception) -> None:
        """Say why there is no graph."""
        self.view.hide()
        self.missing.setText(tr("The graph could not be computed: {error}", error=error))
        self.missing.show()

    def _find(self) -> None:
        text = self.search.text().strip()
        if not text:
            self.view.set_search(None)
            return
        regex = len(text) > 2 and text.startswith("/") and text.endswith("/")
        strings = self.document.capture.strings
        matches = np.zeros(max(len(strings), 1), bool)
        try:
            matches[strings.find(text[1:-1] if regex else text, regex=regex)] = True
        except re.error:
            return  # still being typed
        self.view.set_search(matches)

    def _clicked(self, box: int) -> None:
        flame = self.view.flame
        if flame is None:
            return
        if flame.row[box] >= 0:
            self.state.select(int(flame.row[box]))
        self.state.set_highlight((int(flame.name[box]),))

    def _menu(self, box: int, position: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        flame = self.view.flame
        if box >= 0 and flame is not None:
            name = int(flame.name[box])
            text = self.document.capture.strings[name]
            menu.addAction(tr("Show the longest in the timeline"), lambda: self._show_longest(name))
            menu.addAction(tr("Filter to this"), lambda: self._filter(text))
            menu.addAction(tr("Copy name"), lambda: QGuiApplication.clipboard().setText(text))
            menu.addAction(tr("Zoom in"), lambda: self.view.zoom(box))
        menu.addAction(tr("Zoom out"), lambda: self.view.zoom(-1))
        menu.addSeparator()
        self.view.add_export(menu)
        menu.popup(position)

    def _filter(self, text: str) -> None:
        self.state.change_filter(names=f"^{re.escape(text)}$", regex=True, case=True)

    def _show_longest(self, name: int) -> None:
        self.state.set_highlight((name,))
        row = longest(self.document.capture, frozenset((name,)), -1, self.state.range_selection)
        if row is not None:
            self.state.reveal(row)

    def _show_highlight(self, *_values: object) -> None:
        self.view.set_highlight(self.state.highlight)

    def apply_theme(self, theme: Theme) -> None:
        """Boxes have the hues of the theme."""
        self.view.theme = theme
        self.view.update()
