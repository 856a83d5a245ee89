"""Finds the places of a difference on the two timelines."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from warpline.analysis.compare.comparison import Side
from warpline.analysis.compare.names import Key, stable_name
from warpline.analysis.framework.selection import Selection, View
from warpline_app.state.lit import Lit
from warpline_app.state.timeline_state import Range


def stretch_of(side: Side, cause: str) -> Range | None:
    """The range in which a cause takes most of a side's time."""
    return side.largest_stretch(cause)


def lit_states(side: Side, cause: str, title: str, name: str | None = None) -> Lit | None:
    """Thread states during a cause (or one contributor, ``name``), to highlight.

    None for GPU time, or if the thread's states were not recorded.
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
        key=f"compared {cause} {name}",
        title=title,
        ranges=np.column_stack([start, stop]),
        row_of_range=row_of_range,
        rows=np.sort(states.row),
        tracks=(track,),
    )


def window_of(side: Side) -> Range:
    """The compared range of a side."""
    return int(side.windows.start[0]), int(side.windows.stop.max())


def name_ids(side: Side, names: Iterable[str], *, is_exact: bool) -> frozenset[int]:
    """String ids of names in a side's capture: exact matches, else matches by rule."""
    strings = side.run.capture.strings
    ids_found: set[int] = set()
    for name in names:
        string_id = strings.id(name)
        if string_id is not None:
            ids_found.add(string_id)
        elif not is_exact:
            # The literal start of a pattern narrows millions of names before each is checked.
            prefix = stable_name(name).partition("…")[0]
            if len(prefix) >= 3:
                ids = strings.find(prefix, case=True).tolist()
                texts = strings.get(ids)
                ids_found |= {
                    i for i, text in zip(ids, texts, strict=True) if stable_name(text) == stable_name(name)
                }
    return frozenset(ids_found)


def names_of(keys: Iterable[Key]) -> set[str]:
    """All non-empty texts of the keys; one of them is the name."""
    return {text for key in keys for text in key if text}


def longest_event(
    side: Side, ids: frozenset[int], within: Range | None = None, *, with_instants: bool = False
) -> int | None:
    """Row of the longest event with one of these names, in the compared range or part of it; None if there is none."""
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
