"""Rule: waiting for input data, loaded in the main process or by workers that are too slow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.categories import loading_intervals
from warpline.analysis.findings.causes import CONTENTION, SIGNALS, Cause
from warpline.analysis.findings.draft import (
    NOTE,
    action_text,
    cost,
    line_needed,
    make_finding,
    pieces_of,
    place_known,
    usual_path,
    where_of,
)
from warpline.analysis.findings.finding import Finding, Where
from warpline.analysis.findings.host_places import moments_in, usual_place
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import IntArray, one_of
from warpline.analysis.findings.work.loading_kinds import DominantWork, dominant_work
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.selection import Selection
from warpline.i18n import english, english_n, joined
from warpline.model.intervals import intersect_intervals, merge_intervals
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
_IN_MAIN = re.compile(r"_SingleProcess\w*Iter")
_IN_WORKERS = re.compile(r"_MultiProcessing\w*Iter")
_PADDLE_LOADER = re.compile(r"_DataLoaderIterMultiProcess")
_DECODING = re.compile(
    r"\bPIL\b|/PIL/|jpeg|decode_?(image|jpeg|png|video|audio)|imread|imdecode|cv2|torchvision/io|torchcodec|decord|\bav/"
    r"|librosa|soundfile|torchaudio",
    re.IGNORECASE,
)
_FETCH = re.compile(r"^fetch batch$")
"""The name of batch making in Warpline's own recordings, in any process."""
_IDLE = 0.3
"""Share of the range that workers wait for something to do, from which loading further ahead helps."""
_AT_WORK = (int(Cause.RUNNING), int(Cause.IMPORTING), int(Cause.RUNNABLE), int(Cause.FILE), int(Cause.SLEEP))


def find_loading(case: Case) -> Iterator[Finding]:
    """Find time spent waiting for data."""
    pieces = pieces_of(case, "data_loading")
    if not len(pieces):
        return
    path = usual_path(case, pieces)
    # The replay also ends launches sooner, which is not loading time.
    gain = min(case.gain_ns(_loading_segments(case)), int(case.pieces.length[pieces].sum()))
    describe = _in_main if _is_in_main(case, pieces) else _by_workers
    description = describe(case, pieces)
    if description.part is not None:
        gain = round(gain * description.part)  # the rest of the work stays
    prefix = "gpu_" if case.target.gpu is not None else ""
    needs = line_needed(case, description.where)
    yield from make_finding(
        case, name=f"{prefix}data_loading", title=description.title, text=description.text, pieces=pieces,
        gain_ns=gain, with_factor=True, where=description.where, remedy=description.remedy, needs=needs, path=path,
    )  # fmt: skip


class _Description(NamedTuple):
    """What a finding about data loading says."""

    title: str
    text: str
    remedy: str
    where: Where
    part: float | None = None
    """The share of the work that has a known kind."""


def _fields(case: Case, pieces: Int64Array, where: Where) -> dict[str, str | float]:
    return {
        **cost(case, int(case.pieces.length[pieces].sum())),
        "subject": case.target.title,
        "place": place_known(where),
    }


def _in_main(case: Case, pieces: Int64Array) -> _Description:
    where = _where(case, pieces)
    text = english(
        "Data loading takes {time} of {whole} ({percent:.0f} %): {subject} waits for {place}, which runs in the main "
        "process.",
        **_fields(case, pieces, where),
    )
    remedy = english("Load in worker processes (num_workers) and let them prefetch.")
    if _decodes(where):
        remedy = english(
            "Load in worker processes (num_workers), or decode on the GPU (DALI, torchvision, nvImageCodec)."
        )
    leaf = case.pieces.leaf[pieces]
    runs = case.segments.cause[leaf] == Cause.RUNNING
    work = dominant_work(case, case.segments.place[leaf[runs]], case.pieces.length[pieces[runs]])
    if work is not None and work.kind is not None:
        text = _with_work(text, work)
        remedy = joined(" ", [work.kind.remedy, english("Load in worker processes (num_workers).")])
        where = _where_of_work(where, work)
    part = work.share if work is not None and work.kind is not None else None
    return _Description(english("Data loading in the main process"), text, remedy, where, part)


