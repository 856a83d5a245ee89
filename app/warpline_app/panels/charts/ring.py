"""Shares of a whole as a ring with a legend: geometry and drawing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from warpline_app.look.theme import Theme, mix, to_rgb

_HOLE = 0.56
"""The hole's part of the diameter."""
_ROW_PX = 18.0
_SWATCH_PX = 10.0
_GAP_PX = 18.0
_LEAST_LEGEND_PX = 70.0
_RING_SHARE = 0.46
"""The ring's part of the width, so that the legend has room."""
_FAINTEST = 0.3
_SHARE_PX = 52.0


def ring_and_legend(area: QRectF, count: int) -> tuple[QRectF, list[QRectF]]:
    """The square of the ring, and the rows of the legend beside it: as many of ``count`` as fit."""
    side = min(area.height(), max(area.width() * _RING_SHARE, 80.0), area.width())
    room = area.width() - side - _GAP_PX
    rows = min(count, int(area.height() // _ROW_PX)) if room >= _LEAST_LEGEND_PX else 0
    left = area.left() if rows else area.center().x() - side / 2
    ring = QRectF(left, area.center().y() - side / 2, side, side)
    top = area.center().y() - rows * _ROW_PX / 2
    return ring, [QRectF(ring.right() + _GAP_PX, top + row * _ROW_PX, room, _ROW_PX) for row in range(rows)]


def sectors(shares: Sequence[float], ring: QRectF) -> list[QPainterPath]:
    """The sectors of a ring, clockwise from the top; shares of any sum fill it."""
    total = sum(shares)
    hole = QPainterPath()
    size = ring.width() * _HOLE
    hole.addEllipse(ring.center(), size / 2, size / 2)
    paths, angle = [], 90.0
    for share in shares:
        sweep = -360.0 * share / total if total > 0 else 0.0
        path = QPainterPath()
        if sweep <= -359.999:
            path.addEllipse(ring)
        elif sweep:
            path.moveTo(ring.center())
            path.arcTo(ring, angle, sweep)
            path.closeSubpath()
        paths.append(path.subtracted(hole))
        angle += sweep
    return paths


def shades(colors: Sequence[str], theme: Theme) -> list[str]:
    """Colours that tell neighbours apart: where many have the same, later ones are fainter."""
    counts = Counter(colors)
    seen: Counter[str] = Counter()
    result = []
    for color in colors:
        share = 1 - (1 - _FAINTEST) * seen[color] / counts[color]
        seen[color] += 1
        result.append(f"#{mix(theme.rgb('panel'), to_rgb(color), share) & 0xFFFFFF:06x}")
    return result


def draw_sector(
    painter: QPainter, path: QPainterPath, color: str, ground: QColor, outline: QColor | None
) -> None:
    """Draw one sector, apart from its neighbours; ``outline`` marks the chosen one."""
    painter.fillPath(path, QColor(color))
    painter.strokePath(path, QPen(ground, 1))
    if outline is not None:
        painter.strokePath(path, QPen(outline, 2.4))


def draw_row(painter: QPainter, row: QRectF, color: str, name: str, share: float, theme: Theme) -> None:
    """Draw one row of the legend: colour, name, share."""
    swatch = QRectF(row.left(), row.center().y() - _SWATCH_PX / 2, _SWATCH_PX, _SWATCH_PX)
    painter.fillRect(swatch, QColor(color))
    painter.setPen(theme.color("text"))
    texts = row.adjusted(_SWATCH_PX + 6, 0, -_SHARE_PX, 0)
    shown = painter.fontMetrics().elidedText(name, Qt.TextElideMode.ElideRight, int(max(texts.width(), 0)))
    painter.drawText(texts, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), shown)
    painter.setPen(theme.color("muted"))
    painter.drawText(row, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight), f"{share:.1%}")


def at_point(point: QPointF, paths: Sequence[QPainterPath], rows: Sequence[QRectF]) -> int:
    """The index of the sector or row under a point, −1 for none."""
    for index, path in enumerate(paths):
        if path.contains(point) or (index < len(rows) and rows[index].contains(point)):
            return index
    return -1
