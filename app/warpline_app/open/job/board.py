"""What a job's tab shows: which quantity, in which order, which cell a person is at and which are chosen."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from warpline.frozen import frozen
from warpline.i18n import tr_n
from warpline_app.open.job.row_order import RowOrder

if TYPE_CHECKING:
    from warpline.library.jobs import JobRank, TrainingJob
    from warpline_app.open.job.job_map import Int64Array, JobMap
    from warpline_app.remembered.settings import Settings

_SETTINGS = "job/view"
_FIRST = ("duration_ns",)
Cell = tuple[int, int]
"""A row of the `JobMap` and a step's place in it."""


@frozen
class Chosen:
    """Rows, and the stretch of steps ``first`` to ``last`` (both in it); no rows: nothing is chosen."""

    rows: frozenset[int] = frozenset()
    first: int = 0
    last: int = -1

    def holds(self, cell: Cell) -> bool:
        """Whether a cell is in it."""
        return cell[0] in self.rows and self.first <= cell[1] <= self.last


class JobBoard(QObject):
    """One job in a tab, with one signal per field; a setter that changes nothing emits nothing."""

    column_changed = Signal(str)
    order_changed = Signal(object)
    """a RowOrder"""
    current_changed = Signal(object)
    """the Cell keys act on, or None"""
    hover_changed = Signal(object)
    """the Cell under the pointer, or None"""
    chosen_changed = Signal(object)
    """a `Chosen`"""
    range_changed = Signal(bool)
    """whether colours go from the least to the largest value"""

    def __init__(
        self, job: TrainingJob, paths: Iterable[Path], settings: Settings, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        # Needs numpy, which the window does not wait for.
        from warpline_app.open.job.job_map import JobMap

        self.map: JobMap = JobMap(job)
        self.paths = tuple(paths)
        self._settings = settings
        kept = settings.record_of(_SETTINGS)
        self._column = self.map.first_column((str(kept.get("column", "")), *_FIRST))
        self._by = next((one for one in RowOrder if one == kept.get("order")), RowOrder.RANK)
        self._is_full_range = bool(kept.get("full_range", False))
        self._order: Int64Array = self.map.order(self._by, self._column)
        self._places: dict[int, int] = {}
        self._current: Cell | None = None
        self._hover: Cell | None = None
        self._chosen = Chosen()

    @property
    def job(self) -> TrainingJob:
        """What was computed."""
        return self.map.job

    @property
    def title(self) -> str:
        """What the tab says."""
        first = self.paths[0]
        if len(self.paths) == 1:
            return first.name
        return tr_n(
            "{name} and {count} file", "{name} and {count} files", len(self.paths) - 1, name=first.name
        )

    # -- what is shown

    @property
    def column(self) -> str:
        """The name of the quantity the cells are coloured by; empty where no rank has steps."""
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
        """By what rows are sorted."""
        return self._by

    @property
    def order(self) -> Int64Array:
        """The rows as they stand from the top, int64 (rows)."""
        return self._order

    def place_of(self, row: int) -> int:
        """Which row from the top it is."""
        if not self._places:
            self._places = {each: place for place, each in enumerate(self._order.tolist())}
        return self._places[row]

    def set_order(self, by: RowOrder) -> None:
        """Sort the rows otherwise."""
        if by is not self._by:
            self._by = by
            self._order = self.map.order(by, self._column)
            self._places.clear()
            self._keep("order", by.value)
            self.order_changed.emit(by)

    @property
    def is_full_range(self) -> bool:
        """Whether colours go from the least to the largest value, and not over what most values lie in."""
        return self._is_full_range

    def set_full_range(self, is_full: bool) -> None:
        """Let outliers stretch the colours, or not."""
        if is_full != self._is_full_range:
            self._is_full_range = is_full
            self._keep("full_range", is_full)
            self.range_changed.emit(is_full)

    def _keep(self, key: str, value: object) -> None:
        self._settings.set_record(_SETTINGS, self._settings.record_of(_SETTINGS) | {key: value})

    # -- where a person is

    @property
    def current(self) -> Cell | None:
        """The cell that keys act on, and that the tables follow."""
        return self._current

    def set_current(self, cell: Cell | None) -> None:
        """Go to a cell."""
        if cell != self._current:
            self._current = cell
            self.current_changed.emit(cell)

    @property
    def hover(self) -> Cell | None:
        """The cell under the pointer."""
        return self._hover

    def set_hover(self, cell: Cell | None) -> None:
        """The pointer is over another cell."""
        if cell != self._hover:
            self._hover = cell
            self.hover_changed.emit(cell)

    @property
    def chosen(self) -> Chosen:
        """What is selected, to be opened together."""
        return self._chosen

    def choose(self, chosen: Chosen) -> None:
        """Select these rows and steps; an empty `Chosen` selects nothing."""
        if chosen != self._chosen:
            self._chosen = chosen
            self.chosen_changed.emit(chosen)

    def choose_between(self, one: Cell, other: Cell) -> None:
        """Select the rectangle between two cells, as rows stand now."""
        top, bottom = sorted((self.place_of(one[0]), self.place_of(other[0])))
        first, last = sorted((one[1], other[1]))
        self.choose(Chosen(frozenset(self._order[top : bottom + 1].tolist()), first, last))

    def toggle(self, cell: Cell) -> None:
        """Add the row of a cell to what is selected, or take it out; its step comes in."""
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
        """The ranks that are selected, as rows stand; else that of the current cell."""
        rows = self._chosen.rows or ({self._current[0]} if self._current is not None else set())
        return tuple(self.map.ranks[row] for row in self._order.tolist() if row in rows)

    def steps_chosen(self) -> tuple[int, int] | None:
        """Places of the first and the last step that are selected, else the current one twice."""
        if self._chosen.rows:
            return self._chosen.first, self._chosen.last
        return None if self._current is None else (self._current[1], self._current[1])