def _with_work(text: str, work: DominantWork) -> str:
    """The sentence, with what loading spends its running time on."""
    assert work.kind is not None
    hot = work.hot
    return english(
        "{sentence} {percent:.0f} % of that work is {doing}, at {place}.",
        sentence=text, percent=100 * work.share, doing=work.kind.doing,
        place=place_known(Where(file=hot.file, line=hot.number, function=hot.function)),
    )  # fmt: skip


def _where_of_work(where: Where, work: DominantWork) -> Where:
    return replace(where, file=work.hot.file, line=work.hot.number, function=work.hot.function)


def _by_workers(case: Case, pieces: Int64Array) -> _Description:
    """Findings for workers that are too slow, or a main process that is slow to receive their batches."""
    length, leaf = case.pieces.length[pieces], case.pieces.leaf[pieces]
    is_loader = np.isin(case.segments.actor[leaf], sorted(case.loaders))
    works = is_loader & np.isin(case.segments.cause[leaf], (int(Cause.RUNNING), int(Cause.IMPORTING)))
    is_recorded = bool(_fetching_threads(case))
    if length[works].sum() * 2 > length.sum() and (is_recorded or case.threads.has_states):
        where = _where(case, pieces[works])
        text = english(
            "Data loading takes {time} of {whole} ({percent:.0f} %). Most of it is the main process receiving batches "
            "from workers, at {place}: unpickling, collating, copying.",
            **_fields(case, pieces, where),
        )
        remedy = english(
            "Let workers return whole batches as a few large tensors, and copy in a thread (pin_memory)."
        )
        if matching_names(case.view.capture, _PADDLE_LOADER).any():
            remedy = english(
                "Pass batches through shared memory (use_shared_memory=True), as a few large arrays."
            )
        return _Description(english("Slow transfer of batches from workers"), text, remedy, where)
    where, doing, remedy = _workers_doing(case, pieces)
    text = english(
        "Data loading takes {time} of {whole} ({percent:.0f} %): {subject} waits for workers. {doing}",
        doing=doing, **_fields(case, pieces, where),
    )  # fmt: skip
    return _Description(english("Workers load too slowly"), text, remedy, where)


