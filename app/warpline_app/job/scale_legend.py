"""Legend of a map: the colour scale with its ends and unit, and the colour of missing values."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from warpline.analysis.framework.column import Column
from warpline.i18n import tr
from warpline_app.job.cell_text import column_title, value_text
from warpline_app.job.color_scale import STEPS, color_table, missing_color
from warpline_app.job.value_range import ValueRange
from warpline_app.look.appearance import appearance
from warpline_app.look.painting import contained
from warpline_app.look.theme import Theme, ui_font
from warpline_app.look.widgets import shows_tooltip

_TEXT_PX = 11
_BAR_PX = (150, 10)
_GAP_PX = 8


class ScaleLegend(QWidget):
    """A colour bar between its end values; ``≤`` and ``≥`` mark values beyond the ends."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.column: Column | None = None
        self.range: ValueRange | None = None
        self.has_missing = False
        self._theme: Theme | None = None
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        appearance().theme_changed.connect(self._repaint)

    def _repaint(self, _theme: object) -> None:
        self.update()

    def show_range(self, column: Column | None, value_range: ValueRange | None, *, has_missing: bool) -> None:
        """Show this column's range."""
        self.column, self.range, self.has_missing = column, value_range, has_missing
        self.setAccessibleName(self.description())
        self.updateGeometry()
        self.update()

    def set_theme(self, theme: Theme | None) -> None:
        """Paint in this theme instead of the window's."""
        self._theme = theme

    @property
    def texts(self) -> tuple[str, str]:
        """Labels at the ends of the bar."""
        value_range = self.range
        if value_range is None:
            return "", ""
        low = ("≤ " if value_range.is_cut_below else "") + value_text(self.column, value_range.low)
        high = ("≥ " if value_range.is_cut_above else "") + value_text(self.column, value_range.high)
        return low, high

    def description(self) -> str:
        """The legend as text."""
        value_range = self.range
        if value_range is None:
            return tr("No cell has a value")
        lines = [
            tr(
                "{quantity}: from {low} to {high}",
                quantity=column_title(self.column),
                low=value_text(self.column, value_range.low),
                high=value_text(self.column, value_range.high),
            )
        ]
        if value_range.is_cut_below or value_range.is_cut_above:
            lines.append(
                tr(
                    "Outliers have the colour of the nearer end: values range from {least} to {most}.",
                    least=value_text(self.column, value_range.least),
                    most=value_text(self.column, value_range.most),
                )
            )
        lines.append(tr("Cells that share a pixel show the largest value."))
        return "\n".join(lines)

    @property
    def _missing_text(self) -> str:
        return tr("not recorded") if self.has_missing else ""

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(ui_font(_TEXT_PX))
        if self.range is None:
            return QSize(0, 22)
        width = _BAR_PX[0] + sum(metrics.horizontalAdvance(text) + _GAP_PX for text in self.texts)
        if self._missing_text:
            width += metrics.horizontalAdvance(self._missing_text) + 3 * _GAP_PX + _BAR_PX[1]
        return QSize(width, 22)

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        self.draw(painter)

    def draw(self, painter: QPainter) -> None:
        """Draw on any device."""
        if self.range is None:
            return
        theme = self._theme or appearance().theme
        font = ui_font(_TEXT_PX)
        metrics = QFontMetrics(font)
        painter.setFont(font)
        low, high = self.texts
        left = 0.0
        middle = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft

        def write(text: str) -> None:
            nonlocal left
            width = metrics.horizontalAdvance(text)
            painter.setPen(theme.color("muted"))
            painter.drawText(QRectF(left, 0, width + 2, self.height()), middle, text)
            left += width + _GAP_PX

        write(low)
        top = (self.height() - _BAR_PX[1]) / 2
        colors = color_table(theme)[:STEPS]
        bar = QImage(colors.tobytes(), STEPS, 1, 4 * STEPS, QImage.Format.Format_RGB32).copy()
        painter.drawImage(QRectF(left, top, *_BAR_PX), bar)
        left += _BAR_PX[0] + _GAP_PX
        write(high)
        if self._missing_text:
            left += _GAP_PX
            painter.fillRect(QRectF(left, top, _BAR_PX[1], _BAR_PX[1]), QColor(missing_color(theme)))
            left += _BAR_PX[1] + _GAP_PX
            write(self._missing_text)

    def event(self, event: QEvent) -> bool:
        return shows_tooltip(self, event, lambda _point: self.description()) or super().event(event)
