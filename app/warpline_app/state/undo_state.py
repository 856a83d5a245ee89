"""One stack of undo steps for everything the user arranges in a timeline: view, filter, rows, notes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from PySide6.QtCore import QObject, Signal

from warpline.i18n import english, translated

UNDO_LIMIT = 200
UNDOABLE = {
    "view": (english("Undo zoom"), english("Redo zoom")),
    "filter": (english("Undo filter"), english("Redo filter")),
    "hidden": (english("Undo hiding rows"), english("Redo hiding rows")),
    "pins": (english("Undo pin"), english("Redo pin")),
    "order": (english("Undo row order"), english("Redo row order")),
    "heights": (english("Undo row height"), english("Redo row height")),
    "notes": (english("Undo note"), english("Redo note")),
    "derived_rows": (english("Undo derived row"), english("Redo derived row")),
}
"""Fields whose changes can be undone, with the titles of undo and redo."""
Step = dict[str, Any]
"""Former values by field"""


class UndoState(QObject):
    """Fields with a signal each, and undo for those in `UNDOABLE`. A setter that changes nothing emits nothing.

    A field ``x`` is the attribute ``_x``; its signal is ``x_changed``.
    """

    history_changed = Signal()
    """what undo or redo would do may have changed"""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._undo: list[Step] = []
        self._redo: list[Step] = []
        self._gesture: str | None = None
        self._open_step: Step | None = None
        self._is_recorded = True

    def _assign(self, name: str, value: object, gesture: str | None = None) -> None:
        """Set a field and emit its signal, if the value differs; calls with the same ``gesture`` are one undo step."""
        before = getattr(self, f"_{name}")
        if value == before:
            return
        is_new = gesture is None or gesture != self._gesture
        if name in UNDOABLE and self._is_recorded:
            self._gesture = gesture
            if is_new:
                self._remember(name, before)
        self._put(name, value)

    def _put(self, name: str, value: object) -> None:
        setattr(self, f"_{name}", value)
        getattr(self, f"{name}_changed").emit(value)

    def _remember(self, name: str, before: object) -> None:
        self._redo.clear()
        if self._open_step is not None:
            self._open_step.setdefault(name, before)
            return
        self._add_step({name: before})

    def _add_step(self, step: Step) -> None:
        self._undo.append(step)
        del self._undo[:-UNDO_LIMIT]
        self.history_changed.emit()

    def end_gesture(self) -> None:
        """End the gesture: the next change is an undo step of its own."""
        self._gesture = None

    @contextmanager
    def one_step(self) -> Iterator[None]:
        """Changes inside are undone together; a step inside another belongs to it."""
        if self._open_step is not None:
            yield
            return
        self._open_step = {}
        try:
            yield
        finally:
            step, self._open_step = self._open_step, None
            if step:
                self._add_step(step)

    @contextmanager
    def unrecorded(self) -> Iterator[None]:
        """Changes inside are not undone: a saved layout, or a timeline that follows another."""
        before, self._is_recorded = self._is_recorded, False
        try:
            yield
        finally:
            self._is_recorded = before

    @property
    def can_undo(self) -> bool:
        """Whether there is a change to revert."""
        return bool(self._undo)

    @property
    def can_redo(self) -> bool:
        """Whether there is a reverted change to redo."""
        return bool(self._redo)

    @property
    def undo_title(self) -> str:
        """The title of the next undo (``Undo zoom``) in the user's language; empty if there is none."""
        return translated(UNDOABLE[next(iter(self._undo[-1]))][0]) if self._undo else ""

    @property
    def redo_title(self) -> str:
        """The title of the next redo in the user's language; empty if there is none."""
        return translated(UNDOABLE[next(iter(self._redo[-1]))][1]) if self._redo else ""

    def undo(self) -> None:
        """Revert the last change of an undoable field."""
        self._step(self._undo, self._redo)

    def redo(self) -> None:
        """Redo the last change that `undo` reverted."""
        self._step(self._redo, self._undo)

    def _step(self, source: list[Step], target: list[Step]) -> None:
        if not source:
            return
        self._gesture = None
        step = source.pop()
        target.append({name: getattr(self, f"_{name}") for name in step})
        for name, value in step.items():
            self._put(name, value)
        self.history_changed.emit()