def _workers_doing(case: Case, pieces: Int64Array) -> tuple[Where, str, str]:
    """Where the workers are during the wait, a sentence about what they do, and the remedy."""
    restarts = _restarts(case, pieces)
    if restarts is not None:
        count, starts = restarts
        where = where_of(case, pieces, deepest=False)
        doing = english_n(
            "Starting a replacement worker takes {time} of it, at {place}.",
            "Starting {count} replacement workers takes {time} of it, at {place}.",
            count, time=format_duration(starts), place=place_known(where),
        )  # fmt: skip
        return (
            where,
            doing,
            english("Keep the workers between epochs: persistent_workers=True."),
        )
    idle = _idle_ratio(case)
    if idle >= _IDLE:
        doing = english(
            "Over the whole range the workers wait {percent:.0f} % of the time for something to do, so some batches "
            "take much longer than others.",
            percent=100 * idle,
        )
        remedy = english(
            "Let the workers load further ahead (prefetch_factor), so that a slow batch finds others ready."
        )
        return _where(case, pieces), doing, remedy
    lengths, segment = _worker_segments(case, pieces)
    remedy = english("Give workers less to do per item, start more of them, or let them prefetch more.")
    if not len(segment):
        where = _where(case, pieces)
        return (
            where,
            english("What they do was not recorded; the wait is at {place}.", place=place_known(where)),
            remedy,
        )
    causes = case.segments.cause[segment]
    ready = causes == Cause.RUNNABLE
    if ready.any() and not ready.all() and case.crowded_ns(case.cores) < NOTE * case.fair_ns:
        # Other programs have the cores: what the workers do when they run says more.
        lengths, segment, causes = lengths[~ready], segment[~ready], causes[~ready]
    most = int(np.argmax(np.bincount(causes, lengths)))
    own = segment[causes == most]
    group = case.group_of_segment[own]
    time = np.bincount(group, np.where(group > 0, lengths[causes == most], 0))
    best = int(own[group == int(np.argmax(time))][0]) if (group > 0).any() else int(own[0])
    where = case.where(best)
    fields = {"place": place_known(where)}
    runs = causes == Cause.RUNNING
    work = dominant_work(case, case.segments.place[segment[runs]], lengths[runs])
    if most in (Cause.RUNNING, Cause.IMPORTING):
        doing = english("The workers compute in {place}.", **fields)
        if work is not None and work.kind is not None:
            return _where_of_work(where, work), _with_work(doing, work), work.kind.remedy
        return where, doing, _for_busy_workers(case, where)
    if most == Cause.RUNNABLE:
        remedy = english("Run fewer workers, and fewer threads in each, than there are cores.")
        doing = english("The workers are ready to run in {place} but have no core.", **fields)
        if work is not None and work.kind is not None:
            doing, remedy = _with_work(doing, work), joined(" ", [work.kind.remedy, remedy])
            where = _where_of_work(where, work)
        return where, doing, remedy
    remedy = english("The workers wait rather than compute: use more of them, or let them prefetch more.")
    if most in CONTENTION:
        remedy = english(
            "The workers wait for each other: split what the lock guards, or give each its own part."
        )
    doing = action_text(most, where, case.device)
    return where, english("A worker {doing}.", doing=doing), remedy


def _idle_ratio(case: Case) -> float:
    """The share of the range that workers wait for something to do, 0–1; 0 where their states were not recorded."""
    workers = sorted(_fetching_threads(case) - case.loaders)
    segments = case.segments
    if not workers or not case.threads.has_states:
        return 0.0
    waits = one_of(segments.actor, np.array(workers)) & one_of(segments.cause, SIGNALS)
    return float(segments.length[waits].sum()) / (len(workers) * case.whole_ns)


def _decodes(where: Where) -> bool:
    """Whether a place decodes images, audio or video."""
    return bool(_DECODING.search(f"{where.file} {where.function} {where.operator}"))


def _for_busy_workers(case: Case, where: Where) -> str:
    """The remedy for workers that compute: GPU decoding, more workers while cores are free, or less to do."""
    if _decodes(where):
        return english("Decode on the GPU (DALI, nvImageCodec), or start more workers.")
    workers = len(_fetching_threads(case) - case.loaders)
    if workers and case.cores > workers + 1:
        return english(
            "Start more workers (num_workers): there are {workers}, and {cores} cores.",
            workers=workers,
            cores=case.cores,
        )
    return english("Give workers less to do per item, or prepare the data beforehand.")


def _restarts(case: Case, pieces: Int64Array) -> tuple[int, int] | None:
    """How many workers started after others had ended, and the time until they loaded batches at their usual pace, ns;
    None when that is less than half of the wait.
    """
    ready_ns: dict[int, int] = {}
    capture = case.view.capture
    for thread, start, done in _fetches(case):
        process = capture.threads[thread].process
        # What a worker builds before its first item, such as a vocabulary, is part of its first batch.
        usual = int(np.median((done - start)[1:])) if len(start) > 1 else int(done[0] - start[0])
        ready_ns[process] = min(ready_ns.get(process, int(done[0])), max(int(done[0]) - usual, int(start[0])))
    ends = [stop for worker in ready_ns if (stop := capture.processes[worker].stop_ns) is not None]
    late = [worker for worker in ready_ns if ends and (capture.processes[worker].start_ns or 0) >= min(ends)]
    begin = np.array([capture.processes[worker].start_ns or 0 for worker in late], np.int64)
    ready = np.array([ready_ns[worker] for worker in late], np.int64)
    covered = merge_intervals(begin, ready)
    waited = merge_intervals(case.pieces.start[pieces], case.pieces.stop[pieces])
    begun, over = intersect_intervals(*waited, *covered)
    time = int((over - begun).sum())
    return (len(late), time) if late and 2 * time > int(case.pieces.length[pieces].sum()) else None


