"""Where on the timelines of two captures a part of their difference is."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from warpline.analysis.compare.comparison import Side
from warpline.analysis.compare.names import Key, stable_name
from warpline.analysis.framework.selection import Selection, View
from warpline_app.session.timeline_state import Range


def stretch_of(side: Side, cause: str) -> Range | None:
    """Where a side's windows have most of a cause at once."""
    return side.largest_stretch(cause)


def window_of(side: Side) -> Range:
    """What of a side is compared."""
    return int(side.windows.start[0]), int(side.windows.stop.max())


def name_ids(side: Side, names: Iterable[str], *, is_exact: bool) -> frozenset[int]:
    """String ids of names in a side's capture: as they are, else those that the rules make equal."""
    strings = side.run.capture.strings
    found: set[int] = set()
    for name in names:
        known = strings.id(name)
        if known is not None:
            found.add(known)
        elif not is_exact:
            # A pattern's literal beginning narrows millions of names before each is looked at.
            beginning = stable_name(name).partition("…")[0]
            if len(beginning) >= 3:
                ids = strings.find(beginning, case=True).tolist()
                texts = strings.get(ids)
                found |= {
                    i for i, text in zip(ids, texts, strict=True) if stable_name(text) == stable_name(name)
                }
    return frozenset(found)


def names_of(keys: Iterable[Key]) -> set[str]:
    """All texts of keys: one of them is the name."""
    return {text for key in keys for text in key if text}


def longest_event(side: Side, ids: frozenset[int], within: Range | None = None) -> int | None:
    """The longest event of some names in what is compared, or a part of it, as its row; None where there is none."""
    if not ids:
        return None
    capture = side.run.capture
    view = View(capture, Selection(*(within or window_of(side)), names=ids))
    best, longest = None, -1
    for kind in capture.kinds:
        for events in view.batches(kind):
            if len(events):
                place = int(np.argmax(events.inside))
                if int(events.inside[place]) > longest:
                    best, longest = int(events.row[place]), int(events.inside[place])
    return best
