"""Colours of events: a function per colour family, over columns. An unknown family falls back to neutral."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.model import Flag
from warpline.model.communication import is_communication
from warpline.model.waits import WAIT_FAMILIES
from warpline_app.timeline.draw.codes import DENSITY, FIRST_HUE, HUES, INDEX, VARIANTS, ColorTable
from warpline_app.timeline.draw.own_names import OwnNames
from warpline_app.timeline.model.name_rows import copy_family

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
Colors = npt.NDArray[np.int32]

_UNKNOWN = -1
_UNSEEN, _MIXED = 1 << 61, 1 << 60
_STATE_BY_NAME = {
    "running": "running",
    "runnable": "runnable",
    "blocked": "blocked",
    "uninterruptible": "uninterruptible",
}


class EventColors:
    """Colours of a capture's events in a theme. Each name is classified once."""

    def __init__(self, capture: Capture, table: ColorTable) -> None:
        self.capture = capture
        self.table = table
        self.own_names = OwnNames()
        """Names of events that derived rows show and the capture does not have."""
        size = max(1, len(capture.strings))
        self._hue_of_name = np.full(size, _UNKNOWN, np.int32)
        self._is_communication = np.full(size, _UNKNOWN, np.int8)
        self._state_of_name = np.full(size, _UNKNOWN, np.int32)
        self._waits = np.full(size, _UNKNOWN, np.int8)
        self._family_of_code = {kind.code: kind.spec.color for kind in capture.kinds.values()}
        self.color_of_code = np.full(256, INDEX["neutral"], np.int32)
        for code, family in self._family_of_code.items():
            self.color_of_code[code] = INDEX.get(_PLAIN.get(family, family), INDEX["neutral"])

    def of(self, rows: Int64Array, kind: npt.NDArray[np.uint8], flags: npt.NDArray[np.uint8]) -> Colors:
        """Colour numbers of events (int32, as long as ``rows``)."""
        result = self.color_of_code[kind]
        for code in np.flatnonzero(np.bincount(kind)).tolist():
            paint = FAMILIES.get(self._family_of_code.get(code, ""))
            if paint is not None:
                chosen = np.flatnonzero(kind == code)
                result[chosen] = paint(self, rows[chosen], code, flags[chosen])
        return result

    def mark_colors(self, kind: npt.NDArray[np.uint8], flags: npt.NDArray[np.uint8]) -> Colors:
        """Colour numbers of events too short for a label: of their kind or state."""
        result = self.color_of_code[kind]
        waiting = (result == INDEX["running"]) & (flags & (Flag.IDLE | Flag.WAITING) != 0)
        if waiting.any():
            runnable = (flags & Flag.WAITING) != 0
            result = np.where(waiting, np.where(runnable, INDEX["runnable"], INDEX["blocked"]), result)
        return result

    @cached_property
    def mark_codes(self) -> npt.NDArray[np.uint16]:
        """For each kind and flags (256 × 256), the code below the lowest column of such a mark."""
        kind, flags = np.indices((256, 256), np.uint8)
        color = self.mark_colors(kind.ravel(), flags.ravel()).reshape(256, 256)
        return (color * VARIANTS + DENSITY - 1).astype(np.uint16)

    def plain_colors(self, colors: Colors, kind: npt.NDArray[np.uint8]) -> Colors:
        """The colours without those of names: a hue, or an event's own colour, becomes that of its kind."""
        return np.where(colors >= FIRST_HUE, self.color_of_code[kind], colors)

    def names(self, rows: Int64Array) -> Int64Array:
        """Name ids of events, clamped to the table of strings."""
        return np.minimum(self.capture.events.name[rows].astype(np.int64), len(self._hue_of_name) - 1)

    def attribute(self, code: int, name: str, rows: Int64Array) -> tuple[Any, Any] | None:
        """Values and validity of an attribute for events of one kind; None if not recorded."""
        table = self.capture.kinds.get(self.capture.kind_of_code.get(code, ""))
        if table is None or name not in table.attributes:
            return None
        return table.taken(name, table.indices_of(rows))

    def waiting(self, rows: Int64Array, code: int) -> Colors:
        """Colour numbers of blocked states, rows of the kind ``code``, by wait kind."""
        attribute = self.attribute(code, "wait", rows)
        if attribute is None:
            return np.full(len(rows), INDEX["blocked"], np.int32)
        values, valid = attribute
        return _WAIT_COLORS[np.where(valid, values, 0)]

    def waiting_on(self, lanes: Int64Array, line: Int64Array, rows: Int64Array) -> Colors:
        """Like `waiting`, for blocked states on ``lanes[line]``, without a search each: a lane of states holds nothing
        else, so its events are adjacent in their kind's table.
        """
        for lane in lanes[self._shift_of_lane[lanes] == _UNSEEN].tolist():
            self._shift_of_lane[lane] = self._table_shift(lane)
        shift = self._shift_of_lane[lanes]
        if np.any(shift[line] == _MIXED):
            return self.waiting(rows.astype(np.int64), self.state_code)
        index = rows + shift[line]
        values, valid = self.capture.kinds["thread_state"].column("wait")
        colors: Colors = _WAIT_COLORS[values[index] * valid[index]]
        return colors

    def _table_shift(self, lane: int) -> int:
        """The offset from a lane's rows to their places among thread states; `_MIXED` for lanes with other kinds."""
        first, count = int(self.capture.lanes.first[lane]), int(self.capture.lanes.count[lane])
        low, high = self.capture.kinds["thread_state"].places_of((first, first + count)).tolist()
        return low - first if high - low == count else _MIXED

    @cached_property
    def _shift_of_lane(self) -> Int64Array:
        return np.full(len(self.capture.lanes), _UNSEEN, np.int64)

    @cached_property
    def state_code(self) -> int:
        """Code of thread states with wait kinds; −1 for none."""
        table = self.capture.kinds.get("thread_state")
        return table.code if table is not None and "wait" in table.attributes else -1

    def hue_of_names(self, names: Int64Array) -> Colors:
        """One of eight hues per name, the same in every capture."""
        hue = self._hue_of_name[names]
        for name in set(names[hue == _UNKNOWN].tolist()):
            self._hue_of_name[name] = FIRST_HUE + zlib.crc32(self.capture.strings[name].encode()) % HUES
        return self._hue_of_name[names]

    def hues_of_texts(self, names: Sequence[str]) -> Colors:
        """A hue for each name, the one that events of that name have."""
        hues = [FIRST_HUE + zlib.crc32(name.encode("utf-8", "replace")) % HUES for name in names]
        return np.array(hues, np.int32)

    def communication(self, names: Int64Array) -> npt.NDArray[np.bool_]:
        """Whether names are communication kernels."""
        known = self._is_communication[names]
        for name in set(names[known == _UNKNOWN].tolist()):
            self._is_communication[name] = is_communication(self.capture.strings[name])
        return np.asarray(self._is_communication[names] == 1, bool)

    def waits(self, names: Int64Array) -> npt.NDArray[np.bool_]:
        """Whether names are API calls that wait for the GPU."""
        known = self._waits[names]
        for name in set(names[known == _UNKNOWN].tolist()):
            self._waits[name] = "synchronize" in self.capture.strings[name].casefold()
        return np.asarray(self._waits[names] == 1, bool)

    def states(self, names: Int64Array) -> Colors:
        """Colour numbers of thread states by name."""
        known = self._state_of_name[names]
        for name in set(names[known == _UNKNOWN].tolist()):
            self._state_of_name[name] = INDEX.get(
                _STATE_BY_NAME.get(self.capture.strings[name].casefold().split(" ")[0], ""), _OTHER_STATE
            )
        return self._state_of_name[names]


