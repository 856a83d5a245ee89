"""Which rows and steps of a map are in view, and where on the screen their cells are; pure, without widgets."""

from __future__ import annotations

from dataclasses import dataclass, replace

LEAST_CELLS = 2.0
"""Zooming in ends at this many cells along an axis."""


@dataclass(frozen=True)
class Axis:
    """One direction of a map: ``count`` cells of ``cell_px`` pixels on ``size_px`` pixels, of which ``start`` is first.

    Where all are in view a cell is at most ``most_px`` large: a small map leaves pixels empty at its end instead of
    growing huge.
    """

    count: int
    start: float
    cell_px: float
    size_px: float
    most_px: float

    @classmethod
    def whole(cls, count: int, size_px: float, most_px: float) -> Axis:
        """All cells."""
        return cls(count, 0.0, min(size_px / max(count, 1), most_px), size_px, most_px)

    @property
    def length(self) -> float:
        """How many cells there is room for."""
        return self.size_px / self.cell_px

    @property
    def stop(self) -> float:
        """Where the cells in view end."""
        return min(self.start + self.length, float(self.count))

    @property
    def is_whole(self) -> bool:
        """Whether all cells are in view."""
        return self.length >= self.count - 1e-6

    def place_of(self, cell: float) -> float:
        """Where a cell begins, in pixels."""
        return (cell - self.start) * self.cell_px

    def cell_at(self, place_px: float) -> int | None:
        """The cell at a pixel; None outside of all."""
        cell = self.start + place_px / self.cell_px
        return int(cell) if 0 <= cell < self.count and 0 <= place_px < self.size_px else None

    def resized(self, size_px: float) -> Axis:
        """The same on other pixels: all cells where all were in view, else cells of the same size."""
        size_px = max(size_px, 1.0)
        if self.is_whole:
            return Axis.whole(self.count, size_px, self.most_px)
        return self._fitting(replace(self, size_px=size_px), self.start)

    def moved(self, cells: float) -> Axis:
        """Farther on by some cells, as far as there are any."""
        return self._fitting(self, self.start + cells)

    def zoomed(self, factor: float, at_px: float) -> Axis:
        """``factor`` times as many cells in view, with what is at a pixel staying there."""
        least = Axis.whole(self.count, self.size_px, self.most_px).cell_px
        most = max(self.size_px / LEAST_CELLS, least)
        cell_px = min(max(self.cell_px / factor, least), most)
        at_px = min(max(at_px, 0.0), self.size_px)
        return self._fitting(
            replace(self, cell_px=cell_px), self.start + at_px / self.cell_px - at_px / cell_px
        )

    def showing(self, cell: int) -> Axis:
        """Moved as little as needed for a cell to be in view."""
        if cell < self.start:
            return self.moved(cell - self.start)
        if cell + 1 > self.start + self.length:
            return self.moved(cell + 1 - self.start - self.length)
        return self

    def between(self, first: int, last: int) -> Axis:
        """The cells from one to another, both in view, with a little around them."""
        around = max(1.0, 0.1 * (last - first + 1))
        start, stop = max(first - around, 0.0), min(last + 1 + around, float(self.count))
        length = max(stop - start, min(LEAST_CELLS, self.count), 1e-6)
        least = Axis.whole(self.count, self.size_px, self.most_px).cell_px
        return self._fitting(replace(self, cell_px=max(self.size_px / length, least)), start)

    @staticmethod
    def _fitting(axis: Axis, start: float) -> Axis:
        """An axis that begins as near to a cell as there are cells behind it."""
        return replace(axis, start=min(max(start, 0.0), max(axis.count - axis.length, 0.0)))
