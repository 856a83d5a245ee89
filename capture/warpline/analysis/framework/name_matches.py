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


def matching_names(capture: Capture, pattern: re.Pattern[str]) -> npt.NDArray[np.bool_]:
    """For each string id whether a pattern is found in the text; remembered as long as the capture is open.

    One entry at least, so that it can be indexed by the ids of an empty capture.
    """
    known = _MATCHES.setdefault(capture, {})
    key = (pattern.pattern, pattern.flags)
    flags = known.get(key)
    if flags is None:
        flags = np.zeros(max(len(capture.strings), 1), bool)
        flags[capture.strings.find(pattern.pattern, regex=True, case=not pattern.flags & re.IGNORECASE)] = (
            True
        )
        known[key] = flags
    return flags
