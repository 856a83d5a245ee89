"""Which rows and steps of a map are in view and where their cells are; pure, without widgets."""

from __future__ import annotations

from dataclasses import dataclass, replace

LEAST_CELLS = 2.0
"""Maximum zoom: this many cells along an axis."""


@dataclass(frozen=True)
class Axis:
    """One direction of a map: ``count`` cells of ``cell_px`` pixels on ``size_px`` pixels, beginning with cell
    ``start``.

    Cells grow to at most ``most_px`` when all are in view, so a small map leaves space at its end.
    """

    count: int
    start: float
    cell_px: float
    size_px: float
    most_px: float

    @classmethod
    def whole(cls, count: int, size_px: float, most_px: float) -> Axis:
        """An axis with all cells in view."""
        return cls(count, 0.0, min(size_px / max(count, 1), most_px), size_px, most_px)

    @property
    def length(self) -> float:
        """Number of cells that fit."""
        return self.size_px / self.cell_px

    @property
    def stop(self) -> float:
        """End of the cells in view."""
        return min(self.start + self.length, float(self.count))

    @property
    def is_whole(self) -> bool:
        """Whether all cells are in view."""
        return self.length >= self.count - 1e-6

    def place_of(self, cell: float) -> float:
        """Where a cell begins, in pixels."""
        return (cell - self.start) * self.cell_px

    def cell_at(self, place_px: float) -> int | None:
        """The cell at a pixel; None outside."""
        cell = self.start + place_px / self.cell_px
        return int(cell) if 0 <= cell < self.count and 0 <= place_px < self.size_px else None

    def resized(self, size_px: float) -> Axis:
        """Adapt to a size: keep all cells in view if they were, else keep the cell size."""
        size_px = max(size_px, 1.0)
        if self.is_whole:
            return Axis.whole(self.count, size_px, self.most_px)
        return self._fitting(replace(self, size_px=size_px), self.start)

    def moved(self, cells: float) -> Axis:
        """Move by a number of cells, within the axis."""
        return self._fitting(self, self.start + cells)

    def zoomed(self, factor: float, at_px: float) -> Axis:
        """Show ``factor`` times as many cells, keeping the cell at a pixel in place."""
        least = Axis.whole(self.count, self.size_px, self.most_px).cell_px
        most = max(self.size_px / LEAST_CELLS, least)
        cell_px = min(max(self.cell_px / factor, least), most)
        at_px = min(max(at_px, 0.0), self.size_px)
        return self._fitting(
            replace(self, cell_px=cell_px), self.start + at_px / self.cell_px - at_px / cell_px
        )

    def showing(self, cell: int) -> Axis:
        """Move as little as possible to bring a cell into view."""
        if cell < self.start:
            return self.moved(cell - self.start)
        if cell + 1 > self.start + self.length:
            return self.moved(cell + 1 - self.start - self.length)
        return self

    def between(self, first: int, last: int) -> Axis:
        """Show the cells from ``first`` to ``last`` with a small margin."""
        margin = max(1.0, 0.1 * (last - first + 1))
        start, stop = max(first - margin, 0.0), min(last + 1 + margin, float(self.count))
        length = max(stop - start, min(LEAST_CELLS, self.count), 1e-6)
        least = Axis.whole(self.count, self.size_px, self.most_px).cell_px
        return self._fitting(replace(self, cell_px=max(self.size_px / length, least)), start)

    @staticmethod
    def _fitting(axis: Axis, start: float) -> Axis:
        """An axis that starts as close to ``start`` as possible without leaving its cells."""
        return replace(axis, start=min(max(start, 0.0), max(axis.count - axis.length, 0.0)))
