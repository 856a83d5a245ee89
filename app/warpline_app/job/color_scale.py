"""A sequential colour scale from usual values, near the background, to outstanding ones.

Lightness changes steadily from blue to yellow, so the order is visible without telling red from green. A test checks
this with simulated colour blindness.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from warpline_app.look.theme import Theme, mix, to_rgb

STEPS = 255
"""Number of colours; index `STEPS` holds the colour of cells without a recorded value."""
MISSING = STEPS
_DARK = ("#1f2f49", "#2c4a7c", "#53688f", "#857f86", "#b99b6b", "#e6bd4d", "#fff0a0")
_LIGHT = ("#f3f0dc", "#e6d79c", "#c2b489", "#8f938c", "#5d7391", "#2f4f86", "#10244f")

ColorTable = npt.NDArray[np.uint32]


def color_table(theme: Theme) -> ColorTable:
    """`STEPS` colours and that of `MISSING` as 0xffrrggbb; uint32."""
    return _table(theme.is_dark, missing_color(theme))


@cache
def _table(is_dark: bool, missing: int) -> ColorTable:
    stops = np.array(
        [[(to_rgb(stop) >> shift) & 0xFF for shift in (16, 8, 0)] for stop in (_DARK if is_dark else _LIGHT)],
        np.float64,
    )
    at = np.linspace(0, len(stops) - 1, STEPS)
    channels = [np.interp(at, np.arange(len(stops)), stops[:, place]) for place in range(3)]
    red, green, blue = (np.round(channel).astype(np.uint32) for channel in channels)
    table = np.empty(STEPS + 1, np.uint32)
    table[:STEPS] = 0xFF000000 | (red << 16) | (green << 8) | blue
    table[MISSING] = missing
    return table


def missing_color(theme: Theme) -> int:
    """0xffrrggbb of cells without a recorded value: a grey that the scale does not contain."""
    return mix(theme.rgb("canvas"), theme.rgb("text"), 0.10)
