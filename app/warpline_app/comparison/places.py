"""Where on the timelines of two captures a part of their difference is."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from warpline.analysis.compare.comparison import Side
from warpline.analysis.compare.names import Key, stable_name
from warpline.analysis.framework.selection import Selection, View
from warpline_app.state.lit import Lit
from warpline_app.state.timeline_state import Range


def stretch_of(side: Side, cause: str) -> Range | None:
    """Where a side's windows have most of a cause at once."""
    return side.largest_stretch(cause)


def lit_states(side: Side, cause: str, title: str, name: str | None = None) -> Lit | None:
    """What a thread was in while a cause had its time (``name``: that of one contributor), to be lit up.

    None where it is a GPU's time, or nothing tells of the thread's states.
    """
    thread, capture = side.use.thread, side.run.capture
    start, stop = side.use.stretches(cause, side.windows.start, side.windows.stop, name)
    if thread is None or "thread_state" not in capture.kinds or not len(start):
        return None
    tracks = frozenset(track.index for track in capture.tracks if track.thread == thread)
    states = View(capture, Selection(*window_of(side))).events("thread_state", tracks)
    at = np.minimum(np.searchsorted(stop, states.start, "right"), len(stop) - 1)
    states = states.take((start[at] < states.stop) & (states.start < stop[at]))
    if not len(states):
        return None
    states = states.take(np.argsort(states.start, kind="stable"))
    row_of_range = states.row[np.maximum(np.searchsorted(states.start, start, "right") - 1, 0)]
    track = int(capture.lanes.track[capture.lane_of_row(int(states.row[0]))])
    return Lit(
        f"compared {cause} {name}",
        title,
        np.column_stack([start, stop]),
        row_of_range,
        np.sort(states.row),
        (track,),
    )


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


def longest_event(
    side: Side, ids: frozenset[int], within: Range | None = None, *, with_instants: bool = False
) -> int | None:
    """The longest event of some names in what is compared, or a part of it, as its row; None where there is none."""
    if not ids:
        return None
    capture = side.run.capture
    view = View(capture, Selection(*(within or window_of(side)), names=ids))
    best, longest = None, -1 if with_instants else 0
    for kind in capture.kinds:
        for events in view.batches(kind):
            if len(events):
                place = int(np.argmax(events.inside))
                if int(events.inside[place]) > longest:
                    best, longest = int(events.row[place]), int(events.inside[place])
    return best
