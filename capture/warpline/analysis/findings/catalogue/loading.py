"""Waiting for input: a loader in the main process, or workers that are too slow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.categories import loading_intervals
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import (
    at_most,
    cost,
    make_finding,
    pieces_of,
    place_known,
    told,
    usual_path,
    where_of,
)
from warpline.analysis.findings.finding import Finding, Where
from warpline.analysis.findings.host_places import moments_in, usual_place
from warpline.analysis.findings.rule import Rule
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.selection import Selection
from warpline.i18n import english

_IN_MAIN = re.compile(r"_SingleProcess\w*Iter")
_IN_WORKERS = re.compile(r"_MultiProcessing\w*Iter")
_FETCH = re.compile(r"^fetch batch$")
"""What own recordings call the making of a batch, in whichever process that is."""
_AT_WORK = (int(Cause.RUNNING), int(Cause.IMPORTING), int(Cause.RUNNABLE), int(Cause.FILE), int(Cause.SLEEP))


def of_loading(case: Case) -> Iterator[Finding]:
    """Time in which what is waited for waited for data."""
    pieces = pieces_of(case, "data_loading")
    if not len(pieces):
        return
    where = _where(case, pieces)
    path = usual_path(case, pieces)
    without = _loading_segments(case)
    gain = case.gain_ns(without)
    fields = {
        **cost(case, int(case.pieces.length[pieces].sum())),
        "who": case.target.title,
        "place": place_known(where),
        "factor": at_most(case, gain),
    }
    if _is_in_main(case, pieces):
        text = english(
            "Data loading costs {time} of {whole} ({percent:.0f} %): {who} waits for {place}, which runs in the main "
            "process. Loading in workers would give at most {factor} x.",
            **fields,
        )
        remedy = english("Load in workers (num_workers), and let them fetch ahead.")
        title = english("Loading in the main process")
    else:
        text = english(
            "Data loading costs {time} of {whole} ({percent:.0f} %): {who} waits for workers that are too slow, at "
            "{place}. Faster ones would give at most {factor} x.",
            **fields,
        )
        text = f"{text} {told(case, path)}".strip()
        remedy = english(
            "Give workers less to do per item, start more of them, or let them fetch further ahead."
        )
        title = english("Workers that load too slowly")
    needs = (
        "" if where.file else english("record the host with --trace cpu,osrt,python to see which line it is")
    )
    prefix = "gpu_" if case.target.gpu is not None else ""
    found = make_finding(
        case, f"{prefix}data_loading", title, text, pieces, gain, where, remedy, needs=needs, path=path
    )
    if found is not None:
        yield found


def _loading_segments(case: Case) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """What the host did inside ranges of data loading; segments are cut where those begin and end."""
    start, stop = loading_intervals(case.view, case.target)
    segments = case.segments
    at = np.searchsorted(start, segments.start, "right") - 1
    inside = (at >= 0) & (segments.stop <= stop[np.maximum(at, 0)])
    return inside & np.isin(segments.actor, sorted(case.loaders))


def _is_in_main(case: Case, pieces: np.ndarray[tuple[int], np.dtype[np.int64]]) -> bool:
    capture = case.view.capture
    for pattern, answer in ((_IN_MAIN, True), (_IN_WORKERS, False)):
        if matching_names(capture, pattern).any():
            return answer
    fetching = _fetching_threads(case)
    if fetching:
        return bool(fetching & case.loaders)
    own = np.isin(case.segments.actor[case.pieces.leaf[pieces]], sorted(case.loaders))
    works = own & np.isin(case.segments.cause[case.pieces.leaf[pieces]], _AT_WORK)
    length = case.pieces.length[pieces]
    return bool(length[works].sum() * 2 > length.sum())


def _fetching_threads(case: Case) -> set[int]:
    """Threads that were recorded making batches."""
    capture = case.view.capture
    wanted = matching_names(capture, _FETCH)
    found: set[int] = set()
    for events in case.view.other(Selection()).batches("phase") if wanted.any() else ():
        tracks = np.unique(case.view.track_of(events.take(wanted[events.name]).row)).tolist()
        found |= {thread for track in tracks if (thread := capture.tracks[track].thread) is not None}
    return found


def _where(case: Case, pieces: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Where:
    where = where_of(case, pieces)
    if where.file or not case.loaders:
        return where
    kept = case.pieces
    thread = min(case.loaders)
    found, _row, _part = usual_place(case.view, thread, moments_in(kept.start[pieces], kept.stop[pieces]))
    return replace(found, thread=case.threads.name(thread)) if found != Where() else where


rules = (Rule("loading", "input", of_loading),)
