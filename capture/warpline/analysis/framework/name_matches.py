"""Which names of a capture match a pattern, looked up once while it is open."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from warpline.storage import Capture

_MATCHES: WeakKeyDictionary[Capture, dict[tuple[str, int], npt.NDArray[np.bool_]]] = WeakKeyDictionary()


_NAMES: WeakKeyDictionary[Capture, npt.NDArray[np.int64]] = WeakKeyDictionary()
_FEW = 4096
"""So many texts are searched faster than names are told apart from shapes, paths and other arguments."""
_BATCH = 1 << 22


def matching_names(capture: Capture, pattern: re.Pattern[str]) -> npt.NDArray[np.bool_]:
    """For each string id whether it names an event and a pattern is found in it; remembered as long as the capture is
    open.

    One entry at least, so that it can be indexed by the ids of an empty capture.
    """
    known = _MATCHES.setdefault(capture, {})
    key = (pattern.pattern, pattern.flags)
    flags = known.get(key)
    if flags is None:
        flags = np.zeros(max(len(capture.strings), 1), bool)
        names = _names(capture)
        texts = capture.strings.get(names.tolist())
        flags[names] = [pattern.search(text) is not None for text in texts]
        known[key] = flags
    return flags


def _names(capture: Capture) -> npt.NDArray[np.int64]:
    """Ids of the texts that name events; of all where there are few."""
    found = _NAMES.get(capture)
    if found is None:
        count = len(capture.strings)
        used = np.full(count, count <= _FEW, bool)
        for first in range(0, len(capture.events) if count > _FEW else 0, _BATCH):
            names = capture.events.name[first : first + _BATCH]
            used[names[names < count]] = True
        found = _NAMES[capture] = np.flatnonzero(used)
    return found
