"""Keeps rows of two timelines side by side: expanding, pinning and scrolling apply to both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from PySide6.QtCore import QObject

from warpline_app.timeline.model.row_match import RowMatch
from warpline_app.timeline.widgets.view import TimelineView


class RowLock(QObject):
    """Follows both views while ``is_on``."""

    def __init__(self, a: TimelineView, b: TimelineView, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._views = (a, b)
        self.match = RowMatch(a.scene.tree, b.scene.tree)
        self.is_on = True
        self._moving = False
        for side, view in enumerate(self._views):
            state = view.state
            state.expanded_changed.connect(lambda _value, side=side: self._layout(side))
            state.hidden_changed.connect(lambda _value, side=side: self._layout(side))
            state.heights_changed.connect(lambda _value, side=side: self._layout(side))
            state.pins_changed.connect(lambda _value, side=side: self._layout(side))
            state.track_selection_changed.connect(lambda key, side=side: self._select(side, key))
            view.scene.scrolled.connect(lambda _top, side=side: self._scroll(side))

    def set_on(self, is_on: bool) -> None:
        """Match rows from now on, or stop matching."""
        self.is_on = is_on
        if is_on:
            self._layout(0)
            self._scroll(0)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Let the timelines scroll independently."""
        before, self._moving = self._moving, True
        try:
            yield
        finally:
            self._moving = before

    def counterpart(self, side: int, key: str) -> str | None:
        """The other side's row for a row of this side."""
        return self.match.counterpart(side, key)

    def _keys(self, side: int, keys: Iterable[str]) -> list[str]:
        return [other for key in keys if (other := self.counterpart(side, key))]

    def _layout(self, side: int) -> None:
        if self._moving or not self.is_on:
            return
        state, other = self._views[side].state, self._views[1 - side].state
        self._moving = True
        # Rows without a counterpart keep their state.
        unmatched = {
            key: is_open for key, is_open in other.expanded.items() if not self.counterpart(1 - side, key)
        }
        opened = {
            other_key: is_open
            for key, is_open in state.expanded.items()
            if (other_key := self.counterpart(side, key))
        }
        with other.unrecorded():
            other.set_all_expanded({**unmatched, **opened})
            unmatched_hidden = {key for key in other.hidden if not self.counterpart(1 - side, key)}
            other.set_hidden(unmatched_hidden | set(self._keys(side, state.hidden)))
            other.set_heights(
                {
                    other_key: height
                    for key, height in state.heights.items()
                    if (other_key := self.counterpart(side, key))
                }
            )
            other.set_pins(self._keys(side, state.pins))
        self._moving = False
        self._scroll(side)

    def _select(self, side: int, key: str | None) -> None:
        if self._moving or not self.is_on:
            return
        self._moving = True
        self._views[1 - side].state.select_track(None if key is None else self.counterpart(side, key))
        self._moving = False

    def _scroll(self, side: int) -> None:
        """Scroll the counterpart of the topmost row to the same height."""
        if self._moving or not self.is_on:
            return
        scene, other = self._views[side].scene, self._views[1 - side].scene
        self._moving = True
        for placed in scene.layout.rows:
            if placed.pinned or placed.bottom <= scene.scroll_px:
                continue
            key = self.counterpart(side, placed.row.key)
            counterpart_row = other.layout.by_key.get(key) if key else None
            if counterpart_row is not None:
                other.scroll_to(counterpart_row.top - (placed.top - scene.scroll_px))
                break
        self._moving = False
