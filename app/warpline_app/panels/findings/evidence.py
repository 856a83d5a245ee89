"""From a finding to what is lit up of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.finding import Finding, Hop
from warpline.i18n import translated
from warpline_app.panels.findings.card import where_text
from warpline_app.session.lit import Lit, LitHop

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]


def finding_key(finding: Finding) -> str:
    """By what a finding is known again in another range, or after a restart: its kind and its place."""
    where = finding.where
    place = f"{where.file}:{where.line}" if where.file else where.operator or where.kernel or where.thread
    return f"{finding.id}|{place}"


def hop_text(hop: Hop) -> str:
    """Who did what, where."""
    what, where = translated(hop.what), where_text(hop.where)
    if not where:
        return what
    # What a hop says often names its place already.
    named = hop.where.function and hop.where.function in what
    short = hop.where.thread if named else where
    return f"{short}: {what}" if short else what


def lit_of(capture: Capture, finding: Finding) -> Lit:
    """What is lit up of a finding; instances are the stretches it gives, else its events."""
    evidence = finding.evidence
    last = max(len(capture.events) - 1, 0)
    rows = np.clip(np.array(evidence.rows, np.int64), 0, last)
    start, stop = capture.event_times(rows) if len(rows) else (rows, rows)
    order = np.argsort(start, kind="stable")
    rows, start, stop = rows[order], start[order], stop[order]
    if evidence.ranges:
        ranges = np.array(evidence.ranges, np.int64).reshape(-1, 2)
        of_range = _row_of_each(ranges, rows, start, stop)
    else:
        ranges, of_range = np.column_stack((start, stop)).astype(np.int64), rows
    hops = tuple(LitHop(min(hop.row, last), hop_text(hop)) for hop in finding.chain)
    kept = np.unique(np.concatenate((rows, np.array([hop.row for hop in hops if hop.row >= 0], np.int64))))
    tracks = evidence.tracks or tuple(
        dict.fromkeys(int(capture.track_of_row(row)) for row in rows[:20].tolist())
    )
    return Lit(finding_key(finding), translated(finding.title), ranges, of_range, kept, tracks, hops)


def _row_of_each(ranges: Int64Array, rows: Int64Array, start: Int64Array, stop: Int64Array) -> Int64Array:
    """For each range the event that began last before it and reaches into it, −1 for none."""
    if not len(rows):
        return np.full(len(ranges), -1, np.int64)
    at = np.maximum(np.searchsorted(start, ranges[:, 0], "right") - 1, 0)
    reaches = (start[at] < ranges[:, 1]) & (stop[at] > ranges[:, 0])
    return np.where(reaches, rows[at], -1)
