"""Maps time to pixels, with reversible zooming and panning.

Nothing here knows a window. Views are integer nanoseconds; floats appear only relative to the view's start.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_SUBPIXELS = 1 << 16
SNAP_NS = 1


@dataclass(frozen=True)
class TimeScale:
    """Maps ``[start_ns, stop_ns)`` to ``width_px`` pixels (logical or device, as the caller decides)."""

    start_ns: int
    stop_ns: int
    width_px: int

    @property
    def length_ns(self) -> int:
        """Length of the range, at least 1 ns."""
        return max(1, self.stop_ns - self.start_ns)

    @property
    def ns_per_px(self) -> float:
        """Nanoseconds per pixel; less than one when zoomed in far."""
        return self.length_ns / max(1, self.width_px)

    def to_px(self, time_ns: int) -> float:
        """Pixels from the left edge; subtracts integers before using floats."""
        return (int(time_ns) - self.start_ns) * self.width_px / self.length_ns

    def to_px_array(self, times_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Pixels from the left edge, for an array of times."""
        return np.asarray((times_ns - self.start_ns) * (self.width_px / self.length_ns), np.float64)

    def to_ns(self, x_px: float) -> int:
        """The time at a pixel position, rounded down; uses integers, so late times stay exact."""
        return self.start_ns + math.floor(x_px * _SUBPIXELS) * self.length_ns // (
            _SUBPIXELS * max(1, self.width_px)
        )

    def moved(self, pixels: int) -> TimeScale:
        """The scale moved ``pixels`` to the right: by whole pixels, or 1 ns each where a pixel is less."""
        step = round(pixels * self.length_ns / max(1, self.width_px))
        if step == 0 and pixels:
            step = SNAP_NS if pixels > 0 else -SNAP_NS
        return TimeScale(self.start_ns + step, self.stop_ns + step, self.width_px)

    def shift_px(self, other: TimeScale) -> int | None:
        """How many whole pixels ``other`` lies to the right of this view; None if it is not a shifted copy.

        Ignores deviations below a fiftieth of a pixel, or the nanosecond lost by rounding.
        """
        if other.width_px != self.width_px or other.length_ns != self.length_ns:
            return None
        moved_ns = other.start_ns - self.start_ns
        pixels = round(moved_ns * self.width_px / self.length_ns)
        off_ns = abs(moved_ns - pixels * self.length_ns / self.width_px)
        return pixels if off_ns <= max(0.5 if self.ns_per_px >= 50 else 0.0, self.ns_per_px / 50) else None


class AnchoredZoom:
    """Zooms around a point, storing *where it began and how far it went*.

    Zooming in and out by the same steps returns exactly to the initial view, even from 1 ns, because every view is
    computed from the first one. Another anchor, or a view set elsewhere, starts anew.
    """

    def __init__(self) -> None:
        self._origin: tuple[int, int] | None = None
        self._fraction = 0.5
        self._exponent = 0.0
        self._last: tuple[int, int] | None = None

    def zoom(
        self, view: tuple[int, int], span: tuple[int, int], fraction: float, factor: float
    ) -> tuple[int, int]:
        """The view scaled by ``factor``, with the time at ``fraction`` (0–1) of its width kept in place.

        ``view`` is the current view, ``span`` the whole capture; the result lies in it and is at least 1 ns long.
        """
        if self._origin is None or self._last != view or abs(fraction - self._fraction) > 1e-9:
            self._origin = view
            self._fraction = fraction
            self._exponent = 0.0
        start, stop = self._origin
        length = stop - start
        longest = math.log((span[1] - span[0]) / length)
        shortest = -math.log(length)
        self._exponent = min(max(self._exponent + math.log(factor), shortest), longest)
        if abs(self._exponent) < 1e-12:
            self._exponent = 0.0
        new_length = min(max(1, round(length * math.exp(self._exponent))), span[1] - span[0])
        new_start = start + math.floor((length - new_length) * self._fraction + 0.5)
        new_start = min(max(new_start, span[0]), span[1] - new_length)
        self._last = (new_start, new_start + new_length)
        return self._last


@dataclass
class HeldMotion:
    """Speed of a held key: a step at once, then accelerating motion.

    `advance` returns the distance since the last call, in units per second, rising to ``top_speed`` times that after
    ``ramp_s`` seconds.
    """

    ramp_s: float = 1.2
    top_speed: float = 4.0
    held_s: float = 0.0

    def advance(self, elapsed_s: float) -> float:
        """Distance covered in the next ``elapsed_s`` seconds at unit speed; grows the longer the key is held."""
        elapsed_s = min(max(elapsed_s, 0.0), 0.1)
        speed = 1.0 + (self.top_speed - 1.0) * min(1.0, self.held_s / self.ramp_s)
        self.held_s += elapsed_s
        return speed * elapsed_s
