"""Keeps two timelines aligned: which time of one corresponds to which time of the other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from enum import StrEnum

from PySide6.QtCore import QObject, Signal

from warpline_app.state.timeline_state import Range, TimelineState


class LockMode(StrEnum):
    """How two timelines are aligned."""

    STEP = "step"
    """the step in the middle of the view starts at the same position in both"""
    MARK = "mark"
    """the first marks with the same text, else the first marks, are at the same position"""
    START = "start"
    """both captures start at the same position"""
    FREE = "free"
    """each scrolls independently"""


class ViewLock(QObject):
    """Keeps view and selected range of two states aligned, at the same scale.

    ``starts_a`` and ``starts_b`` are the starts of matching steps, capture ns, ascending.
    """

    mode_changed = Signal(object)
    """a LockMode"""

    def __init__(
        self,
        a: TimelineState,
        b: TimelineState,
        starts_a: Sequence[int] = (),
        starts_b: Sequence[int] = (),
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.a, self.b = a, b
        self._starts = (list(starts_a), list(starts_b))
        self._own = (a.span, b.span)
        self._pair: tuple[Range, Range] | None = None
        self._moving = False
        self._mode = LockMode.STEP if self._starts[0] else LockMode.START
        self._widen()
        a.view_changed.connect(lambda _view: self._follow(0))
        b.view_changed.connect(lambda _view: self._follow(1))
        a.range_selection_changed.connect(lambda _range: self._follow_range(0))
        b.range_selection_changed.connect(lambda _range: self._follow_range(1))
        for state in (a, b):
            state.notes_changed.connect(lambda _notes: self._align())
        self._align()

    @property
    def mode(self) -> LockMode:
        """The alignment mode."""
        return self._mode

    def set_mode(self, mode: LockMode) -> None:
        """Change the alignment; the second timeline moves to match the first."""
        if mode is not self._mode:
            self._mode = mode
            self._pair = None
            self._widen()
            self._align()
            self.mode_changed.emit(mode)

    def can(self, mode: LockMode) -> bool:
        """Whether this mode is possible: steps or marks exist in both."""
        if mode is LockMode.STEP:
            return bool(self._starts[0])
        return mode is not LockMode.MARK or bool(self.a.timed_notes and self.b.timed_notes)

    def show_pair(self, a: Range, b: Range, *, margin: float = 0.04) -> None:
        """Show a range of each, starting at the same position, until the view leaves them."""
        length = max(a[1] - a[0], b[1] - b[0], 1)
        margin_ns = int(length * margin) + 1
        self._pair = (a, b)
        self._moving = True
        self._widen()
        self.a.set_view(a[0] - margin_ns, a[0] + length + margin_ns)
        self.b.set_view(b[0] - margin_ns, b[0] + length + margin_ns)
        self._moving = False

    def counterpart(self, side: int, time_ns: int) -> int:
        """The time of the other side that corresponds to a time of this side (0: a, 1: b)."""
        return time_ns + self._offset(side, time_ns)

    def _offset(self, side: int, time_ns: int) -> int:
        """What to add to a side's times around ``time_ns`` to get the other side's."""
        if self._pair is not None:
            here, there = self._pair[side], self._pair[1 - side]
            length = max(here[1] - here[0], there[1] - there[0])
            if here[0] - length <= time_ns < here[0] + 2 * length:
                return there[0] - here[0]
        starts, others = self._starts[side], self._starts[1 - side]
        if self._mode is LockMode.STEP and starts:
            index = max(bisect_right(starts, time_ns) - 1, 0)
            return others[index] - starts[index]
        if self._mode is LockMode.MARK:
            marks = self._marks()
            if marks is not None:
                return marks[1 - side] - marks[side]
        return self._own[1 - side][0] - self._own[side][0]

    def _marks(self) -> Range | None:
        """The times of the two marks to align, or None."""
        mine, others = self.a.timed_notes, self.b.timed_notes
        texts = {note.text: time_ns for time_ns, note in reversed(others) if note.text}
        same = next(((time_ns, texts[note.text]) for time_ns, note in mine if note.text in texts), None)
        if same is not None:
            return same
        return (mine[0][0], others[0][0]) if mine and others else None

    def _widen(self) -> None:
        """Extend each view's limits to cover the other capture, so that both have the same length at every zoom."""
        for side, state in enumerate((self.a, self.b)):
            own, other = self._own[side], self._own[1 - side]
            if self._mode is LockMode.FREE:
                state.set_span(*own)
                continue
            starts = [own[0], own[1], *self._starts[side], *(self._pair[side] if self._pair else ())]
            offsets = [self._offset(side, time_ns) for time_ns in starts]
            low, high = other[0] - max(offsets), other[1] - min(offsets)
            length = max(max(own[1], high) - min(own[0], low), 1)
            start = min(own[0], low)
            state.set_span(start, start + length)
        if self._mode is not LockMode.FREE:
            # Both get the same length.
            longest = max(state.span[1] - state.span[0] for state in (self.a, self.b))
            for state in (self.a, self.b):
                state.set_span(state.span[0], state.span[0] + longest)

    def _align(self) -> None:
        self._follow(0)
        self._follow_range(0)

    def _follow(self, side: int) -> None:
        """Move the other side to match this one."""
        if self._moving or self._mode is LockMode.FREE:
            return
        leader, follower = (self.a, self.b) if side == 0 else (self.b, self.a)
        start, stop = leader.view
        offset = self._offset(side, (start + stop) // 2)
        self._moving = True
        follower.set_view(start + offset, stop + offset, gesture="lock")
        self._moving = False

    def _follow_range(self, side: int) -> None:
        if self._moving or self._mode is LockMode.FREE:
            return
        leader, follower = (self.a, self.b) if side == 0 else (self.b, self.a)
        chosen = leader.range_selection
        self._moving = True
        if chosen is None:
            follower.select_range(None)
        else:
            offset = self._offset(side, sum(leader.view) // 2)
            follower.select_range(chosen[0] + offset, chosen[1] + offset)
        self._moving = False
