"""Codes of pixels: the colour and pattern of each column of a lane, and tables that turn codes into colours.

A lane is a line of uint16 codes, one per device pixel. A column of a lookup table holds a code's colours over the
height of the bar, so bars, thin bars, hatches, textures and density columns all cost the same: one `take`. A code is
``color * VARIANTS + variant``; colour 0 is the empty surface.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from warpline.model.waits import WAIT_FAMILIES
from warpline_app.look.theme import Theme, luminance, mix, to_rgb

UInt16Array = npt.NDArray[np.uint16]
UInt32Array = npt.NDArray[np.uint32]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]

VARIANTS = 64
MAX_COLORS = 65536 // VARIANTS

SOLID = 0
EDGE = 1
CUT = 2
ESTIMATED = 3
DIM = 4
DIM_EDGE = 5
DIM_CUT = 6
HATCH = 8
HATCH_PHASES = 8
DENSITY = 16
LEVELS = 16
DIM_DENSITY = 32
DIM_HATCH = 48
DIM_SHARE = 0.5
"""Share of the background in dimmed colours; they stay readable."""

EMPTY = 0
GRID = 1
PAUSE = 2
PAUSE_PHASES = 3
PHASES = 24
"""Period of the textures in pixels."""
LOOK_ROWS = 4
"""Number of rows that compiled code draws at once."""

FIXED = (
    "empty",
    "kernel",
    "communication",
    "copy_to_device",
    "copy_to_host",
    "copy_on_device",
    "set",
    "sync",
    "api",
    "running",
    "runnable",
    "blocked",
    "uninterruptible",
    *(family.color for family in WAIT_FAMILIES),
    "core",
    "range",
    "operator",
    "phase",
    "python",
    "os",
    "memory",
    "overhead",
    "neutral",
)
INDEX = {name: index for index, name in enumerate(FIXED)}
FIRST_HUE = len(FIXED)
HUES = 8
FIRST_CUSTOM = FIRST_HUE + HUES

# Vertical extent of each state in the bar, so that states differ without colour.
_SHAPES = {"running": (0.30, 0.92), "runnable": (0.62, 0.92)}
_WHOLE = (0.0, 1.0)
# Texture lines by row and column, so that states differ without colour. Each repeats after 8 pixels.
_TEXTURES: dict[str, Callable[[IntArray, IntArray], BoolArray]] = {
    "blocked": lambda y, x: (y + x) % 8 < 2,
    "uninterruptible": lambda y, x: (y + x) % 8 < 2,
    "wait_lock": lambda y, x: (y - x) % 4 < 2,
    "wait_gil": lambda y, x: ((y + x) % 8 < 1) | ((y - x) % 8 < 1),
    "wait_condition": lambda y, x: (y + x) % 4 < 1,
    "wait_sleep": lambda y, x: (y % 4 == 1) & (x % 4 == 0),
    "wait_file": lambda y, x: (y % 4 == 2) & (x >= 0),
    "wait_network": lambda y, x: (x % 4 == 0) & (y >= 0),
    "wait_child": lambda y, x: (y // 4 + x // 4) % 2 == 0,
    "wait_gpu": lambda y, x: (x % 8 < 4) & (y >= 0),
}
_HATCHED = frozenset(_TEXTURES)
_FINE = frozenset(("wait_lock", "wait_condition", "wait_sleep", "wait_file", "wait_network"))
"""Textures with a period of 4 pixels: drawn twice as large on dense screens."""
COARSE_FROM = 1.5
"""Device pixel ratio from which they are enlarged."""

# Ink numbers of a pattern.
_GROUND, _INK, _DARK, _DIM, _PALE, _DIM_DARK = range(6)


def _pattern(height: int, top: float, bottom: float) -> npt.NDArray[np.uint8]:
    """The ink of each pixel of each variant: uint8 of shape (height, variants)."""
    pattern = np.zeros((height, VARIANTS), np.uint8)
    rows = np.arange(height)
    y = (rows + 0.5) / height
    inside = (y >= top) & (y < bottom)
    if not inside.any():
        inside[-1] = True
    for variant, ink in (
        (SOLID, _INK),
        (EDGE, _DARK),
        (DIM, _DIM),
        (DIM_EDGE, _DIM_DARK),
        (ESTIMATED, _PALE),
    ):
        pattern[inside, variant] = ink
    pattern[inside & (rows % 4 < 2), CUT] = _INK
    pattern[inside & (rows % 4 < 2), DIM_CUT] = _DIM
    pattern[inside & (rows % 3 == 0), ESTIMATED] = _INK
    for level in range(1, LEVELS + 1):
        filled = rows >= height - max(1, round(level / LEVELS * height))
        pattern[filled, DENSITY + level - 1] = _INK
        pattern[filled, DIM_DENSITY + level - 1] = _DIM
    return pattern


class ColorTable:
    """Numbered colours, and lookup tables for bars of each height on each background.

    Ranges' own colours are added on first use (`custom`), quantised to 5 bits per channel to limit their number.
    """

    def __init__(self, theme: Theme, ratio: float = 1.0) -> None:
        self.theme = theme
        self._grain = 2 if ratio >= COARSE_FROM else 1
        self._rgb = [theme.rgb("canvas")]
        self._rgb += [to_rgb(theme.family(name)) for name in FIXED[1:]]
        self._rgb += [to_rgb(hue) for hue in theme.hues]
        self._custom: dict[int, int] = {}
        self._tables: dict[tuple[int, int], UInt32Array] = {}
        self._looks: dict[tuple[int, int], UInt32Array] = {}
        self.version = 0
        """Incremented when a colour is added, which changes the tables."""
        self._dark_ink: npt.NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self._rgb)

    def rgb(self, color: int) -> int:
        """0xffrrggbb of a colour number."""
        return self._rgb[color]

    def custom(self, argb: int) -> int:
        """The colour number of an event's own colour, added if it is new; its opacity is ignored."""
        key = argb & 0xF8F8F8
        number = self._custom.get(key)
        if number is None:
            if len(self._rgb) >= MAX_COLORS:
                return INDEX["neutral"]
            number = self._custom[key] = len(self._rgb)
            self._rgb.append(0xFF000000 | key | 0x040404)
            self._tables.clear()
            self._looks.clear()
            self.version += 1
            self._dark_ink = None
        return number

    def wants_dark_ink(self) -> npt.NDArray[np.bool_]:
        """For each colour, whether text on it is dark (by luminance); hatched states use the theme's text colour."""
        if self._dark_ink is None:
            dark = np.array([luminance(rgb) > 0.21 for rgb in self._rgb])
            for name in _HATCHED:
                dark[INDEX[name]] = not self.theme.is_dark
            self._dark_ink = dark
        return self._dark_ink

    def table(self, height: int, background: int) -> UInt32Array:
        """Colours of every code over a bar of ``height`` pixels: uint32 0xffrrggbb of shape (height, codes)."""
        colors = self._tables.get((height, background))
        if colors is None:
            if len(self._tables) > 64:
                self._tables.clear()
            colors = self._tables[height, background] = self._build(height, background)
        return colors

    def looks(self, height: int, background: int) -> UInt32Array:
        """The table for compiled code, with each code's colours adjacent in memory: shape (codes, room).

        ``room`` is the height rounded up to a multiple of `LOOK_ROWS`; rows below the height are empty.
        """
        looks = self._looks.get((height, background))
        if looks is None:
            if len(self._looks) > 64:
                self._looks.clear()
            table = self.table(height, background)
            looks = np.zeros((table.shape[1], -(-height // LOOK_ROWS) * LOOK_ROWS), np.uint32)
            looks[:, :height] = table.T
            self._looks[height, background] = looks
        return looks

    def _build(self, height: int, background: int) -> UInt32Array:
        table = np.full((height, len(self._rgb) * VARIANTS), background, np.uint32)
        table[:, GRID] = self.theme.rgb("grid")
        table[:, PAUSE] = mix(background, self.theme.rgb("muted"), 0.30)
        patterns = {shape: _pattern(height, *shape) for shape in {_WHOLE, *_SHAPES.values()}}
        for color in range(1, len(self._rgb)):
            name = FIXED[color] if color < len(FIXED) else ""
            rgb = self._rgb[color]
            base = color * VARIANTS
            edge = mix(rgb, 0xFF000000, 0.32)
            inks = [
                background,
                rgb,
                edge,
                mix(rgb, background, DIM_SHARE),
                mix(rgb, background, 0.35),
                mix(edge, background, DIM_SHARE),
            ]
            pattern = patterns[_SHAPES.get(name, _WHOLE)]
            table[:, base : base + VARIANTS] = np.array(inks, np.uint32)[pattern]
            if name in _HATCHED:
                self._hatch(table, name, base, rgb, background)
        return table

    def _hatch(self, table: UInt32Array, name: str, base: int, rgb: int, background: int) -> None:
        """Framed lines or dots on a faint ground, for waiting states; each wait kind has its own colour and texture."""
        is_wait = name.startswith("wait_")
        ground = mix(rgb, background, 0.66 if is_wait else 0.55)
        line = rgb if is_wait else mix(rgb, self.theme.rgb("text"), 0.38)
        frame = rgb if is_wait else mix(rgb, self.theme.rgb("text"), 0.15)
        rows, columns = np.indices((len(table), HATCH_PHASES))
        grain = self._grain if name in _FINE else 1
        is_line = _TEXTURES[name](rows // grain, columns // grain)
        for first, share in ((HATCH, 0.0), (DIM_HATCH, DIM_SHARE)):
            hatch = np.where(is_line, mix(line, background, share), mix(ground, background, share))
            hatch[0] = hatch[-1] = mix(frame, background, share)
            table[:, base + first : base + first + HATCH_PHASES] = hatch
        table[:, base + SOLID] = ground
        table[:, base + EDGE] = line
        table[:, base + DIM] = mix(ground, background, DIM_SHARE)
        table[:, base + DIM_EDGE] = mix(line, background, DIM_SHARE)


HATCHED_COLORS = frozenset(INDEX[name] for name in _HATCHED)
