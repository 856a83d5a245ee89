"""The rows of a page: lanes of events as plain lists, with short events merged if there are too many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.interchange.export.page.page_colors import PageColors
from warpline.interchange.export.page.page_derived import PageTables, derived_page_rows
from warpline.interchange.export.selection import ExportSelection, Int64Array, lane_slices
from warpline.storage.columns.derived_events import ShownRow

if TYPE_CHECKING:
    from warpline.storage import Capture

MAX_DRAWN = 60_000
"""Boxes on a page: about 2 MB, which browsers still draw smoothly."""
MAX_LANES = 600
_FIRST_BIN_NS = 64


@dataclass(frozen=True, kw_only=True)
class PageRows:
    """``rows`` have ``title``, ``depth`` in the tree, and ``lanes`` (lists of boxes).

    A box is start (ns from the start of the range), duration in ns, index of its name (-1: merged events), index of its
    colour, number of events, and the share of its height (1 without it). Events shorter than ``bin_ns`` are merged; 0
    if none are.
    """

    rows: list[dict[str, Any]]
    names: list[str]
    colors: list[str]
    events: int
    bin_ns: int
    lanes_left_out: int


def page_rows(
    capture: Capture,
    selection: ExportSelection,
    derived: tuple[ShownRow, ...] = (),
    *,
    max_drawn: int = MAX_DRAWN,
) -> PageRows:
    """The rows of a part of a capture: those that queries derived, then in the order of the tree, but GPUs first."""
    start, stop = selection.interval(capture)
    of_track: dict[int, list[slice]] = {}
    for track, rows in lane_slices(capture, selection):
        of_track.setdefault(track, []).append(rows)
    order = [track for track in _in_order(capture) if track in of_track]
    lanes = [(track, rows) for track in order for rows in of_track[track]]
    shown = lanes[:MAX_LANES]
    bin_ns = _bin_for(capture, [rows for _track, rows in shown], max_drawn)
    names = _Numbers()
    colors = _Numbers()
    painter = PageColors(capture)
    tables = PageTables(names=names, colors=colors, painter=painter, interval=(start, stop))
    page = derived_page_rows(capture, derived, tables)
    last = -1
    for track, rows in shown:
        if track != last:
            page += _headings(capture, track, last)
            page[-1]["lanes"] = []
            last = track
        page[-1]["lanes"].append(_boxes(capture, rows, (start, stop), bin_ns, (names, colors, painter)))
    events = sum(rows.stop - rows.start for _track, rows in shown)
    return PageRows(
        rows=page,
        names=names.texts,
        colors=colors.texts,
        events=events,
        bin_ns=bin_ns,
        lanes_left_out=len(lanes) - len(shown),
    )


class _Numbers:
    """Numbers texts in order of first use."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self._known.setdefault(text, len(self._known))

    @property
    def texts(self) -> list[str]:
        return list(self._known)


def _in_order(capture: Capture) -> list[int]:
    """All tracks, in the order of the tree, but GPUs before what lies beside them."""

    def children(track: int) -> list[int]:
        return sorted(capture.children(track), key=lambda child: capture.tracks[child].role != "gpu")

    ordered: list[int] = []
    waiting = children(-1)[::-1]
    while waiting:
        track = waiting.pop()
        ordered.append(track)
        waiting.extend(children(track)[::-1])
    return ordered


def _above(capture: Capture, track: int) -> list[int]:
    chain = [track]
    while capture.tracks[chain[-1]].parent >= 0:
        chain.append(capture.tracks[chain[-1]].parent)
    return chain[::-1]


def _headings(capture: Capture, track: int, last: int) -> list[dict[str, Any]]:
    """Rows for the track and for its parents that the previous track does not share."""
    known = set(_above(capture, last)) if last >= 0 else set()
    return [
        {"title": capture.tracks[index].title, "depth": depth, "lanes": []}
        for depth, index in enumerate(_above(capture, track))
        if index not in known
    ]


def _bin_for(capture: Capture, lanes: list[slice], limit: int) -> int:
    """The length below which events are merged, a power of two from `_FIRST_BIN_NS`; 0 for none."""
    if sum(rows.stop - rows.start for rows in lanes) <= limit:
        return 0
    bin_ns = _FIRST_BIN_NS
    while bin_ns < 1 << 60 and sum(len(_groups(capture, rows, bin_ns)) for rows in lanes) > limit:
        bin_ns *= 2
    return bin_ns


def _groups(capture: Capture, rows: slice, bin_ns: int) -> Int64Array:
    """Indexes in a lane where boxes begin: one per long event, one for the short events of a bin."""
    start, duration = capture.events.start[rows], capture.events.duration[rows]
    is_short = duration < bin_ns
    number = start // bin_ns
    begins = np.ones(len(start), bool)
    begins[1:] = ~is_short[1:] | ~is_short[:-1] | (number[1:] != number[:-1])
    return np.flatnonzero(begins)


def _boxes(
    capture: Capture,
    rows: slice,
    interval: tuple[int, int],
    bin_ns: int,
    tables: tuple[_Numbers, _Numbers, PageColors],
) -> list[list[int]]:
    names, colors, painter = tables
    first = _groups(capture, rows, bin_ns) if bin_ns else np.arange(rows.stop - rows.start)
    if not len(first):
        return []
    counts = np.diff(np.append(first, rows.stop - rows.start))
    firsts, lasts = first + rows.start, first + counts - 1 + rows.start
    starts, _ = capture.event_times(firsts)
    _, stops = capture.event_times(lasts)
    starts = np.clip(starts, *interval) - interval[0]
    stops = np.clip(stops, *interval) - interval[0]
    tokens = [colors(token) for token in painter.of(firsts)]
    ids = capture.events.name[firsts].tolist()
    texts = [
        names(capture.strings[name]) if count == 1 else -1
        for name, count in zip(ids, counts.tolist(), strict=True)
    ]
    return [
        list(box)
        for box in zip(
            starts.tolist(), (stops - starts).tolist(), texts, tokens, counts.tolist(), strict=True
        )
    ]
