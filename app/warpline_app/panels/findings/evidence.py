"""Converts a finding into its highlight on the timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.finding import BudgetPart, Finding, Hop
from warpline.i18n import translated
from warpline_app.panels.findings.card import where_text
from warpline_app.state.lit import Lit, LitHop

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
_MOST_ROWS = 5_000_000
"""Above this many events in a lane, only the ranges are highlighted, not the events."""


CAUSE = "cause|"
"""Begins the key of a highlighted part of the budget."""


def finding_key(finding: Finding) -> str:
    """Identifies a finding in another range or after a restart: its kind and place."""
    where = finding.where
    place = f"{where.file}:{where.line}" if where.file else where.operator or where.kernel or where.thread
    return f"{finding.id}|{place}"


def hop_text(hop: Hop) -> str:
    """What happened at a hop, and where."""
    what, where = translated(hop.action), where_text(hop.where)
    if not where:
        return what
    # The text of a hop often names its place already.
    named = hop.where.function and hop.where.function in what
    short = hop.where.thread if named else where
    return f"{short}: {what}" if short else what


def lit_of(capture: Capture, finding: Finding) -> Lit:
    """The highlight of a finding; its instances are its ranges, else its events."""
    evidence = finding.evidence
    last = max(len(capture.events) - 1, 0)
    rows = np.unique(np.clip(np.array(evidence.rows, np.int64), 0, last))
    ranges = evidence.ranges
    if not len(ranges) and len(rows):
        start, stop = capture.event_times(rows)
        ranges = np.column_stack((start, stop)).astype(np.int64)
        ranges = ranges[np.argsort(ranges[:, 0], kind="stable")]
    tracks = evidence.tracks or tuple(
        dict.fromkeys(int(capture.track_of_row(row)) for row in rows[:20].tolist())
    )
    row_sets, of_range = _rows_in(capture, ranges, tracks)
    row_sets.append(rows)
    hops = tuple(LitHop(min(hop.row, last), hop_text(hop)) for hop in finding.chain)
    row_sets.append(np.array([hop.row for hop in hops if hop.row >= 0], np.int64))
    every = np.unique(np.concatenate(row_sets))
    return Lit(
        key=finding_key(finding),
        title=translated(finding.title),
        ranges=ranges,
        row_of_range=of_range,
        rows=every,
        tracks=tracks,
        hops=hops,
    )


def lit_of_cause(capture: Capture, part: BudgetPart, ranges: Int64Array, tracks: tuple[int, ...]) -> Lit:
    """The highlight of a part of the time budget: ``ranges`` int64 [n, 2] (capture ns) on the actor's ``tracks``."""
    row_sets, of_range = _rows_in(capture, ranges, tracks)
    return Lit(
        key=f"{CAUSE}{part.cause}",
        title=translated(part.title),
        ranges=ranges,
        row_of_range=of_range,
        rows=np.unique(np.concatenate([np.empty(0, np.int64), *row_sets])),
        tracks=tracks,
    )


def is_about(finding: Finding, ranges: Int64Array) -> bool:
    """Whether most instances of a finding begin inside ranges (sorted, apart)."""
    starts = finding.evidence.ranges[:, 0]
    if not len(starts) or not len(ranges):
        return False
    at = np.searchsorted(ranges[:, 0], starts, "right") - 1
    inside = (at >= 0) & (starts < ranges[np.maximum(at, 0), 1])
    return bool(inside.mean() >= 0.5)


def _rows_in(
    capture: Capture, ranges: Int64Array, tracks: tuple[int, ...]
) -> tuple[list[Int64Array], Int64Array]:
    """The events of tracks within ranges, by lane, and the event of each range (−1: none)."""
    of_range = np.full(len(ranges), -1, np.int64)
    row_sets: list[Int64Array] = []
    for track in reversed(tracks):
        for lane in np.flatnonzero(np.asarray(capture.lanes.track) == track).tolist():
            inside, at_start = _within(capture, lane, ranges)
            row_sets.append(inside)
            # The waiting track is first: its events name the instances.
            of_range = np.where(at_start >= 0, at_start, of_range)
    return row_sets, of_range


def _within(capture: Capture, lane: int, ranges: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The events of a lane that overlap the ranges, and for each range the event at its start (−1: none).

    Uses binary search: the events of a lane do not overlap.
    """
    first, count = int(capture.lanes.first[lane]), int(capture.lanes.count[lane])
    nothing = np.empty(0, np.int64), np.full(len(ranges), -1, np.int64)
    if not count or not len(ranges):
        return nothing
    offset = capture.clock_offset_of_track(int(capture.lanes.track[lane]))
    start = capture.events.start[first : first + count]
    low, high = ranges[:, 0] + offset, ranges[:, 1] + offset
    at = np.searchsorted(start, low, "right") - 1
    before = np.maximum(at, 0)
    reaches = (at >= 0) & (start[before] + capture.events.duration[first + before] > low)
    begin, end = np.where(reaches, before, at + 1), np.searchsorted(start, high, "left")
    length = np.maximum(end - begin, 0)
    if int(length.sum()) > _MOST_ROWS:
        return nothing
    index = np.repeat(begin - np.r_[0, np.cumsum(length)[:-1]], length) + np.arange(int(length.sum()))
    return first + index, np.where(reaches, first + before, -1)
