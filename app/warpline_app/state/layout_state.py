"""The user's layout of rows: pins, order, hidden and expanded rows, heights, and marks on the ruler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from PySide6.QtCore import QObject, Signal

from warpline_app.state.undo_state import UndoState

_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class TimeMark:
    """A mark on the ruler with an optional text."""

    time_ns: int
    text: str = ""


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
    marks_changed = Signal(object)
    """tuple of TimeMark in time order"""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pins: tuple[str, ...] = ()
        self._order: Mapping[str, tuple[str, ...]] = _EMPTY
        self._hidden: frozenset[str] = frozenset()
        self._expanded: Mapping[str, bool] = _EMPTY
        self._heights: Mapping[str, int] = _EMPTY
        self._marks: tuple[TimeMark, ...] = ()

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
    def marks(self) -> tuple[TimeMark, ...]:
        """Marks in time order."""
        return self._marks

    def set_marks(self, marks: Iterable[TimeMark], gesture: str | None = None) -> None:
        """Replace all marks; of two at the same time the later in the list wins."""
        by_time = {mark.time_ns: mark for mark in marks}
        value = tuple(by_time[time_ns] for time_ns in sorted(by_time))
        self._assign("marks", value, gesture)

    def add_mark(self, time_ns: int, text: str = "") -> None:
        """Add a mark, or change the text of the mark at this time."""
        self.set_marks((*self._marks, TimeMark(int(time_ns), text)))

    def remove_mark(self, time_ns: int) -> None:
        """Remove the mark at this time."""
        self.set_marks(mark for mark in self._marks if mark.time_ns != time_ns)