_OTHER_STATE = 0
_PLAIN = {"copy": "copy_on_device", "state": "running"}


def _kernel(colors: EventColors, rows: Int64Array, _code: int, _flags: Any) -> Colors:
    talks = colors.communication(colors.names(rows))
    return np.where(talks, INDEX["communication"], INDEX["kernel"]).astype(np.int32)


def _copy(colors: EventColors, rows: Int64Array, code: int, _flags: Any) -> Colors:
    attribute = colors.attribute(code, "copy_kind", rows)
    if attribute is None:
        return np.full(len(rows), INDEX["copy_on_device"], np.int32)
    values, valid = attribute
    return _COPY_COLORS[np.where(valid, np.minimum(values, len(_COPY_COLORS) - 1), 0)]


_COPY_COLORS = np.array([INDEX[copy_family(code)] for code in range(32)], np.int32)


def _state(colors: EventColors, rows: Int64Array, code: int, flags: Any) -> Colors:
    by_name = colors.states(colors.names(rows))
    by_flag = np.where(
        flags & Flag.IDLE,
        INDEX["blocked"],
        np.where(flags & Flag.WAITING, INDEX["runnable"], INDEX["running"]),
    )
    result = np.where(by_name == _OTHER_STATE, by_flag, by_name).astype(np.int32)
    blocked = np.flatnonzero(result == INDEX["blocked"])
    if len(blocked):
        result[blocked] = colors.waiting(rows[blocked], code)
    return result


_WAIT_COLORS = np.full(256, INDEX["blocked"], np.int32)
for _family in WAIT_FAMILIES:
    _WAIT_COLORS[list(_family.kinds)] = INDEX[_family.color]


def _core(colors: EventColors, rows: Int64Array, code: int, _flags: Any) -> Colors:
    attribute = colors.attribute(code, "thread", rows)
    by_name = colors.hue_of_names(colors.names(rows))
    if attribute is None:
        return by_name
    values, valid = attribute
    # A multiplicative hash: adjacent threads get different hues.
    hue = FIRST_HUE + ((values.astype(np.int64) * 2654435761 >> 7) % HUES)
    return np.where(valid & (values >= 0), hue, by_name).astype(np.int32)


def _named(colors: EventColors, rows: Int64Array, _code: int, _flags: Any) -> Colors:
    return colors.hue_of_names(colors.names(rows))


def _range(colors: EventColors, rows: Int64Array, code: int, flags: Any) -> Colors:
    result = _named(colors, rows, code, flags)
    attribute = colors.attribute(code, "color_argb", rows)
    if attribute is not None:
        values, valid = attribute
        # The nvtx package writes no opacity for colours given by name; 0 means no colour.
        own = np.flatnonzero(valid & (values != 0))
        if len(own):
            distinct, inverse = np.unique(values[own], return_inverse=True)
            numbers = np.array([colors.table.custom(int(argb)) for argb in distinct.tolist()], np.int32)
            result = result.copy()
            result[own] = numbers[inverse]
    return result


def _api(colors: EventColors, rows: Int64Array, _code: int, _flags: Any) -> Colors:
    names = colors.names(rows)
    return np.where(colors.waits(names), INDEX["sync"], INDEX["api"]).astype(np.int32)


FAMILIES: Mapping[str, Callable[[EventColors, Int64Array, int, Any], Colors]] = {
    "kernel": _kernel,
    "copy": _copy,
    "state": _state,
    "core": _core,
    "range": _range,
    "operator": _named,
    "phase": _named,
    "python": _named,
    "os": _named,
    "api": _api,
}
"""Unlisted families have their own colour."""