def _worker_segments(case: Case, pieces: Int64Array) -> tuple[Int64Array, IntArray]:
    """(length, segment) of what workers did during some pieces: by the chains, else by threads that make batches."""
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
    """Which segments lie in ranges of data loading; segments are cut at the ends of those ranges."""
    start, stop = loading_intervals(case.view, case.target)
    segments = case.segments
    at = np.searchsorted(start, segments.start, "right") - 1
    inside = (at >= 0) & (segments.stop <= stop[np.maximum(at, 0)])
    return inside & np.isin(segments.actor, sorted(case.loaders))


def _is_in_main(case: Case, pieces: Int64Array) -> bool:
    length = case.pieces.length[pieces]
    fetching = _fetching_threads(case)
    if fetching - case.loaders:
        # A program may do both, for training and for validation: what counts is who made batches meanwhile.
        waited = merge_intervals(case.pieces.start[pieces], case.pieces.stop[pieces])
        begun, done = intersect_intervals(*waited, *_fetched_in_main(case))
        return 2 * int((done - begun).sum()) > int(length.sum())
    if fetching:
        return True
    answers = [matching_names(case.view.capture, pattern).any() for pattern in (_IN_MAIN, _IN_WORKERS)]
    if any(answers) and not all(answers):
        return bool(answers[0])
    own = np.isin(case.segments.actor[case.pieces.leaf[pieces]], sorted(case.loaders))
    works = own & np.isin(case.segments.cause[case.pieces.leaf[pieces]], _AT_WORK)
    return bool(length[works].sum() * 2 > length.sum())


def _fetching_threads(case: Case) -> set[int]:
    """Threads recorded while making batches."""
    return {thread for thread, *_times in _fetches(case)}


def _fetched_in_main(case: Case) -> tuple[Int64Array, Int64Array]:
    """When the threads that wait for data made batches themselves, in the range."""
    tracks = frozenset(track.index for thread in case.loaders for track in case.view.tracks_of_thread(thread))
    made = case.view.events("phase", tracks, matching_names(case.view.capture, _FETCH))
    return merge_intervals(made.start, made.stop)


def _fetches(case: Case) -> list[tuple[int, Int64Array, Int64Array]]:
    """(thread, start and stop of its batches, in order) in the whole capture."""
    capture = case.view.capture
    wanted = matching_names(capture, _FETCH)
    found: dict[int, list[tuple[int, int]]] = {}
    for own in case.view.other(Selection()).batches("phase", named=wanted) if wanted.any() else ():
        tracks = case.view.track_of(own.row)
        for track in np.unique(tracks).tolist():
            thread, here = capture.tracks[track].thread, tracks == track
            if thread is not None:
                times = zip(own.start[here].tolist(), own.stop[here].tolist(), strict=True)
                found.setdefault(thread, []).extend(times)
    return [(thread, *np.array(sorted(times), np.int64).T) for thread, times in sorted(found.items())]


def _where(case: Case, pieces: Int64Array) -> Where:
    where = where_of(case, pieces)
    if where.file or not case.loaders:
        return where
    thread = min(case.loaders)
    times = moments_in(case.pieces.start[pieces], case.pieces.stop[pieces])
    usual = usual_place(case.view, thread, times).where
    return replace(usual, thread=case.threads.name(thread)) if usual != Where() else where


rules = (Rule("loading", "input", find_loading),)
