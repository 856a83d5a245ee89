"""The end of a recording that still runs: where it is complete, and where it ends now."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from warpline.i18n import tr
from warpline_app.look.painting import saved
from warpline_app.look.theme import Theme, ui_font
from warpline_app.open.document import LiveEdge
from warpline_app.timeline.model.scene import Scene

_AIR_PX = 4


def paint_now_line(painter: QPainter, scene: Scene, theme: Theme, edge: LiveEdge) -> None:
    """Draw a line at the end, a dashed line where the final part ends, and a veil between them."""
    scale, height = scene.scale, scene.height_px
    settled, head = scale.to_px(edge.settled_ns), scale.to_px(edge.head_ns)
    if settled > scene.width_px or head < 0:
        return
    with saved(painter):
        if head - settled >= 1:
            painter.fillRect(QRectF(settled, 0, head - settled, height), theme.color("link", 22))
            painter.setPen(QPen(theme.color("link", 150), 1, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(round(settled) + 0.5, 0), QPointF(round(settled) + 0.5, height))
        right = min(head, scene.width_px - 1.0)
        painter.fillRect(QRectF(round(right) - 1, 0, 2, height), theme.color("link"))
        painter.setFont(ui_font(10))
        painter.setPen(theme.color("link"))
        texts = [(tr("now", "timeline"), right)]
        if right - settled > painter.fontMetrics().horizontalAdvance(texts[0][0]) + 4 * _AIR_PX:
            texts.append((tr("settled", "timeline"), settled))
        for text, x in texts:
            width = painter.fontMetrics().horizontalAdvance(text)
            box = QRectF(x - width - 2 * _AIR_PX, height - 16, width + _AIR_PX, 14)
            painter.fillRect(box.adjusted(-2, 0, 2, 0), theme.color("canvas", 215))
            painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), text)
