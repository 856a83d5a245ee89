"""State of a job's tab: quantity, row order, current and selected cells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from warpline.i18n import tr_n
from warpline_app.open.job.row_order import RowOrder

if TYPE_CHECKING:
    from warpline.library.jobs import JobRank, TrainingJob
    from warpline_app.open.job.job_map import Int64Array, JobMap
    from warpline_app.remembered.settings import Settings

_SETTINGS = "job/view"
_FIRST = ("duration_ns",)
Cell = tuple[int, int]
"""A row of the `JobMap` and a column of steps."""


@dataclass(frozen=True)
class Chosen:
    """Selected rows, and the steps from ``first`` to ``last`` (inclusive); without rows nothing is selected."""

    rows: frozenset[int] = frozenset()
    first: int = 0
    last: int = -1

    def holds(self, cell: Cell) -> bool:
        """Whether a cell is selected."""
        return cell[0] in self.rows and self.first <= cell[1] <= self.last


class JobBoard(QObject):
    """The state of a job's tab, with one signal per field. A setter that changes nothing emits nothing."""

    column_changed = Signal(str)
    order_changed = Signal(object)
    """a RowOrder"""
    current_changed = Signal(object)
    """the Cell that keys act on, or None"""
    hover_changed = Signal(object)
    """the Cell under the pointer, or None"""
    chosen_changed = Signal(object)
    """a `Chosen`"""
    range_changed = Signal(bool)
    """whether colours span all values, outliers included"""

    def __init__(
        self, job: TrainingJob, paths: Iterable[Path], settings: Settings, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        # Imports numpy, which is not needed at window start.
        from warpline_app.open.job.job_map import JobMap

        self.map: JobMap = JobMap(job)
        self.paths = tuple(paths)
        self._settings = settings
        saved = settings.record_of(_SETTINGS)
        self._column = self.map.first_column((str(saved.get("column", "")), *_FIRST))
        self._by = next((order for order in RowOrder if order == saved.get("order")), RowOrder.RANK)
        self._is_full_range = bool(saved.get("full_range", False))
        self._order: Int64Array = self.map.order(self._by, self._column)
        self._places: dict[int, int] = {}
        self._current: Cell | None = None
        self._hover: Cell | None = None
        self._chosen = Chosen()

    @property
    def job(self) -> TrainingJob:
        """The computed job."""
        return self.map.job

    @property
    def title(self) -> str:
        """The tab's title."""
        first = self.paths[0]
        if len(self.paths) == 1:
            return first.name
        return tr_n(
            "{name} and {count} file", "{name} and {count} files", len(self.paths) - 1, name=first.name
        )

    # -- view

    @property
    def column(self) -> str:
        """The name of the quantity that colours the cells; empty when no rank has steps."""
        return self._column

    def set_column(self, name: str) -> None:
        """Colour by another quantity. Raises KeyError when the job has none of that name."""
        if self.map.column(name) is None:
            raise KeyError(name)
        if name != self._column:
            self._column = name
            self._order = self.map.order(self._by, name)
            self._places.clear()
            self._keep("column", name)
            self.column_changed.emit(name)

    @property
    def order_by(self) -> RowOrder:
        """The sort order of the rows."""
        return self._by

    @property
    def order(self) -> Int64Array:
        """The rows from the top, int64 (rows)."""
        return self._order

    def place_of(self, row: int) -> int:
        """The position of a row, counted from the top."""
        if not self._places:
            self._places = {each: index for index, each in enumerate(self._order.tolist())}
        return self._places[row]

    def set_order(self, by: RowOrder) -> None:
        """Sort the rows by rank, host or value."""
        if by is not self._by:
            self._by = by
            self._order = self.map.order(by, self._column)
            self._places.clear()
            self._keep("order", by.value)
            self.order_changed.emit(by)

    @property
    def is_full_range(self) -> bool:
        """Whether colours span all values; otherwise they span the range of most values."""
        return self._is_full_range

    def set_full_range(self, is_full: bool) -> None:
        """Let colours span all values, or only the range of most values."""
        if is_full != self._is_full_range:
            self._is_full_range = is_full
            self._keep("full_range", is_full)
            self.range_changed.emit(is_full)

    def _keep(self, key: str, value: object) -> None:
        self._settings.set_record(_SETTINGS, self._settings.record_of(_SETTINGS) | {key: value})

    # -- current and selected cells

    @property
    def current(self) -> Cell | None:
        """The cell that keys act on and the tables follow."""
        return self._current

    def set_current(self, cell: Cell | None) -> None:
        """Make a cell the current one."""
        if cell != self._current:
            self._current = cell
            self.current_changed.emit(cell)

    @property
    def hover(self) -> Cell | None:
        """The cell under the pointer."""
        return self._hover

    def set_hover(self, cell: Cell | None) -> None:
        """Set the cell under the pointer."""
        if cell != self._hover:
            self._hover = cell
            self.hover_changed.emit(cell)

    @property
    def chosen(self) -> Chosen:
        """The selected rows and steps."""
        return self._chosen

    def choose(self, chosen: Chosen) -> None:
        """Select rows and steps; an empty `Chosen` selects nothing."""
        if chosen != self._chosen:
            self._chosen = chosen
            self.chosen_changed.emit(chosen)

    def choose_between(self, corner: Cell, opposite: Cell) -> None:
        """Select the rectangle between two cells, in the current row order."""
        top, bottom = sorted((self.place_of(corner[0]), self.place_of(opposite[0])))
        first, last = sorted((corner[1], opposite[1]))
        self.choose(Chosen(frozenset(self._order[top : bottom + 1].tolist()), first, last))

    def toggle(self, cell: Cell) -> None:
        """Add a cell's row to the selection and extend the steps to it, or remove the row."""
        chosen = self._chosen
        if chosen.holds(cell):
            rows = chosen.rows - {cell[0]}
            self.choose(Chosen(rows, chosen.first, chosen.last) if rows else Chosen())
        elif not chosen.rows:
            self.choose(Chosen(frozenset({cell[0]}), cell[1], cell[1]))
        else:
            first, last = min(chosen.first, cell[1]), max(chosen.last, cell[1])
            self.choose(Chosen(chosen.rows | {cell[0]}, first, last))

    def ranks_chosen(self) -> tuple[JobRank, ...]:
        """The selected ranks from the top; without a selection, the rank of the current cell."""
        rows = self._chosen.rows or ({self._current[0]} if self._current is not None else set())
        return tuple(self.map.ranks[row] for row in self._order.tolist() if row in rows)

    def steps_chosen(self) -> tuple[int, int] | None:
        """The first and last selected step columns; without a selection, the current one twice."""
        if self._chosen.rows:
            return self._chosen.first, self._chosen.last
        return None if self._current is None else (self._current[1], self._current[1])
