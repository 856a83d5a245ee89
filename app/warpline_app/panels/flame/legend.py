"""The legend of a flame graph that mixes Python and native functions."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from warpline.i18n import tr
from warpline_app.look.painting import contained
from warpline_app.look.theme import Theme, ui_font
from warpline_app.panels.flame.colors import Code, color_of_code, draw_box

_SWATCH_PX, _GAP_PX, _BETWEEN_PX = 11, 5, 12


class FlameLegend(QWidget):
    """Labelled swatches; hidden if a graph has no native functions."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.codes: tuple[Code, ...] = ()
        self.setFont(ui_font(11))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self.setToolTip(
            tr(
                "By name: Python lines. Grey with a line at the bottom: library functions, "
                "one shade per library. Red: kernel functions."
            )
        )
        self.hide()

    def show_codes(self, codes: frozenset[Code]) -> None:
        """Show the origins that occur in a graph."""
        self.codes = tuple(code for code in Code if code in codes) if codes - {Code.SOURCE} else ()
        self.setAccessibleName(", ".join(self._word(code) for code in self.codes))
        self.setVisible(bool(self.codes))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        words = sum(metrics.horizontalAdvance(self._word(code)) for code in self.codes)
        hues = 2 * _SWATCH_PX if Code.SOURCE in self.codes else 0
        width = words + hues + len(self.codes) * (_SWATCH_PX + _GAP_PX + _BETWEEN_PX)
        return QSize(width, metrics.height() + 4)

    @staticmethod
    def _word(code: Code) -> str:
        if code is Code.SOURCE:
            return tr("Python", "legend")
        return tr("kernel", "legend") if code is Code.KERNEL else tr("native", "legend")

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        metrics = self.fontMetrics()
        x, top = 0, (self.height() - _SWATCH_PX) // 2
        for code in self.codes:
            hues = [QColor(hue) for hue in self.theme.hues[:3]]
            for color in hues if code is Code.SOURCE else [color_of_code(self.theme, code)]:
                draw_box(painter, QRect(x, top, _SWATCH_PX - 1, _SWATCH_PX), color, code)
                x += _SWATCH_PX
            x += _GAP_PX - 1
            word = self._word(code)
            painter.setPen(self.theme.color("muted"))
            painter.drawText(
                QRect(x, 0, metrics.horizontalAdvance(word) + 2, self.height()),
                Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft,
                word,
            )
            x += metrics.horizontalAdvance(word) + _BETWEEN_PX
