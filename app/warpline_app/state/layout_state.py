"""The user's layout of rows: pins, order, hidden and expanded rows, heights; and the notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from PySide6.QtCore import QObject, Signal

from warpline.model.derived_rows import DerivedRow
from warpline.model.notes import Note
from warpline_app.state.undo_state import UndoState

_EMPTY: Mapping[str, Any] = MappingProxyType({})


class LayoutState(UndoState):
    """The layout of one timeline."""

    pins_changed = Signal(object)
    """tuple of row keys"""
    order_changed = Signal(object)
    """mapping of parent key to the order of its children's keys"""
    hidden_changed = Signal(object)
    """frozenset of row keys"""
    expanded_changed = Signal(object)
    """mapping of row key to bool, for rows that the user expanded or collapsed"""
    heights_changed = Signal(object)
    """mapping of row key to pixels per lane"""
    notes_changed = Signal(object)
    """tuple of Note in time order"""
    derived_rows_changed = Signal(object)
    """tuple of DerivedRow"""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pins: tuple[str, ...] = ()
        self._order: Mapping[str, tuple[str, ...]] = _EMPTY
        self._hidden: frozenset[str] = frozenset()
        self._expanded: Mapping[str, bool] = _EMPTY
        self._heights: Mapping[str, int] = _EMPTY
        self._notes: tuple[Note, ...] = ()
        self._derived_rows: tuple[DerivedRow, ...] = ()

    @property
    def pins(self) -> tuple[str, ...]:
        """Keys of the rows in the pinned area."""
        return self._pins

    def set_pins(self, keys: Iterable[str]) -> None:
        """Pin exactly these rows, in this order."""
        value = tuple(dict.fromkeys(keys))
        self._assign("pins", value)

    def toggle_pin(self, key: str) -> None:
        """Pin a row, or unpin it."""
        self.set_pins([pin for pin in self._pins if pin != key] if key in self._pins else (*self._pins, key))

    @property
    def order(self) -> Mapping[str, tuple[str, ...]]:
        """Order of children by parent key, where the user changed it."""
        return self._order

    def set_order(self, parent: str, keys: Iterable[str] | None) -> None:
        """Set the order of a row's children; None restores the default."""
        value = dict(self._order)
        if keys is None:
            value.pop(parent, None)
        else:
            value[parent] = tuple(keys)
        self.set_orders(value)

    def set_orders(self, value: Mapping[str, Iterable[str]]) -> None:
        """Replace all orders."""
        self._assign("order", MappingProxyType({parent: tuple(keys) for parent, keys in value.items()}))

    @property
    def hidden(self) -> frozenset[str]:
        """Keys of hidden rows."""
        return self._hidden

    def set_hidden(self, keys: Iterable[str]) -> None:
        """Hide exactly these rows."""
        value = frozenset(keys)
        self._assign("hidden", value)

    @property
    def expanded(self) -> Mapping[str, bool]:
        """Rows the user expanded (True) or collapsed (False); others follow the tree's default."""
        return self._expanded

    def set_expanded(self, key: str, is_open: bool) -> None:
        """Expand or collapse a row."""
        self.set_all_expanded({**self._expanded, key: is_open})

    def set_all_expanded(self, value: Mapping[str, bool]) -> None:
        """Replace the expanded state of all rows."""
        self._assign("expanded", MappingProxyType(dict(value)))

    @property
    def heights(self) -> Mapping[str, int]:
        """Pixels per lane of rows whose height the user changed."""
        return self._heights

    def set_height(self, key: str, height_px: int | None, gesture: str | None = None) -> None:
        """Set a row's height per lane; None restores the default."""
        value = dict(self._heights)
        if height_px is None:
            value.pop(key, None)
        else:
            value[key] = int(height_px)
        self.set_heights(value, gesture)

    def set_heights(self, value: Mapping[str, int], gesture: str | None = None) -> None:
        """Replace all heights."""
        self._assign("heights", MappingProxyType(dict(value)), gesture)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes and marks, in time order; those on whole rows first."""
        return self._notes

    @property
    def timed_notes(self) -> list[tuple[int, Note]]:
        """Notes and marks with a time, in time order."""
        return [(note.start_ns, note) for note in self._notes if note.start_ns is not None]

    def set_notes(self, notes: Iterable[Note], gesture: str | None = None) -> None:
        """Replace all notes; of two with the same id the later in the list wins."""
        by_id = {note.id: note for note in notes}
        order = sorted(by_id.values(), key=lambda note: (note.start_ns is not None, note.start_ns or 0))
        self._assign("notes", tuple(order), gesture)

    def put_note(self, note: Note, gesture: str | None = None) -> None:
        """Add a note, or replace the one with its id."""
        self.set_notes((*self._notes, note), gesture)

    def add_mark(self, time_ns: int, text: str = "") -> None:
        """Add a mark, or change the text of the mark at this time."""
        known = next((note for note in self._notes if note.is_mark and note.start_ns == time_ns), None)
        mark = Note(start_ns=int(time_ns), text=text)
        self.put_note(mark if known is None else replace(mark, id=known.id, color=known.color))

    def remove_note(self, note_id: str) -> None:
        """Remove the note with this id."""
        self.set_notes(note for note in self._notes if note.id != note_id)

    @property
    def derived_rows(self) -> tuple[DerivedRow, ...]:
        """Rows derived by queries, in the order in which they were made."""
        return self._derived_rows

    def set_derived_rows(self, rows: Iterable[DerivedRow]) -> None:
        """Replace all derived rows; of two with the same id the later in the list wins."""
        by_id = {row.id: row for row in rows}
        self._assign("derived_rows", tuple(by_id.values()))

    def put_derived_row(self, row: DerivedRow) -> None:
        """Add a derived row, or replace the one with its id."""
        self.set_derived_rows((*self._derived_rows, row))

    def remove_derived_row(self, row_id: str) -> None:
        """Remove the derived row with this id."""
        self.set_derived_rows(row for row in self._derived_rows if row.id != row_id)
