"""Idle time of a GPU until what it does next was launched, and until that begins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import (
    at_most,
    cost,
    line_needed,
    make_finding,
    pieces_of,
    place_known,
    shortened,
)
from warpline.analysis.findings.finding import Finding, Where
from warpline.analysis.findings.host_places import moments_in, usual_place
from warpline.analysis.findings.rule import Rule
from warpline.analysis.framework.name_matches import matching_names
from warpline.i18n import english, english_n
from warpline.model.intervals import merge_intervals
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
_TINY_NS = 10_000
"""A launch takes about this long: shorter kernels end before the next one can be launched."""
_LATE_NS = 200_000
"""So long before a kernel, and the host does something else than launch."""
_MOST = 0.5
_ALL = 0.9
_GRAPHS, _LAUNCHES = re.compile(r"^(cu|cuda|hip)GraphLaunch"), re.compile(r"^(cu|cuda|hip)\w*LaunchKernel")


def launching_thread(case: Case, pieces: Int64Array) -> tuple[int, Int64Array]:
    """The thread that a GPU waited for in most of some pieces, and those of them; −1 and none where nobody is known."""
    by = case.segments.by[case.pieces.root[pieces]]
    threads = by[(by >= 0) & (by < len(case.view.capture.threads))]
    if not len(threads):
        return -1, pieces[:0]
    thread = int(np.argmax(np.bincount(threads)))
    return thread, pieces[by == thread]


def host_place(case: Case, pieces: Int64Array) -> Where:
    """What the launching threads did in some idle time."""
    return _host_place(case, pieces)[0]


def _host_place(case: Case, pieces: Int64Array) -> tuple[Where, float]:
    """`host_place`, and in what part of the time they were there."""
    kept = case.pieces
    leaf = kept.leaf[pieces]
    place = case.group_of_segment[leaf]
    if (place > 0).any():
        length = kept.length[pieces]
        total = np.bincount(place, np.where(place > 0, length, 0))
        best = int(np.argmax(total))
        return case.where(int(leaf[place == best][0])), float(total[best] / max(length.sum(), 1))
    del leaf, place
    thread, own = launching_thread(case, pieces)
    if thread < 0:
        return Where(), 0.0
    found = usual_place(case.view, thread, moments_in(kept.start[own], kept.stop[own]))
    return replace(found.where, thread=case.threads.name(thread)), found.there


def of_host(case: Case) -> Iterator[Finding]:
    """Work that was launched later than the GPU could have taken it."""
    pieces = pieces_of(case, "host", "launch_latency")
    if case.gpu is None or not len(pieces):
        return
    where = host_place(case, pieces)
    time = int(case.pieces.length[pieces].sum())
    gain = case.gain_of_pieces(pieces)
    durations = [part.duration for part in case.view.batches("kernel", case.gpu.gpu.tracks)]
    count = sum(map(len, durations))
    median = int(np.median(np.concatenate(durations))) if count else 0
    start, stop = merge_intervals(case.pieces.start[pieces], case.pieces.stop[pieces])
    short_ns = int((stop - start)[stop - start < _LATE_NS].sum())
    if count and median < _TINY_NS and short_ns >= _MOST * time:
        found = make_finding(
            case, "gpu_launch_bound", english("Kernels shorter than their launch"),
            english_n(
                "The {device} waits for launches for {time} of {whole} ({percent:.0f} %): {count:,} kernel of "
                "{median}, most often launched in {place}. It could be at most {factor} × as fast.",
                "The {device} waits for launches for {time} of {whole} ({percent:.0f} %): {count:,} kernels of "
                "{median} in the median, most often launched in {place}. It could be at most {factor} × as fast.",
                count, median=format_duration(median), place=place_known(where), factor=at_most(case, gain),
                **cost(case, time),
            ),
            pieces, gain, where, _for_small_kernels(case, count),
            needs=line_needed(case, where),
        )  # fmt: skip
        if found is not None:
            yield found
        return
    yield from _late(case, pieces_of(case, "host"))
    yield from _slow_to_begin(case, pieces_of(case, "launch_latency"))


def _late(case: Case, pieces: Int64Array) -> Iterator[Finding]:
    """The host did something else, or the launching call itself took long."""
    if not len(pieces):
        return
    where, there = _host_place(case, pieces)
    time = int(case.pieces.length[pieces].sum())
    gain = case.gain_of_pieces(pieces)
    fields = {**cost(case, time), "place": place_known(where), "factor": at_most(case, gain)}
    remedy = english(
        "Do this while the {device} works: launch first, or in another thread or process.", device=case.device
    )
    call, inside = _inside_launches(case, pieces)
    if inside >= _MOST * time:
        text = english(
            "The {device} waits for the host for {time} of {whole} ({percent:.0f} %): {inside} of it passes inside of "
            "{call} itself. It could be at most {factor} × as fast.",
            inside=format_duration(inside), call=call, **fields,
        )  # fmt: skip
        remedy = english(
            "What is launched first loads its code: warm up before the loop, with the shapes that come."
        )
    elif where == Where(thread=where.thread) or there >= _ALL:
        text = english(
            "The {device} waits for the host for {time} of {whole} ({percent:.0f} %): it is in {place} and "
            "launches nothing. It could be at most {factor} × as fast.",
            **fields,
        )
    else:
        text = english(
            "The {device} waits for the host for {time} of {whole} ({percent:.0f} %), which is here and there, longest "
            "in {place}: {there}. It could be at most {factor} × as fast.",
            there=format_duration(round(there * time)), **fields,
        )  # fmt: skip
    found = make_finding(
        case, "gpu_host", english("The host is late"), text, pieces, gain, where, remedy,
        needs=line_needed(case, where),
    )  # fmt: skip
    if found is not None:
        yield found


def _inside_launches(case: Case, pieces: Int64Array) -> tuple[str, int]:
    """The call that launched after most of some idle time, and how much of that passed while calls of it ran, ns."""
    root = case.pieces.root[pieces]
    row = case.segments.row[root].astype(np.int64)
    own = np.flatnonzero((row >= 0) & (case.segments.cause[root] == Cause.LAUNCH))
    if not len(own):
        return "", 0
    start, stop = case.view.times_of(row[own])
    kept = pieces[own]
    inside = np.minimum(case.pieces.stop[kept], stop) - np.maximum(case.pieces.start[kept], start)
    names, number = np.unique(case.view.names(row[own]), return_inverse=True)
    total = np.bincount(number.reshape(-1), np.maximum(inside, 0))
    best = int(np.argmax(total))
    return case.view.capture.strings[int(names[best])], int(total[best])


def _slow_to_begin(case: Case, pieces: Int64Array) -> Iterator[Finding]:
    """The GPU was free, the launch was over, and what it launched did not begin at once."""
    if not len(pieces):
        return
    length = case.pieces.length[pieces]
    longest = pieces[int(np.argmax(length))]
    row = int(case.segments.row[case.pieces.root[longest]])
    work = case.view.capture.strings[int(case.view.names(np.array([row]))[0])] if row >= 0 else ""
    gain = case.gain_of_pieces(pieces)
    found = make_finding(
        case, "gpu_launch_latency", english("Slow to begin"),
        english(
            "The {device} takes {time} of {whole} ({percent:.0f} %) to begin what was launched, {longest} of it before "
            "{work}. It could be at most {factor} × as fast.",
            longest=format_duration(int(length.max())), work=shortened(work), factor=at_most(case, gain),
            **cost(case, int(length.sum())),
        ),
        pieces, gain, Where(kernel=work),
        english(
            "What is launched first loads its code, or takes its graph to the {device}: launch each once before the "
            "loop.",
            device=case.device,
        ),
    )  # fmt: skip
    if found is not None:
        yield found


def _for_small_kernels(case: Case, kernels: int) -> str:
    """What helps against many short kernels: whoever launches most of them as graphs is not told to do so."""
    if case.view.has("cuda_api"):
        names = case.view.capture
        of_graphs, of_kernels = matching_names(names, _GRAPHS), matching_names(names, _LAUNCHES)
        calls = [part.name for part in case.view.batches("cuda_api")]
        graphs, launches = (
            sum(int(wanted[name].sum()) for name in calls) for wanted in (of_graphs, of_kernels)
        )
        if graphs and 2 * launches < kernels:
            return english(
                "They are launched as graphs already: fuse them, or give each more to do (larger batches)."
            )
    return english(
        "Launch less and larger work: larger batches, fused operators, compilation, or CUDA graphs."
    )


rules = (Rule("gpu_host", "host", of_host),)
