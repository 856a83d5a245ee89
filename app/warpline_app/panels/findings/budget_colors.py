"""What colour and pattern a cause of the time budget has: work is solid, waiting is hatched."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter

from warpline.model.waits import WAIT_FAMILIES
from warpline_app.look.painting import saved
from warpline_app.look.theme import Theme, mix

_WORK = {
    "running": "running",
    "computation": "kernel",
    "communication": "communication",
    "copies": "copy_to_device",
}
_WAITS = {
    "runnable": "runnable",
    "blocked": "blocked",
    "data_loading": "phase",
    "synchronization": "sync",
    "host": "api",
    "launch_latency": "overhead",
    **{kind.name.lower(): family.color for family in WAIT_FAMILIES for kind in family.kinds},
}
_REST = frozenset(("outside", "end", "not_recorded", "other"))


@dataclass(frozen=True)
class PartLook:
    """A colour as ``#rrggbb``, and whether it is hatched: time in which nothing was done."""

    color: str
    is_hatched: bool


def part_looks(causes: tuple[str, ...], theme: Theme) -> tuple[PartLook, ...]:
    """The look of each cause; one that nobody foresaw gets a hue by its place."""
    looks = []
    for place, cause in enumerate(causes):
        if cause in _WORK:
            looks.append(PartLook(theme.family(_WORK[cause]), False))
        elif cause in _REST:
            looks.append(PartLook(theme.hex("muted"), True))
        elif cause in _WAITS:
            looks.append(PartLook(theme.family(_WAITS[cause]), True))
        else:
            looks.append(PartLook(theme.hues[place % len(theme.hues)], True))
    return tuple(looks)


def fill_part(painter: QPainter, rect: QRectF, look: PartLook, theme: Theme) -> None:
    """Paint a part of a bar."""
    color = QColor(look.color)
    if not look.is_hatched:
        painter.fillRect(rect, color)
        return
    ground = mix(theme.rgb("panel"), color.rgb(), 0.55)
    painter.fillRect(rect, QColor(ground))
    with saved(painter):
        painter.setBrushOrigin(rect.topLeft())
        painter.fillRect(rect, QBrush(color, Qt.BrushStyle.BDiagPattern))
