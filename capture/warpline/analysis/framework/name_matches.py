"""Finds and remembers which names of a capture match a pattern."""

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
"""Up to this many texts, searching all is faster than finding out which of them name events."""
_BATCH = 1 << 22


def matching_names(capture: Capture, pattern: re.Pattern[str]) -> npt.NDArray[np.bool_]:
    """For each string id, whether it names an event and matches the pattern; cached while the capture is open.

    Has at least one entry, so that ids of an empty capture can index it.
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
    """Ids of the texts that name events, or of all texts if there are few."""
    ids = _NAMES.get(capture)
    if ids is None:
        count = len(capture.strings)
        used = np.full(count, count <= _FEW, bool)
        for first in range(0, len(capture.events) if count > _FEW else 0, _BATCH):
            names = capture.events.name[first : first + _BATCH]
            used[names[names < count]] = True
        ids = _NAMES[capture] = np.flatnonzero(used)
    return ids
