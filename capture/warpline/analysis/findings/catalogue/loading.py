"""Waiting for input: a loader in the main process, or workers that are too slow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.categories import loading_intervals
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import (
    at_most,
    cost,
    line_needed,
    make_finding,
    pieces_of,
    place_known,
    usual_path,
    what_is_done,
    where_of,
)
from warpline.analysis.findings.finding import Finding, Where
from warpline.analysis.findings.host_places import moments_in, usual_place
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import IntArray
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.selection import Selection
from warpline.i18n import english, english_n
from warpline.model.intervals import intersect_intervals, merge_intervals
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
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
    path = usual_path(case, pieces)
    # A replay ends launches sooner, too: that is no time of loading.
    gain = min(case.gain_ns(_loading_segments(case)), int(case.pieces.length[pieces].sum()))
    told_of = _in_main if _is_in_main(case, pieces) else _by_workers
    found = told_of(case, pieces, gain)
    prefix = "gpu_" if case.target.gpu is not None else ""
    needs = line_needed(case, found.where)
    finding = make_finding(
        case, f"{prefix}data_loading", found.title, found.text, pieces, gain, found.where, found.remedy, needs=needs,
        path=path,
    )  # fmt: skip
    if finding is not None:
        yield finding


class _Told(NamedTuple):
    title: str
    text: str
    remedy: str
    where: Where


def _fields(case: Case, pieces: Int64Array, gain: int, where: Where) -> dict[str, str | float]:
    return {
        **cost(case, int(case.pieces.length[pieces].sum())),
        "who": case.target.title,
        "place": place_known(where),
        "factor": at_most(case, gain),
    }


def _in_main(case: Case, pieces: Int64Array, gain: int) -> _Told:
    where = _where(case, pieces)
    text = english(
        "Data loading costs {time} of {whole} ({percent:.0f} %): {who} waits for {place}, which runs in the main "
        "process. Loading in workers would give at most {factor} ×.",
        **_fields(case, pieces, gain, where),
    )
    remedy = english("Load in workers (num_workers), and let them fetch ahead.")
    return _Told(english("Loading in the main process"), text, remedy, where)


def _by_workers(case: Case, pieces: Int64Array, gain: int) -> _Told:
    """Workers are waited for; or they are done, and what they made is taken over slowly."""
    length, leaf = case.pieces.length[pieces], case.pieces.leaf[pieces]
    ours = np.isin(case.segments.actor[leaf], sorted(case.loaders))
    works = ours & np.isin(case.segments.cause[leaf], (int(Cause.RUNNING), int(Cause.IMPORTING)))
    is_recorded = bool(_fetching_threads(case))
    if length[works].sum() * 2 > length.sum() and (is_recorded or case.threads.has_states):
        where = _where(case, pieces[works])
        text = english(
            "Data loading costs {time} of {whole} ({percent:.0f} %), most of which the main process itself takes over "
            "what workers have made, at {place}: unpickling, collating, copying. Without it at most {factor} ×.",
            **_fields(case, pieces, gain, where),
        )
        remedy = english(
            "Let workers hand over whole batches, as few large tensors, and copy in a thread (pin_memory)."
        )
        return _Told(english("Batches are taken over slowly"), text, remedy, where)
    where, doing, remedy = _workers_doing(case, pieces)
    text = english(
        "Data loading costs {time} of {whole} ({percent:.0f} %): {who} waits for workers. {doing} Without that wait at "
        "most {factor} ×.",
        doing=doing, **_fields(case, pieces, gain, where),
    )  # fmt: skip
    return _Told(english("Workers that load too slowly"), text, remedy, where)


def _workers_doing(case: Case, pieces: Int64Array) -> tuple[Where, str, str]:
    """Where the workers are meanwhile, what they do there as a sentence, and what helps."""
    begun = _beginnings(case, pieces)
    if begun is not None:
        count, starts = begun
        doing = english_n(
            "Of this {time} are the start of one that replaces another.",
            "Of this {time} are the starts of {count} that replace others.",
            count, time=format_duration(starts),
        )  # fmt: skip
        return (
            _where(case, pieces),
            doing,
            english("Keep workers from one epoch to the next: persistent_workers=True."),
        )
    lengths, segment = _of_workers(case, pieces)
    remedy = english("Give workers less to do per item, start more of them, or let them fetch further ahead.")
    if not len(segment):
        where = _where(case, pieces)
        return (
            where,
            english("What they do meanwhile is not known; the wait is at {place}.", place=place_known(where)),
            remedy,
        )
    causes = case.segments.cause[segment]
    most = int(np.argmax(np.bincount(causes, lengths)))
    own = segment[causes == most]
    group = case.group_of_segment[own]
    time = np.bincount(group, np.where(group > 0, lengths[causes == most], 0))
    best = int(own[group == int(np.argmax(time))][0]) if (group > 0).any() else int(own[0])
    where = case.where(best)
    fields = {"place": place_known(where)}
    if most in (Cause.RUNNING, Cause.IMPORTING):
        return where, english("These compute in {place}.", **fields), remedy
    if most == Cause.RUNNABLE:
        remedy = english("Run fewer workers, and fewer threads in each, than there are cores.")
        return where, english("These are ready, in {place}, and have no core.", **fields), remedy
    remedy = english("They wait rather than compute: more workers, or fetching further ahead, hide it.")
    if most in (Cause.LOCK, Cause.GIL):
        remedy = english(
            "Workers wait for each other: split what the lock guards, or give each a part of its own."
        )
    doing = what_is_done(most, where, case.device)
    return where, english("One of these {doing}.", doing=doing), remedy


def _beginnings(case: Case, pieces: Int64Array) -> tuple[int, int] | None:
    """How many workers began after others had ended, and how much of the wait was until their first batch; None where
    that is less than half of it.
    """
    first: dict[int, int] = {}
    capture = case.view.capture
    for thread, start in _fetches(case):
        process = capture.threads[thread].process
        first[process] = min(first.get(process, start), start)
    ends = [stop for one in first if (stop := capture.processes[one].stop_ns) is not None]
    late = [one for one in first if ends and (capture.processes[one].start_ns or 0) >= min(ends)]
    begin = np.array([capture.processes[one].start_ns or 0 for one in late], np.int64)
    ready = np.array([first[one] for one in late], np.int64)
    covered = merge_intervals(begin, ready)
    waited = merge_intervals(case.pieces.start[pieces], case.pieces.stop[pieces])
    begun, done = intersect_intervals(*waited, *covered)
    time = int((done - begun).sum())
    return (len(late), time) if late and 2 * time > int(case.pieces.length[pieces].sum()) else None


def _of_workers(case: Case, pieces: Int64Array) -> tuple[Int64Array, IntArray]:
    """What others than who loads did in some time: (length, segment); as the chains tell, else who makes batches."""
    length, leaf = case.pieces.length[pieces], case.pieces.leaf[pieces]
    others = ~np.isin(case.segments.actor[leaf], sorted(case.loaders)) & (
        case.segments.actor[leaf] < len(case.view.capture.threads)
    )
    if length[others].sum() * 2 > length.sum():
        return length[others], leaf[others]
    lengths, segments = [length[others]], [leaf[others].astype(np.int64)]
    start, stop = case.pieces.start[pieces[~others]], case.pieces.stop[pieces[~others]]
    for worker in sorted(_fetching_threads(case) - case.loaders):
        window, segment = case.graph.index.overlapping(np.full(len(start), worker), start, stop)
        segments.append(segment)
        lengths.append(
            np.minimum(stop[window], case.segments.stop[segment])
            - np.maximum(start[window], case.segments.start[segment])
        )
    segment = np.concatenate(segments)
    known = case.segments.cause[segment] != Cause.NOT_RECORDED
    return np.concatenate(lengths)[known], segment[known]


def _loading_segments(case: Case) -> npt.NDArray[np.bool_]:
    """What the host did inside ranges of data loading; segments are cut where those begin and end."""
    start, stop = loading_intervals(case.view, case.target)
    segments = case.segments
    at = np.searchsorted(start, segments.start, "right") - 1
    inside = (at >= 0) & (segments.stop <= stop[np.maximum(at, 0)])
    return inside & np.isin(segments.actor, sorted(case.loaders))


def _is_in_main(case: Case, pieces: Int64Array) -> bool:
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
    return {thread for thread, _start in _fetches(case)}


def _fetches(case: Case) -> list[tuple[int, int]]:
    """(thread, when it first made a batch), of the whole capture."""
    capture = case.view.capture
    wanted = matching_names(capture, _FETCH)
    found: dict[int, int] = {}
    for own in case.view.other(Selection()).batches("phase", named=wanted) if wanted.any() else ():
        tracks = case.view.track_of(own.row)
        for track in np.unique(tracks).tolist():
            thread, start = capture.tracks[track].thread, int(own.start[tracks == track].min())
            if thread is not None:
                found[thread] = min(found.get(thread, start), start)
    return sorted(found.items())


def _where(case: Case, pieces: Int64Array) -> Where:
    where = where_of(case, pieces)
    if where.file or not case.loaders:
        return where
    kept = case.pieces
    thread = min(case.loaders)
    found = usual_place(case.view, thread, moments_in(kept.start[pieces], kept.stop[pieces])).where
    return replace(found, thread=case.threads.name(thread)) if found != Where() else where


rules = (Rule("loading", "input", of_loading),)
