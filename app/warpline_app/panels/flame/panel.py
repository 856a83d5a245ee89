"""The flame graph of ranges, operators, Python calls or samples in the selection."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QComboBox, QMenu, QWidget

from warpline.analysis.framework.report import NotRecorded
from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.structure.flame import Flame, flame_graph
from warpline.analysis.structure.stack_flame import STACK_SOURCES, stack_flame
from warpline.i18n import english, tr, translated
from warpline.model.progress import IsCancelled
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.theme import Theme
from warpline_app.look.widgets import search_field, single_shot
from warpline_app.open.document import Document
from warpline_app.panels.flame.legend import FlameLegend
from warpline_app.panels.flame.view import FlameView
from warpline_app.panels.frame.computed import ComputedPanel
from warpline_app.panels.frame.row_target import RowTarget
from warpline_app.panels.frame.scope import scope_suffix, selection_of
from warpline_app.panels.table.row_actions import RowActions

_SOURCES = (
    ("operators", english("Operators")),
    ("ranges", english("Ranges")),
    ("python", english("Python")),
    ("merged", english("Running and waiting")),
    ("on_cpu", english("Running: samples on a core")),
    ("off_cpu", english("Waiting")),
    ("reasons", english("Waiting, by reason")),
    ("samples", english("All samples")),
)
_ORDERS = (("heavy", english("Left-heavy")), ("bottom", english("Bottom-up")), ("time", english("By time")))


@dataclass(frozen=True)
class FlameRequest:
    """Which graph, over which selection."""

    source: str
    order: str
    selection: Selection


class FlamePanel(ComputedPanel):
    """Follows range and filter; clicking a box highlights its name on the timeline."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        kinds = document.capture.kinds
        self.source = QComboBox()
        self.source.setAccessibleName(tr("Graph"))
        for key, title in _SOURCES:
            self.source.addItem(translated(title), key)
        states = kinds.get("thread_state")
        has_waits = states is not None and "wait" in states.attributes
        has_samples = "sample" in kinds or "cpu_sample" in kinds
        has_data = {
            "operators": "operator" in kinds,
            "merged": has_samples and has_waits,
            "ranges": "range" in kinds,
            "python": "python" in kinds,
            "on_cpu": has_samples,
            "off_cpu": has_waits,
        }
        present = [key for key, has_it in has_data.items() if has_it]
        if present:
            self.source.setCurrentIndex(self.source.findData(present[0]))
        self.source.currentIndexChanged.connect(self.mark_stale)
        self.order = QComboBox()
        self.order.setAccessibleName(tr("Order"))
        for key, title in _ORDERS:
            self.order.addItem(translated(title), key)
        self.order.currentIndexChanged.connect(self.mark_stale)
        self.search = search_field(tr("Find, /regex/"), name=tr("Find in the graph"))
        self.search.setMaximumWidth(220)
        self._typing = single_shot(self, 120, self._find)
        self.search.textChanged.connect(self._typing.start)
        self.note = ElidedLabel(tr("double-click a box to zoom in, the background to zoom out"))
        self.note.setObjectName("muted")
        self.legend = FlameLegend(self.theme)
        self._actions = RowActions(self)
        self.view = FlameView(document.capture, self.theme, document.messages)
        self.view.export_name = f"{document.path.stem}-flame"
        self.view.box_clicked.connect(lambda box: self._actions.choose(self._target(box)))
        self.view.box_menu.connect(self._menu)
        self.view.frame_wanted.connect(self.state.show_source)
        self.arrange((self.source, self.order, self.search, self.legend, self.note), self.view)
        self.state.range_selection_changed.connect(self.range_moved)
        self.state.filter_changed.connect(self.mark_stale)
        self.state.track_selection_changed.connect(self.mark_stale)
        self.state.highlight_changed.connect(self._show_highlight)

    def request(self) -> FlameRequest:
        """The graph to show."""
        capture = self.document.capture
        return FlameRequest(
            self.source.currentData(), self.order.currentData(), selection_of(capture, self.state)
        )

    def compute(self, request: FlameRequest, is_cancelled: IsCancelled) -> Flame | NotRecorded:
        """Compute the boxes."""
        view = View(self.document.capture, request.selection, is_cancelled)
        graph = stack_flame if request.source in STACK_SOURCES else flame_graph
        return graph(
            view, request.source, bottom_up=request.order == "bottom", by_time=request.order == "time"
        )

    def show_result(self, request: FlameRequest, result: Flame | NotRecorded) -> None:
        """Draw the boxes, or show what to record."""
        if isinstance(result, NotRecorded):
            self.legend.show_codes(frozenset())
            self.say_missing(result)
            return
        self.show_content()
        self.view.show_flame(result)
        self.legend.show_codes(self.view.codes())
        where = (
            tr("in the whole capture") if request.selection.start_ns is None else tr("in the selected range")
        )
        total = self.view.value_text(result.total)
        suffix = scope_suffix(self.document.capture, self.state)
        self.set_scope(f"{self.source.currentText()} {where} · {total}{suffix}")
        self._show_highlight()

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
            return  # incomplete expression
        self.view.set_search(matches)

    def _target(self, box: int) -> RowTarget:
        flame = self.view.flame
        if flame is None:
            return RowTarget()
        row, name = int(flame.row[box]), int(flame.name[box])
        is_name = name < len(self.document.capture.strings)
        return RowTarget(name=name if is_name else None, event=row if row >= 0 else None)

    def _menu(self, box: int, position: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        flame = self.view.flame
        if box >= 0 and flame is not None:
            text = flame.text(self.document.capture, box)
            self._actions.fill_menu(menu, self._target(box), lambda: text)
            menu.addSeparator()
            frame = self.view.frame_of(box)
            if frame is not None and frame.file:
                menu.addAction(tr("Show source line"), lambda: self.state.show_source(frame))
            menu.addAction(tr("Zoom in"), lambda: self.view.zoom(box))
        menu.addAction(tr("Zoom out"), lambda: self.view.zoom(-1))
        menu.addSeparator()
        self.view.add_export(menu)
        menu.popup(position)

    def _show_highlight(self, *_values: object) -> None:
        self.view.set_highlight(self.state.highlight)

    def apply_theme(self, theme: Theme) -> None:
        self.view.theme = self.legend.theme = theme
        self.legend.update()
        self.view.update()
