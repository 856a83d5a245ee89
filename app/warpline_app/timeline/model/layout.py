"""Positions of the visible rows, from the row tree and the state. Logical pixels, no window."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from warpline.i18n import tr
from warpline_app.state.timeline_state import TimelineState
from warpline_app.timeline.model.name_rows import NameGroup
from warpline_app.timeline.model.row import Content, TimelineRow
from warpline_app.timeline.model.rows import RowTree, title_matcher

if TYPE_CHECKING:
    from warpline.storage import Capture

PINNED_KEY = "#pinned"
"""Key of the heading above pinned rows, which collapses them."""
MIN_LANE_PX = 6
MAX_LANE_PX = 60
LOOKED_BELOW = 64
"""Number of hidden lanes checked while the view moves: nested lanes are not deeper without these."""
_PADDING = 3
_ROW = 22
_GROUP = 22
_LANE = 16
_NAME = 18
_COUNTER = 30
_MORE = 18


@dataclass(frozen=True)
class Line:
    """A line of event codes: a lane or a group of events, and the top and height of its bar in the row."""

    lane: int
    group: NameGroup | None
    top: int
    height: int


def shows_levels(row: TimelineRow, is_open: bool) -> bool:
    """Whether a row shows more than its outermost lane: a row with child rows does so even when collapsed."""
    return row.content is Content.LANES and len(row.lanes) > 1 and (is_open or row.has_children)


@dataclass(frozen=True, kw_only=True)
class PlacedRow:
    """A visible row: indentation, top and height in content pixels, and its lines of event codes.

    ``pinned`` rows are in the pinned area, with tops counted from the top of that area.
    """

    row: TimelineRow
    depth: int
    top: int
    height: int
    pinned: bool
    is_open: bool
    lines: tuple[Line, ...]

    @property
    def has_levels(self) -> bool:
        """Whether it shows more than its outermost lane."""
        return shows_levels(self.row, self.is_open)

    @property
    def bottom(self) -> int:
        """The first pixel below the row."""
        return self.top + self.height


@dataclass(frozen=True, kw_only=True)
class Layout:
    """All visible rows, scrolled and pinned, and the heights of both areas."""

    pinned: tuple[PlacedRow, ...]
    rows: tuple[PlacedRow, ...]
    pinned_height: int
    height: int
    lane_place: Mapping[int, tuple[PlacedRow, Line]]
    """The row and line of each visible lane of the scrolled area"""
    pinned_place: Mapping[int, tuple[PlacedRow, Line]]
    by_key: Mapping[str, PlacedRow]

    def between(self, top: int, bottom: int) -> tuple[PlacedRow, ...]:
        """Rows of the scrolled area that overlap ``[top, bottom)`` of the content."""
        tops = [placed.top for placed in self.rows]
        first = max(0, int(np.searchsorted(tops, top, "right")) - 1)
        last = int(np.searchsorted(tops, bottom, "left"))
        return self.rows[first:last]

    def at(self, y: int, *, pinned: bool) -> PlacedRow | None:
        """The row at a height, or None."""
        rows = self.pinned if pinned else self.rows
        index = int(np.searchsorted([placed.top for placed in rows], y, "right")) - 1
        if index < 0 or y >= rows[index].bottom:
            return None
        return rows[index]


def line_height(row: TimelineRow, heights: Mapping[str, int]) -> int:
    """Pixels per lane of a row."""
    chosen = heights.get(row.key)
    if chosen is not None:
        return min(max(chosen, MIN_LANE_PX), MAX_LANE_PX)
    if row.content is Content.SUBSET:
        return _LANE if row.more_groups else _NAME
    if row.content is Content.COUNTER:
        return _COUNTER
    if row.content is Content.MORE:
        return _MORE
    if row.content is Content.CURVE:
        return _GROUP
    return _LANE if len(row.lanes) > 1 else _ROW


LevelsOf = Callable[[TimelineRow], int]
"""Returns the number of lanes of a row to lay out."""


def all_levels(row: TimelineRow) -> int:
    """The number of all lanes of a row."""
    return len(row.lanes)


def row_is_open(row: TimelineRow, state: TimelineState) -> bool:
    """Whether a row is expanded: as the user left it, else the tree's default."""
    return state.expanded.get(row.key, row.is_open)


def place(
    row: TimelineRow,
    depth: int,
    top: int,
    state: TimelineState,
    *,
    pinned: bool,
    is_open: bool,
    levels_of: LevelsOf = all_levels,
) -> PlacedRow:
    """Lay out the lines of one row."""
    pitch = line_height(row, state.heights)
    lines: list[Line] = []
    if row.content is Content.LANES:
        lanes = row.lanes if shows_levels(row, is_open) else row.lanes[:1]
        if len(lanes) > 1:
            for number, lane in enumerate(lanes[: levels_of(row)]):
                lines.append(Line(lane, None, _PADDING + number * pitch, max(2, pitch - 1)))
            height = pitch * len(lines) + 2 * _PADDING - 1
        else:
            if row.key not in state.heights:
                pitch = max(pitch, _ROW if row.role != "python" else _NAME)
            air = 4 if pitch >= 20 else 2 if pitch >= 12 else 1
            lines.append(Line(lanes[0], None, air, max(2, pitch - 2 * air + 1)))
            height = pitch
    elif row.content is Content.SUBSET and row.more_groups and row.group is not None:
        for number, group in enumerate((row.group, *row.more_groups)):
            lines.append(Line(-1, group, _PADDING + number * pitch, max(2, pitch - 1)))
        height = pitch * len(lines) + 2 * _PADDING - 1
    elif row.content is Content.SUBSET and row.group is not None:
        air = 3 if pitch >= 16 else 1
        lines.append(Line(-1, row.group, air, max(2, pitch - 2 * air + 1)))
        height = pitch
    else:
        height = pitch
    return PlacedRow(
        row=row, depth=depth, top=top, height=height, pinned=pinned, is_open=is_open, lines=tuple(lines)
    )


