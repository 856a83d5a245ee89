"""What the colours of a map mean: the scale with its ends and unit, and the colour of what was not recorded."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QHelpEvent, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from warpline.analysis.framework.column import Column
from warpline.i18n import tr
from warpline_app.job.cell_text import column_title, value_text
from warpline_app.job.color_scale import STEPS, color_table, missing_color
from warpline_app.job.value_range import ValueRange
from warpline_app.look.appearance import appearance
from warpline_app.look.painting import contained
from warpline_app.look.theme import Theme, ui_font

_TEXT_PX = 11
_BAR_PX = (150, 10)
_GAP_PX = 8


class ScaleLegend(QWidget):
    """A bar of the colours between the values at its ends; ``≤`` and ``≥`` where there are values beyond them."""

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

    def show_range(self, column: Column | None, found: ValueRange | None, *, has_missing: bool) -> None:
        """Explain other colours."""
        self.column, self.range, self.has_missing = column, found, has_missing
        self.setAccessibleName(self.about())
        self.updateGeometry()
        self.update()

    def set_theme(self, theme: Theme | None) -> None:
        """Paint in these colours whatever the window's are."""
        self._theme = theme

    @property
    def texts(self) -> tuple[str, str]:
        """What stands at the ends of the bar."""
        found = self.range
        if found is None:
            return "", ""
        low = ("≤ " if found.is_cut_below else "") + value_text(self.column, found.low)
        high = ("≥ " if found.is_cut_above else "") + value_text(self.column, found.high)
        return low, high

    def about(self) -> str:
        """The legend in words."""
        found = self.range
        if found is None:
            return tr("no cell has a value")
        lines = [
            tr(
                "{quantity}: from {low} to {high}",
                quantity=column_title(self.column),
                low=value_text(self.column, found.low),
                high=value_text(self.column, found.high),
            )
        ]
        if found.is_cut_below or found.is_cut_above:
            lines.append(
                tr(
                    "Outliers have the colour of the nearest end: values go from {least} to {most}.",
                    least=value_text(self.column, found.least),
                    most=value_text(self.column, found.most),
                )
            )
        lines.append(tr("Where several cells share a pixel, it shows the largest of them."))
        return "\n".join(lines)

    @property
    def _missing_text(self) -> str:
        return tr("not recorded") if self.has_missing else ""

    def sizeHint(self) -> QSize:
        """As wide as its texts."""
        metrics = QFontMetrics(ui_font(_TEXT_PX))
        if self.range is None:
            return QSize(0, 22)
        width = _BAR_PX[0] + sum(metrics.horizontalAdvance(text) + _GAP_PX for text in self.texts)
        if self._missing_text:
            width += metrics.horizontalAdvance(self._missing_text) + 3 * _GAP_PX + _BAR_PX[1]
        return QSize(width, 22)

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        """The bar and its ends."""
        self.draw(painter)

    def draw(self, painter: QPainter) -> None:
        """Draw on anything."""
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
        """Tooltips."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), self.about(), self)
            return True
        return super().event(event)
