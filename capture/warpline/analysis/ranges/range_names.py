"""Names and styles of ranges as Nsight prints them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.report import Targets, Texts
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import kind_code
from warpline.model import Flag

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
PUSH_POP, START_END, MARK = 0, 1, 2
_STYLES = ("PushPop", "StartEnd", "Mark")


class RangeNames:
    """Names of ranges as Nsight prints them, "domain:name"; codes are ``domain << 32 | name`` of string ids."""

    def __init__(self, view: View) -> None:
        self._view = view

    def codes(self, index: Int64Array, name: npt.NDArray[Any]) -> Int64Array:
        """Codes of ranges, given their indices in the table of ranges and their name ids."""
        return (self.domains(index) << 32) | name.astype(np.int64)

    def domains(self, index: Int64Array) -> Int64Array:
        """String ids of the domains of ranges, 0 for none."""
        domain = np.ma.filled(self._view.column("range", "domain", index), 0).astype(np.int64)
        return np.where((domain >= 0) & (domain < len(self._view.capture.strings)), domain, 0)

    def lookup(self, code: int) -> str:
        """The text of a code."""
        strings = self._view.capture.strings
        domain, name = strings[code >> 32], strings[code & 0xFFFFFFFF]
        return f"{domain}:{name}" if domain else name

    def texts(self, codes: Int64Array) -> Texts:
        """A column of texts."""
        return Texts(codes, self.lookup)


def tracks_without_thread(view: View) -> BoolArray:
    """Which tracks of the capture have no thread: bool [tracks]."""
    return np.array([track.thread is None for track in view.capture.tracks] or [True])


def styles(
    view: View, index: Int64Array, rows: Int64Array, without_thread: BoolArray | None = None
) -> Int64Array:
    """Style of each range. ``without_thread`` is `tracks_without_thread`, for callers with many parts.

    Start/end ranges lie on a track of a process instead of a thread, or name the thread that ended them. Marks are
    instants.
    """
    result = np.zeros(len(index), np.int64)
    alone = tracks_without_thread(view) if without_thread is None else without_thread
    result[alone[view.track_of(rows)]] = START_END
    if "end_thread" in view.capture.kinds["range"].attributes:
        result[~np.ma.getmaskarray(view.column("range", "end_thread", index))] = START_END
    result[(view.capture.events.flags[rows] & Flag.INSTANT) != 0] = MARK
    return result


def style_texts(codes: Int64Array) -> Texts:
    return Texts(codes, _STYLES.__getitem__)


def range_targets(view: View, codes: Int64Array) -> Targets:
    return Targets(
        names=(codes & 0xFFFFFFFF).astype(np.uint32),
        kinds=np.full(len(codes), kind_code(view, "range"), np.int16),
    )
