"""Colours of flame graph boxes: by name, by wait reason, and for native functions."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

from PySide6.QtCore import QRect
from PySide6.QtGui import QColor, QPainter

from warpline.model.frames import StackFrame
from warpline.model.waits import WAIT_FAMILIES, WAIT_KINDS
from warpline_app.look.theme import Theme

_COLOR_OF_WAIT = {int(kind): family.color for family in WAIT_FAMILIES for kind in family.kinds}
_KERNEL = "kernel"
_FOOT_PX = 2
# Percent of lightness, so that neighbouring libraries differ a little.
_SHADES = (100, 112, 89, 106, 94)


class Code(Enum):
    """Origin of a box's code."""

    SOURCE = "source"
    NATIVE = "native"
    KERNEL = "kernel"


def code_of(frame: StackFrame) -> Code:
    """Origin of a frame's code."""
    if not frame.is_native:
        return Code.SOURCE
    return Code.KERNEL if frame.module == _KERNEL else Code.NATIVE


def color_of_code(theme: Theme, code: Code, module: str = "") -> QColor:
    """Colour of native (by library) and kernel functions; source lines are represented by one hue."""
    if code is Code.SOURCE:
        return QColor(theme.hues[0])
    if code is Code.KERNEL:
        return QColor(theme.family("overhead"))
    return QColor(theme.family("api")).lighter(_SHADES[_number(module) % len(_SHADES)])


@lru_cache(maxsize=1024)
def _number(text: str) -> int:
    """A number that is the same for a text in every run."""
    return sum(place * letter for place, letter in enumerate(text.encode(), 1))


def color_of_wait(theme: Theme, beyond: int) -> QColor:
    """Colour of a wait reason, as on the timeline."""
    return theme.color(_COLOR_OF_WAIT.get(beyond, "running" if beyond > max(WAIT_KINDS) else "neutral"))


def draw_box(painter: QPainter, box: QRect, color: QColor, code: Code) -> None:
    """Fill a box; a line at the bottom marks native functions without relying on colour."""
    painter.fillRect(box, color)
    if code is not Code.SOURCE:
        foot = color.darker(150)
        foot.setAlpha(color.alpha())
        painter.fillRect(box.adjusted(0, box.height() - _FOOT_PX, 0, 0), foot)
