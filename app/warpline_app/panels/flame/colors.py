"""Colours of the boxes of a flame graph: by name, by what was waited for, and native functions apart from Python."""

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
# In hundredths of the lightness: libraries that stand beside each other differ a little.
_SHADES = (100, 112, 89, 106, 94)


class Code(Enum):
    """Whose code a box is."""

    SOURCE = "source"
    NATIVE = "native"
    KERNEL = "kernel"


def code_of(frame: StackFrame) -> Code:
    """Whose code a frame is."""
    if not frame.is_native:
        return Code.SOURCE
    return Code.KERNEL if frame.module == _KERNEL else Code.NATIVE


def color_of_code(theme: Theme, code: Code, module: str = "") -> QColor:
    """The colour of native functions (of a library) and of the kernel's; that of lines of a source stands for all."""
    if code is Code.SOURCE:
        return QColor(theme.hues[0])
    if code is Code.KERNEL:
        return QColor(theme.family("overhead"))
    return QColor(theme.family("api")).lighter(_SHADES[_number(module) % len(_SHADES)])


@lru_cache(maxsize=1024)
def _number(text: str) -> int:
    """The same for a text in every run."""
    return sum(place * letter for place, letter in enumerate(text.encode(), 1))


def color_of_wait(theme: Theme, beyond: int) -> QColor:
    """What was waited for has the colour it has on the timeline."""
    return theme.color(_COLOR_OF_WAIT.get(beyond, "running" if beyond > max(WAIT_KINDS) else "neutral"))


def draw_box(painter: QPainter, box: QRect, color: QColor, code: Code) -> None:
    """Fill a box; native ones have a line at the foot, so that they are known without colours, too."""
    painter.fillRect(box, color)
    if code is not Code.SOURCE:
        foot = color.darker(150)
        foot.setAlpha(color.alpha())
        painter.fillRect(box.adjusted(0, box.height() - _FOOT_PX, 0, 0), foot)