def make_layout(tree: RowTree, state: TimelineState, levels_of: LevelsOf = all_levels) -> Layout:
    """The layout for a state; ``levels_of`` gives the number of lanes of an expanded row."""
    wanted = state.filter
    keep = None
    if wanted.rows or wanted.only:
        matches = title_matcher(wanted.rows, regex=wanted.regex, case=wanted.case)
        only = set(wanted.only)

        def keep_row(row: TimelineRow) -> bool:
            if only:
                chain = {row.key, *(above.key for above in row.ancestors())}
                if not chain & only:
                    return False
            return not wanted.rows or matches(row.title)

        keep = keep_row

    def ordered(row: TimelineRow) -> list[TimelineRow]:
        wish = state.order.get(row.key)
        if not wish:
            return row.children
        rank = {key: index for index, key in enumerate(wish)}
        return sorted(row.children, key=lambda child: rank.get(child.key, len(rank)))

    shown = tree.visible(
        lambda row: row_is_open(row, state), ordered, lambda row: row.key in state.hidden, keep
    )
    top = 0
    rows: list[PlacedRow] = []
    for row, depth in shown:
        is_open = row_is_open(row, state)
        placed = place(row, depth, top, state, pinned=False, is_open=is_open, levels_of=levels_of)
        rows.append(placed)
        top += placed.height
    pinned = _pinned_rows([pin for pin in map(tree.get, state.pins) if pin is not None], state, levels_of)
    pinned_top = pinned[-1].bottom if pinned else 0
    return Layout(
        pinned=tuple(pinned),
        rows=tuple(rows),
        pinned_height=pinned_top,
        height=top,
        lane_place=_lane_places(rows),
        pinned_place=_lane_places(pinned),
        by_key={placed.row.key: placed for placed in rows},
    )


def _pinned_rows(pins: list[TimelineRow], state: TimelineState, levels_of: LevelsOf) -> list[PlacedRow]:
    """The pinned rows below a collapsible heading; empty without pins."""
    if not pins:
        return []
    title = TimelineRow(
        key=PINNED_KEY,
        title=tr("Pinned", "timeline"),
        content=Content.MORE,
        role="pinned",
        is_group=True,
        children=pins,
    )
    is_open = row_is_open(title, state)
    placed = [place(title, 0, 0, state, pinned=True, is_open=is_open)]
    for pin in pins if is_open else ():
        top = placed[-1].bottom
        is_open = row_is_open(pin, state)
        placed.append(place(pin, 0, top, state, pinned=True, is_open=is_open, levels_of=levels_of))
    return placed


def _lane_places(rows: list[PlacedRow]) -> dict[int, tuple[PlacedRow, Line]]:
    return {line.lane: (placed, line) for placed in rows for line in placed.lines if line.lane >= 0}


class Levels:
    """Depth of nested rows: down to the deepest event in view, so that no blank lines are drawn.

    A row grows as soon as deeper events come into view and shrinks only when the view rests, so that nothing jumps
    while it moves.
    """

    def __init__(self, capture: Capture, state: TimelineState) -> None:
        self._capture = capture
        self._state = state
        self._shown: dict[str, int] = {}

    def adopt(self, capture: Capture) -> None:
        """Look at another capture of the same recording; rows stay as deep as they are."""
        self._capture = capture

    def depth_of(self, row: TimelineRow) -> int:
        """The number of lanes to lay out: those so far, and more if the view has deeper events."""
        depth = max(self._shown.get(row.key, 1), self._needed(row))
        self._shown[row.key] = depth
        return depth

    def is_outgrown(self, rows: Iterable[PlacedRow]) -> bool:
        """Whether a row has events in view below its laid-out lanes."""
        return any(
            self._has_event(placed.row.lanes[len(placed.lines) : len(placed.lines) + LOOKED_BELOW])
            for placed in rows
            if placed.has_levels
        )

    def forget_idle(self, rows: Iterable[PlacedRow]) -> bool:
        """Remove bottom lanes without events in view; returns whether there were any."""
        idle = [
            placed.row.key
            for placed in rows
            if placed.has_levels and self._needed(placed.row) < len(placed.lines)
        ]
        for key in idle:
            self._shown.pop(key, None)
        return bool(idle)

    def _needed(self, row: TimelineRow) -> int:
        """Lanes down to the deepest one with an event in view; at least 1."""
        for depth in range(len(row.lanes), 1, -1):
            if self._has_event(row.lanes[depth - 1 : depth]):
                return depth
        return 1

    def _has_event(self, lanes: Iterable[int]) -> bool:
        start, stop = self._state.view
        for lane in lanes:
            rows = self._capture.lane_slice(lane, start, stop)
            if rows.stop > rows.start:
                return True
        return False
