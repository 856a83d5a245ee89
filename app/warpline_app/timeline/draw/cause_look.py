"""Colours and patterns of causes of time: work is solid, waiting is hatched."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen

from warpline.model.waits import WAIT_FAMILIES
from warpline_app.look.painting import saved
from warpline_app.look.theme import Theme, mix, theme_by_name
from warpline_app.timeline.draw import codes
from warpline_app.timeline.draw.shapes import is_drawing

_WORK = {
    "running": "running",
    "sampled": "running",
    "imports": "python",
    "importing": "python",
    "gc": "memory",
    "operators": "operator",
    "ranges": "range",
    "one_request": "range",
    "several_requests": "operator",
    "computation": "kernel",
    "communication": "communication",
    "copies": "copy_to_device",
    "copy": "copy_to_device",
    "page_migrations": "copy_to_device",
    "migration": "copy_to_device",
    "allocating": "memory",
    "compiling": "overhead",
}
_WAITS = {
    "runnable": "runnable",
    "blocked": "blocked",
    "data_loading": "phase",
    "synchronization": "sync",
    "host": "api",
    "launch": "api",
    "allocation": "memory",
    "compilation": "overhead",
    "launch_latency": "overhead",
    "stream": "set",
    "other_threads": "os",
    **{kind.name.lower(): family.color for family in WAIT_FAMILIES for kind in family.kinds},
    **dict.fromkeys(("queue_empty", "queue_full", "result"), "wait_condition"),
}
_EVERY_PX, _LINE_PX, _DARKER = 6.0, 1.3, 0.3
_LOW = "runnable"
_STRIP, _STRIP_PX, _PALER = 0.22, 5.0, 0.45
_TEXTURED = frozenset(name for name, place in codes.INDEX.items() if place in codes.HATCHED_COLORS) | {_LOW}
"""Wait causes look like the corresponding thread states."""
_REST = frozenset(
    (
        "outside", "start", "end", "gpu_end", "no_launch", "not_recorded", "active", "between_ranges", "no_request",
        "idle", "other",
    )
)  # fmt: skip


@dataclass(frozen=True)
class CauseLook:
    """A colour as ``#rrggbb``; hatched for time without work. ``family`` is the timeline's texture, or empty."""

    color: str
    is_hatched: bool
    family: str = ""


def cause_looks(causes: tuple[str, ...], theme: Theme) -> tuple[CauseLook, ...]:
    """The look of each cause by its key; an unknown one gets a hue by its position."""
    looks = []
    for index, cause in enumerate(causes):
        if cause in _WORK:
            looks.append(CauseLook(theme.family(_WORK[cause]), False))
        elif cause in _REST:
            looks.append(CauseLook(theme.hex("muted"), True))
        elif cause in _WAITS:
            family = _WAITS[cause]
            looks.append(CauseLook(theme.family(family), True, family if family in _TEXTURED else ""))
        else:
            looks.append(CauseLook(theme.hues[index % len(theme.hues)], True))
    return tuple(looks)


def fill_cause(painter: QPainter, rect: QRectF, look: CauseLook, theme: Theme) -> None:
    """Paint a part of a bar."""
    color = QColor(look.color)
    if not look.is_hatched:
        painter.fillRect(rect, color)
        return
    if look.family and not is_drawing(painter):
        ratio = painter.device().devicePixelRatioF()
        width, height = (max(1, round(side * ratio)) for side in (rect.width(), rect.height()))
        painter.drawImage(rect, _texture(theme.name, look.family, width, height, ratio))
        return
    if rect.width() < _EVERY_PX:
        painter.fillRect(rect, QColor(mix(theme.rgb("panel"), color.rgb(), 0.7)))
        return
    ground = mix(theme.rgb("panel"), color.rgb(), 0.5)
    painter.fillRect(rect, QColor(ground))
    lines = [
        QLineF(rect.left() + x, rect.bottom(), rect.left() + x + rect.height(), rect.top())
        for x in np.arange(-rect.height(), rect.width(), _EVERY_PX).tolist()
    ]
    with saved(painter):
        # Lines instead of a brush pattern: a pattern's lines are one device pixel wide and fade on dense screens.
        painter.setClipRect(rect, Qt.ClipOperation.IntersectClip)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setPen(QPen(QColor(mix(color.rgb(), theme.rgb("text"), _DARKER)), _LINE_PX))
        painter.drawLines(lines)


def fill_stacked(painter: QPainter, rect: QRectF, look: CauseLook, theme: Theme) -> None:
    """Paint a part of a stacked bar. Families drawn low on their row are paler here instead, to leave no hole."""
    if look.family != _LOW:
        fill_cause(painter, rect, look, theme)
        return
    color, strip = QColor(look.color), max(1.0, min(rect.height() * _STRIP, _STRIP_PX))
    painter.fillRect(rect, QColor(mix(theme.rgb("panel"), color.rgb(), _PALER)))
    painter.fillRect(QRectF(rect.left(), rect.bottom() - strip, rect.width(), strip), color)


@lru_cache(64)
def _texture(theme_name: str, family: str, width: int, height: int, ratio: float) -> QImage:
    """A family's texture as on the timeline, at a size in device pixels."""
    theme = theme_by_name(theme_name)
    table = codes.ColorTable(theme, ratio).table(height, theme.rgb("panel"))
    columns = np.full(width, codes.INDEX[family] * codes.VARIANTS)
    if codes.INDEX[family] in codes.HATCHED_COLORS:
        columns += codes.HATCH + np.arange(width) % codes.HATCH_PHASES
    pixels = np.ascontiguousarray(table[:, columns])
    return QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGB32).copy()
