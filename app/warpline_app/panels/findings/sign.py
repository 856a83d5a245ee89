"""A severity sign, distinguishable by shape and colour."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from warpline.analysis.findings.finding import Severity
from warpline.i18n import tr
from warpline_app.look.painting import contained
from warpline_app.look.plain import plain
from warpline_app.look.theme import Theme, luminance, to_rgb, ui_font

_SIZE = 18.0
_COLORS = {Severity.CRITICAL: "copy_to_host", Severity.WARNING: "sync", Severity.NOTE: "kernel"}


def severity_color(severity: Severity, theme: Theme) -> str:
    """``#rrggbb`` of a severity."""
    return theme.hex(_COLORS[severity])


def severity_title(severity: Severity) -> str:
    """Severity in the user's language."""
    return {
        Severity.CRITICAL: tr("Critical", "severity"),
        Severity.WARNING: tr("Warning", "severity"),
        Severity.NOTE: tr("Note", "severity"),
    }[severity]


class SeveritySign(QWidget):
    """An octagon, a triangle or a ring."""

    def __init__(self, severity: Severity, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.severity = severity
        self.theme = theme
        self.setFixedSize(int(_SIZE), int(_SIZE))
        self.setToolTip(plain(severity_title(severity)))
        self.setAccessibleName(severity_title(severity))

    @contained
    def paintEvent(self, painter: QPainter, event: QPaintEvent) -> None:
        color = severity_color(self.severity, self.theme)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        ink = self.theme.ink_dark if luminance(to_rgb(color)) > 0.21 else self.theme.ink_light
        letter = "!"
        box = QRectF(0, 0, _SIZE, _SIZE)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(color))
        if self.severity is Severity.CRITICAL:
            painter.drawPolygon(_octagon())
        elif self.severity is Severity.WARNING:
            painter.drawPolygon(
                QPolygonF([QPointF(_SIZE / 2, 1), QPointF(_SIZE - 0.5, _SIZE - 2), QPointF(0.5, _SIZE - 2)])
            )
            box = box.adjusted(0, 3, 0, 1)
        else:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(color), 1.6))
            painter.drawEllipse(box.adjusted(2, 2, -2, -2))
            ink, letter = color, "i"
        painter.setPen(QColor(ink))
        painter.setFont(ui_font(11, bold=True))
        painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), letter)


def _octagon() -> QPolygonF:
    near, far, low, high = 5.3, _SIZE - 5.3, 0.5, _SIZE - 0.5
    corners = [
        (near, low),
        (far, low),
        (high, near),
        (high, far),
        (far, high),
        (near, high),
        (low, far),
        (low, near),
    ]
    return QPolygonF([QPointF(x, y) for x, y in corners])
