"""A chart of any two columns of a result: a line over ascending values, bars over texts, points otherwise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QVBoxLayout, QWidget

from warpline.i18n import tr
from warpline.query.session import QueryResult
from warpline.query.wire import ResultColumn
from warpline_app.look.theme import Theme
from warpline_app.look.widgets import muted_label
from warpline_app.look.wrapping_row import WrappingRow
from warpline_app.open.document import Document
from warpline_app.panels.charts.chart import Chart, duration_ticks, linear_ticks, time_axis, whole_ticks
from warpline_app.panels.query.result_columns import is_duration, is_moment, is_number

Float64Array = npt.NDArray[np.float64]
MOST_BARS = 60
"""Texts beyond these have no bar."""
_BAR = 0.8
_SIDE = 0.02
"""Margin beside the outermost points, as a share of the width."""
_DOT_PX = 5.0
_TEXT_CHARACTERS = 14
_MOST = 1e100
"""Numbers beyond this are left out: their differences would be no numbers."""


class ResultChart(QWidget):
    """The chart, with a choice of its columns above. A click emits the row that is nearest in x."""

    item_clicked = Signal(int)

    def __init__(self, document: Document, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._result: QueryResult | None = None
        self._columns: tuple[str, ...] = ()
        self._items: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self._x: Float64Array = np.empty(0)
        self.x_choice, self.y_choice = QComboBox(), QComboBox()
        self.x_choice.setAccessibleName(tr("Horizontal axis"))
        self.y_choice.setAccessibleName(tr("Vertical axis"))
        row = WrappingRow()
        for text, choice in ((tr("Show"), self.y_choice), (tr("over"), self.x_choice)):
            row.add(muted_label(text))
            row.add(choice)
            choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
            choice.currentIndexChanged.connect(self._draw)
        self.note = muted_label()
        row.add(self.note, is_stretching=True)
        self.chart = Chart(theme, document.messages)
        self.chart.export_name = f"{document.path.stem}-query"
        self.chart.clicked.connect(self._clicked)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(row)
        column.addWidget(self.chart, 1)

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        self.chart.set_theme(theme)
        self._draw()

    def show_result(self, result: QueryResult) -> None:
        """Draw a result; the choice is kept while the columns are the same."""
        self._result = result
        names = tuple(column.name for column in result.columns)
        if names != self._columns:
            self._columns = names
            numbers = [place for place, column in enumerate(result.columns) if is_number(column)]
            for choice in (self.x_choice, self.y_choice):
                choice.blockSignals(True)
                choice.clear()
            for place, name in enumerate(names):
                self.x_choice.addItem(name, place)
            for place in numbers:
                self.y_choice.addItem(names[place], place)
            first = next((place for place, column in enumerate(result.columns) if is_moment(column)), 0)
            self.x_choice.setCurrentIndex(first)
            durations = [n for n, place in enumerate(numbers) if is_duration(result.columns[place])]
            others = [n for n, place in enumerate(numbers) if place != first]
            self.y_choice.setCurrentIndex(durations[0] if durations else others[-1] if others else 0)
            for choice in (self.x_choice, self.y_choice):
                choice.blockSignals(False)
        self._draw()

    def _draw(self, *_values: object) -> None:
        result, chart = self._result, self.chart
        if result is None:
            return
        chart.begin()
        self.note.setText("")
        x_place, y_place = self.x_choice.currentData(), self.y_choice.currentData()
        if x_place is None or y_place is None or not len(result):
            self._items, self._x = np.empty(0, np.int64), np.empty(0)
            chart.end()
            self.note.setText(tr("no column of numbers") if y_place is None else tr("no rows"))
            return
        x_column, y_column = result.columns[x_place], result.columns[y_place]
        if is_number(x_column):
            self._draw_numbers(x_column, y_column)
        else:
            self._draw_texts(x_column, y_column)
        chart.end()

    def _draw_numbers(self, x_column: ResultColumn, y_column: ResultColumn) -> None:
        x, y = _floats(x_column), _floats(y_column)
        self._items = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
        self._x, y = x[self._items], y[self._items]
        if not len(y):
            self.note.setText(tr("no values that can be drawn"))
            return
        if len(y) > 1 and bool(np.all(np.diff(self._x) > 0)):
            self.chart.line(self._x, y, self.chart.theme.family("kernel"))
        else:
            sizes = np.full(len(y), _DOT_PX)
            self.chart.dots(self._x, y, sizes, self.chart.theme.family("kernel"), "o")
        low, high = float(self._x.min()), float(self._x.max())
        axis = self.chart.x_axis
        axis.ticks, axis.texts, axis.text = linear_ticks, None, _number_text
        if is_moment(x_column):
            origin_ns = self._document.state.origin_ns - self._document.capture.span[0]
            time_axis(self.chart, int(low), int(high), origin_ns)
        elif is_duration(x_column):
            axis.texts = duration_ticks
        margin = (high - low) * _SIDE
        self._show(y_column, y, (low - margin, high + margin))

    def _draw_texts(self, x_column: ResultColumn, y_column: ResultColumn) -> None:
        y = _floats(y_column)
        self._items = np.flatnonzero(np.isfinite(y))[:MOST_BARS]
        if len(self._items) < int(np.isfinite(y).sum()):
            self.note.setText(tr("the first {count} rows", count=MOST_BARS))
        y = y[self._items]
        if not len(y):
            self.note.setText(tr("no values that can be drawn"))
            return
        self._x = np.arange(len(y), dtype=np.float64)
        self.chart.bars(self._x, _BAR, y, self.chart.theme.family("kernel"))
        texts = [_short(x_column.values[item]) for item in self._items.tolist()]
        axis = self.chart.x_axis
        axis.ticks, axis.texts = whole_ticks, None
        axis.text = lambda value: texts[round(value)] if 0 <= round(value) < len(texts) else ""
        self._show(y_column, y, (-0.6, max(len(y), 4) - 0.4))

    def _show(self, y_column: ResultColumn, y: Float64Array, x_range: tuple[float, float]) -> None:
        axis = self.chart.y_axis
        axis.text, axis.texts = _number_text, duration_ticks if is_duration(y_column) else None
        low, high = min(float(y.min()), 0.0), max(float(y.max()), 0.0)
        margin = (high - low) * 0.06 or 1.0
        self.chart.show_range(
            (x_range[0], max(x_range[1], x_range[0] + 1)), (low - (margin if low < 0 else 0), high + margin)
        )
        for each in (self.chart.x_axis, axis):
            each.update()

    def _clicked(self, x: float, _y: float) -> None:
        if len(self._x):
            self.item_clicked.emit(int(self._items[int(np.abs(self._x - x).argmin())]))


def _floats(column: ResultColumn) -> Float64Array:
    values = column.values.astype(np.float64)
    there = np.abs(values) <= _MOST
    return np.where(there if column.valid is None else there & column.valid, values, np.nan)


def _short(value: object) -> str:
    text = "–" if value is None else " ".join(str(value).split())
    return text if len(text) <= _TEXT_CHARACTERS else f"{text[: _TEXT_CHARACTERS - 1]}…"


def _number_text(value: float) -> str:
    return f"{value:,.6g}"
