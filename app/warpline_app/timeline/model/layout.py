"""Where each visible row lies: from the tree and the state to tops and heights. Logical pixels, no window."""

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
"""Key of the row that stands above the pinned ones and closes them."""
MIN_LANE_PX = 6
MAX_LANE_PX = 60
LOOKED_BELOW = 64
"""Lanes below the shown ones that are searched while the view moves: of nested ones none lies deeper without those."""
_PADDING = 3
_ROW = 22
_GROUP = 22
_LANE = 16
_NAME = 18
_COUNTER = 30
_MORE = 18


@dataclass(frozen=True)
class Line:
    """One line of codes: a lane or a group of events, and where its bar lies below the row's top."""

    lane: int
    group: NameGroup | None
    top: int
    height: int


def shows_levels(row: TimelineRow, is_open: bool) -> bool:
    """Whether a row shows more than the outermost of its lanes: closed it does where it has other rows to fold."""
    return row.content is Content.LANES and len(row.lanes) > 1 and (is_open or row.has_children)


@dataclass(frozen=True)
class PlacedRow:
    """A visible row: indentation, top and height in content pixels, and the lines of codes it shows.

    ``pinned`` rows stand in the pinned area, with tops counted from the top of that area.
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
        """Whether it shows more than the outermost of its lanes."""
        return shows_levels(self.row, self.is_open)

    @property
    def bottom(self) -> int:
        """First pixel below."""
        return self.top + self.height


@dataclass(frozen=True)
class Layout:
    """All visible rows, those of the pinned area apart, and the heights of both areas."""

    pinned: tuple[PlacedRow, ...]
    rows: tuple[PlacedRow, ...]
    pinned_height: int
    height: int
    lane_place: Mapping[int, tuple[PlacedRow, Line]]
    """for each visible lane of the scrolled area where it is"""
    pinned_place: Mapping[int, tuple[PlacedRow, Line]]
    by_key: Mapping[str, PlacedRow]

    def between(self, top: int, bottom: int) -> tuple[PlacedRow, ...]:
        """Rows of the scrolled area that reach into ``[top, bottom)`` of the content."""
        tops = [placed.top for placed in self.rows]
        first = max(0, int(np.searchsorted(tops, top, "right")) - 1)
        last = int(np.searchsorted(tops, bottom, "left"))
        return self.rows[first:last]

    def at(self, y: int, *, pinned: bool) -> PlacedRow | None:
        """The row at a height."""
        rows = self.pinned if pinned else self.rows
        index = int(np.searchsorted([placed.top for placed in rows], y, "right")) - 1
        if index < 0 or y >= rows[index].bottom:
            return None
        return rows[index]


def line_height(row: TimelineRow, heights: Mapping[str, int]) -> int:
    """Pixels from one lane of a row to the next."""
    chosen = heights.get(row.key)
    if chosen is not None:
        return min(max(chosen, MIN_LANE_PX), MAX_LANE_PX)
    if row.content is Content.SUBSET:
        return _NAME
    if row.content is Content.COUNTER:
        return _COUNTER
    if row.content is Content.MORE:
        return _MORE
    if row.content is Content.CURVE:
        return _GROUP
    return _LANE if len(row.lanes) > 1 else _ROW


LevelsOf = Callable[[TimelineRow], int]
"""How many lanes of a row to lay out."""


def all_levels(row: TimelineRow) -> int:
    """Every lane."""
    return len(row.lanes)


def row_is_open(row: TimelineRow, state: TimelineState) -> bool:
    """Whether a row is open: as a person left it, else as the tree was made."""
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
    """Where the lines of one row lie."""
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
    elif row.content is Content.SUBSET and row.group is not None:
        air = 3 if pitch >= 16 else 1
        lines.append(Line(-1, row.group, air, max(2, pitch - 2 * air + 1)))
        height = pitch
    else:
        height = pitch
    return PlacedRow(row, depth, top, height, pinned, is_open, tuple(lines))


def make_layout(tree: RowTree, state: TimelineState, levels_of: LevelsOf = all_levels) -> Layout:
    """The layout that a state asks for; ``levels_of`` an open row says how many of its lanes are laid out."""
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
        tuple(pinned),
        tuple(rows),
        pinned_top,
        top,
        _lane_places(rows),
        _lane_places(pinned),
        {placed.row.key: placed for placed in rows},
    )


def _pinned_rows(pins: list[TimelineRow], state: TimelineState, levels_of: LevelsOf) -> list[PlacedRow]:
    """The pinned rows below a title that closes them; nothing without pins."""
    if not pins:
        return []
    title = TimelineRow(
        PINNED_KEY, tr("Pinned", "timeline"), Content.MORE, "pinned", is_group=True, children=pins
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
    """How deep rows of levels are drawn: to the deepest event in view, so that no blank lines take the place of others.

    A row grows as soon as deeper events come into view, and shrinks only when the hand rests: nothing jumps to and fro
    while the view moves.
    """

    def __init__(self, capture: Capture, state: TimelineState) -> None:
        self._capture = capture
        self._state = state
        self._shown: dict[str, int] = {}

    def depth_of(self, row: TimelineRow) -> int:
        """How many lanes of a row to lay out: those it had, and more where the view has deeper events."""
        depth = max(self._shown.get(row.key, 1), self._needed(row))
        self._shown[row.key] = depth
        return depth

    def is_outgrown(self, rows: Iterable[PlacedRow]) -> bool:
        """Whether a row has events in view below the lanes that are laid out."""
        return any(
            self._has_event(placed.row.lanes[len(placed.lines) : len(placed.lines) + LOOKED_BELOW])
            for placed in rows
            if placed.has_levels
        )

    def forget_idle(self, rows: Iterable[PlacedRow]) -> bool:
        """Give up lanes at the bottom of rows in which nothing is in view; whether there were any."""
        idle = [
            placed.row.key
            for placed in rows
            if placed.has_levels and self._needed(placed.row) < len(placed.lines)
        ]
        for key in idle:
            self._shown.pop(key, None)
        return bool(idle)

    def _needed(self, row: TimelineRow) -> int:
        """Lanes down to the deepest that has an event in view; 1 where nothing is."""
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
