"""Rules: a GPU that idles until its next work is launched, or until launched work starts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import (
    cost,
    line_needed,
    make_finding,
    pieces_of,
    place_known,
    shortened,
)
from warpline.analysis.findings.finding import Finding, Where
from warpline.analysis.findings.host_places import moments_in, usual_place
from warpline.analysis.findings.kernels.elementwise import optimizer_share
from warpline.analysis.findings.kernels.memory_room import with_room
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import distinct
from warpline.analysis.framework.name_matches import matching_names
from warpline.i18n import english, english_n
from warpline.model.intervals import merge_intervals
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
_TINY_NS = 10_000
"""Roughly the length of a launch: shorter kernels end before the next one can be launched."""
_LATE_NS = 200_000
"""In longer gaps the CPU does something other than launching."""
_AT_ONCE = 1 << 20
"""How many pieces are looked at together."""
_MOST = 0.5
_ALL = 0.9
_SET_DEVICE = re.compile(r"^(cuda|hip)SetDevice$|^cuCtxSetCurrent$")
_COMPILED = re.compile(r"^triton_|^CompiledFunction|^Torch-Compiled Region")
_GRAPHS, _LAUNCHES = re.compile(r"^(cu|cuda|hip)GraphLaunch"), re.compile(r"^(cu|cuda|hip)\w*LaunchKernel")


def launching_thread(case: Case, pieces: Int64Array) -> tuple[int, Int64Array]:
    """The thread that the GPU waited for in most of some pieces, and those pieces; (−1, none) when unknown."""
    by = case.segments.by[case.pieces.root[pieces]]
    threads = by[(by >= 0) & (by < len(case.view.capture.threads))]
    if not len(threads):
        return -1, pieces[:0]
    thread = int(np.argmax(np.bincount(threads)))
    return thread, pieces[by == thread]


def host_place(case: Case, pieces: Int64Array) -> Where:
    """Where the launching thread was during some idle time."""
    return _host_place(case, pieces)[0]


def _host_place(case: Case, pieces: Int64Array) -> tuple[Where, float]:
    """`host_place`, and the share of the idle time spent there."""
    leaf = case.pieces.leaf[pieces]
    place = case.group_of_segment[leaf]
    if (place > 0).any():
        length = case.pieces.length[pieces]
        total = np.bincount(place, np.where(place > 0, length, 0))
        best = int(np.argmax(total))
        return case.where(int(leaf[place == best][0])), float(total[best] / max(length.sum(), 1))
    del leaf, place
    thread, own = launching_thread(case, pieces)
    if thread < 0:
        return Where(), 0.0
    times = moments_in(case.pieces.start[own], case.pieces.stop[own])
    usual = usual_place(case.view, thread, times)
    return replace(usual.where, thread=case.threads.name(thread)), usual.share


def find_host(case: Case) -> Iterator[Finding]:
    """Find idle time of the GPU due to late, too many or slow launches."""
    pieces = pieces_of(case, "host", "launch_latency")
    if case.gpu is None or not len(pieces):
        return
    where = host_place(case, pieces)
    time = int(case.pieces.length[pieces].sum())
    gain = case.gain_of_pieces(pieces)
    count, median = _kernel_durations(case, case.gpu.gpu.tracks)
    if count and median < _TINY_NS and _short_ns(case, pieces) >= _MOST * time:
        yield from make_finding(
            case, name="gpu_launch_bound", title=english("Kernels shorter than their launch"),
            text=english_n(
                "The {device} waits {time} of {whole} ({percent:.0f} %) for the launch of {count:,} kernel that runs "
                "{median}, launched in {place}.",
                "The {device} waits {time} of {whole} ({percent:.0f} %) for the launches of {count:,} kernels that run "
                "{median} each (median), mostly launched in {place}.",
                count, median=format_duration(median), place=place_known(where),
                **cost(case, time),
            ),
            pieces=pieces, gain_ns=gain, with_factor=True, where=where, remedy=_for_small_kernels(case, count),
            needs=line_needed(case, where),
        )  # fmt: skip
        return
    del pieces
    yield from _late_launches(case, pieces_of(case, "host"))
    yield from _slow_starts(case, pieces_of(case, "launch_latency"))


def _kernel_durations(case: Case, tracks: frozenset[int]) -> tuple[int, int]:
    """How many kernels ran, and the median of their durations, ns."""
    durations = [part.duration for part in case.view.batches("kernel", tracks)]
    count = sum(map(len, durations))
    return count, int(np.median(np.concatenate(durations))) if count else 0


def _short_ns(case: Case, pieces: Int64Array) -> int:
    """The total length of short gaps, ns."""
    start, stop = merge_intervals(case.pieces.start[pieces], case.pieces.stop[pieces])
    length = stop - start
    return int(length[length < _LATE_NS].sum())


def _late_launches(case: Case, pieces: Int64Array) -> Iterator[Finding]:
    """Findings for gaps in which the CPU did something else, or the launching call itself took long."""
    if not len(pieces):
        return
    where, share = _host_place(case, pieces)
    time = int(case.pieces.length[pieces].sum())
    gain = case.gain_of_pieces(pieces)
    fields = {**cost(case, time), "place": place_known(where)}
    remedy = english(
        "Do this while the {device} works: launch first, or move it to another thread or process.",
        device=case.device,
    )
    call, inside = _inside_launches(case, pieces)
    if inside >= _MOST * time:
        text = english(
            "The {device} waits {time} of {whole} ({percent:.0f} %) for the CPU, {inside} of it inside {call} itself.",
            inside=format_duration(inside), call=call, **fields,
        )  # fmt: skip
        remedy = english(
            "The first launch of a kernel loads its code: warm up before the loop with every shape it will use."
        )
    elif where == Where(thread=where.thread) or share >= _ALL:
        text = english(
            "The {device} waits {time} of {whole} ({percent:.0f} %) for the CPU, which is in {place} and launches "
            "nothing.",
            **fields,
        )
    else:
        text = english(
            "The {device} waits {time} of {whole} ({percent:.0f} %) for the CPU in many places, longest in {place}: "
            "{longest}.",
            longest=format_duration(round(share * time)), **fields,
        )  # fmt: skip
    yield from make_finding(
        case, name="gpu_host", title=english("The CPU launches too late"), text=text, pieces=pieces, gain_ns=gain,
        where=where, remedy=remedy, needs=line_needed(case, where), with_factor=True,
    )  # fmt: skip


def _inside_launches(case: Case, pieces: Int64Array) -> tuple[str, int]:
    """The launching call with the most idle time inside its own calls, and that time, ns."""
    total: Counter[int] = Counter()
    for first in range(0, len(pieces), _AT_ONCE):
        part = pieces[first : first + _AT_ONCE]
        root = case.pieces.root[part]
        row = case.segments.row[root].astype(np.int64)
        own = np.flatnonzero((row >= 0) & (case.segments.cause[root] == Cause.LAUNCH))
        if not len(own):
            continue
        start, stop = case.view.times_of(row[own])
        begin, end = case.pieces.start[part[own]], case.pieces.stop[part[own]]
        inside = np.maximum(np.minimum(end, stop) - np.maximum(begin, start), 0)
        names, number = distinct(case.view.names(row[own]))
        for name, time in zip(names.tolist(), np.bincount(number, inside).tolist(), strict=True):
            total[name] += int(time)
    if not total:
        return "", 0
    name, time = total.most_common(1)[0]
    return case.view.capture.strings[name], time


def _slow_starts(case: Case, pieces: Int64Array) -> Iterator[Finding]:
    """Findings for work that started late although the GPU was free and the launch was done."""
    if not len(pieces):
        return
    length = case.pieces.length[pieces]
    longest, time = pieces[int(np.argmax(length))], int(length.sum())
    del length
    row = int(case.segments.row[case.pieces.root[longest]])
    work = case.view.capture.strings[int(case.view.names(np.array([row]))[0])] if row >= 0 else ""
    gain = case.gain_of_pieces(pieces)
    yield from make_finding(
        case, name="gpu_launch_latency", title=english("Launched work starts slowly"),
        text=english(
            "The {device} takes {time} of {whole} ({percent:.0f} %) to start launched work, {longest} of it before "
            "{work}.",
            longest=format_duration(int(case.pieces.length[longest])), work=shortened(work),
            **cost(case, time),
        ),
        pieces=pieces, gain_ns=gain, with_factor=True, where=Where(kernel=work),
        remedy=english(
            "The first launch loads code, or uploads the graph to the {device}: launch each once before the loop.",
            device=case.device,
        ),
    )  # fmt: skip


def _for_small_kernels(case: Case, kernels: int) -> str:
    """The remedy for many short kernels, by what was recorded: graphs, compiled code, an optimizer, set devices."""
    capture = case.view.capture
    calls = _calls_like(case, (_GRAPHS, _LAUNCHES, _SET_DEVICE))
    is_graph = bool(calls[0] and 2 * calls[1] < kernels)
    if not is_graph and calls[2] > calls[1] > 0:
        return english(
            "Set the device once, outside the loop (torch.cuda.device): it is set more often than kernels are launched."
        )
    if not is_graph and optimizer_share(case) > _MOST:
        return english(
            "Most of them run in the optimizer's step: use a fused optimizer (fused=True in torch.optim)."
        )
    if is_graph:
        remedy = english("They already run as graphs: fuse them, or give each more work (larger batches).")
    elif matching_names(capture, _COMPILED).any():
        remedy = english(
            'They are compiled already: use CUDA graphs (mode="reduce-overhead"), or larger batches.'
        )
    elif case.view.were_recorded("operator"):
        remedy = english("Launch fewer, larger kernels: larger batches, torch.compile, or CUDA graphs.")
    else:
        remedy = english(
            "Launch fewer, larger kernels: larger batches, fused operators, compilation, or CUDA graphs."
        )
    return with_room(case, remedy)


def _calls_like(case: Case, patterns: tuple[re.Pattern[str], ...]) -> list[int]:
    """How many API calls match each pattern."""
    if not case.view.has("cuda_api"):
        return [0] * len(patterns)
    names = [part.name for part in case.view.batches("cuda_api")]
    matches = [matching_names(case.view.capture, pattern) for pattern in patterns]
    return [sum(int(match[name].sum()) for name in names) for match in matches]


rules = (Rule("gpu_host", "host", find_host),)
