"""Idle time of a GPU by what the host did, copies and communication that nothing hides, and work of the GPU itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.catalogue.launching import host_place
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import (
    NOTE,
    at_most,
    cost,
    line_needed,
    make_finding,
    pieces_of,
    place_known,
    shortened,
)
from warpline.analysis.findings.finding import Finding, Severity, Where
from warpline.analysis.findings.gpu_segments import waiting_calls
from warpline.analysis.findings.host_places import usual_place
from warpline.analysis.findings.rule import Rule
from warpline.i18n import english, english_n
from warpline.model.intervals import merge_intervals
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
_ROWS = 20


def of_synchronization(case: Case) -> Iterator[Finding]:
    """Idle time after calls that wait for the GPU: the host could not run ahead."""
    pieces = pieces_of(case, "synchronization")
    if not len(pieces):
        return
    segments = case.segments
    calls = waiting_calls(segments)
    waits = np.flatnonzero(segments.cause == Cause.GPU)
    called, thread = _usual_call(case, waits)
    where = _where_waited(case, waits[segments.actor[waits] == thread], thread)
    gain = case.gain_ns(segments.cause == Cause.GPU)
    if gain < NOTE * case.whole_ns:
        return
    time = int(case.pieces.length[pieces].sum())
    start, stop = merge_intervals(segments.start[waits], segments.stop[waits])
    waited = int((stop - start).sum())
    gain = min(gain, max(time, waited))
    fields = {"call": called, "place": place_known(where), "factor": at_most(case, gain)}
    title = english("Calls that wait for the {device}", device=case.device)
    remedy = english(
        "Leave out calls that synchronise in the loop (.item(), .cpu(), nonzero, blocking copies)."
    )
    needs = line_needed(case, where)
    if time >= NOTE * case.whole_ns and gain <= time:
        text = english_n(
            "The host waits for the {device} once, for {waited}, in {call}, at {place}, and cannot work ahead: the "
            "{device} then idles for {time} of {whole} ({percent:.0f} %). It could be at most {factor} × as fast.",
            "The host waits for the {device} {count:,} times, for {waited}, mostly in {call}, at {place}, and cannot "
            "work ahead: the {device} then idles for {time} of {whole} ({percent:.0f} %). It could be at most "
            "{factor} × as fast.",
            len(calls), waited=format_duration(waited), **cost(case, time), **fields,
        )  # fmt: skip
        yield from _some(
            make_finding(case, "gpu_synchronization", title, text, pieces, gain, where, remedy, needs=needs)
        )
        return
    text = english_n(
        "The host waits for the {device} once, for {time} of {whole} ({percent:.0f} %), in {call}, at {place}: what "
        "it does after that it could do meanwhile. It could be at most {factor} × as fast.",
        "The host waits for the {device} {count:,} times, for {time} of {whole} ({percent:.0f} %), mostly in {call}, "
        "at {place}: what it does after that it could do meanwhile. It could be at most {factor} × as fast.",
        len(calls), **cost(case, waited), **fields,
    )  # fmt: skip
    for found in _some(
        make_finding(
            case, "gpu_synchronization", title, text, pieces, gain, where, remedy, needs=needs, time_ns=waited
        )
    ):
        longest = waits[np.argsort(-segments.length[waits], kind="stable")[:_ROWS]]
        rows = tuple(row for row in segments.row[longest].tolist() if row >= 0)
        yield replace(
            found, evidence=replace(found.evidence, ranges=np.column_stack((start, stop)), rows=rows)
        )


def _where_waited(case: Case, waits: Int64Array, thread: int) -> Where:
    """The line most of some waits of a thread lie on, by its samples and stacks; else by what a profiler recorded."""
    segments = case.segments
    group = case.group_of_segment[waits]
    if (group > 0).any():
        total = np.bincount(group, np.where(group > 0, segments.length[waits], 0))
        return case.where(int(waits[group == int(np.argmax(total))][0]))
    where = usual_place(case.view, thread, segments.start[waits][:1024] + 1).where
    if where.function or where.operator:
        return replace(where, thread=case.threads.name(thread))
    return case.where(int(waits[0]))


def _usual_call(case: Case, waits: Int64Array) -> tuple[str, int]:
    names = case.view.names(case.segments.row[waits])
    length = case.segments.length[waits]
    distinct, inverse = np.unique(names, return_inverse=True)
    best = int(np.argmax(np.bincount(inverse.reshape(-1), length + 1)))
    own = waits[inverse.reshape(-1) == best]
    return case.view.capture.strings[int(distinct[best])], int(
        np.argmax(np.bincount(case.segments.actor[own]))
    )


def of_allocation(case: Case) -> Iterator[Finding]:
    """Memory of the GPU asked for and given back, and code loaded, while it idles."""
    for key, name, title, remedy in (
        (
            "allocation", "gpu_allocation", english("Allocating memory of the {device}", device=case.device),
            english("Allocate once and keep it; let a caching allocator grow before the loop."),
        ),
        (
            "compilation", "gpu_compilation", english("Loading or compiling code of the {device}", device=case.device),
            english("Compile and load before the loop: warm up with the shapes that come."),
        ),
    ):  # fmt: skip
        pieces = pieces_of(case, key)
        if not len(pieces):
            continue
        cause = Cause.ALLOCATING if key == "allocation" else Cause.COMPILING
        where = host_place(case, pieces)
        call, longest = _longest_call(case, pieces)
        gain = case.gain_ns(case.segments.cause == cause)
        yield from _some(
            make_finding(
                case, name, title,
                english(
                    "{title} takes {time} of {whole} ({percent:.0f} %) in which the {device} idles, {longest} of it in "
                    "{call}, at {place}.",
                    title=title, place=place_known(where), call=call, longest=format_duration(longest),
                    **cost(case, int(case.pieces.length[pieces].sum())),
                ),
                pieces, gain, where, remedy,
            )
        )  # fmt: skip


def _longest_call(case: Case, pieces: Int64Array) -> tuple[str, int]:
    """Which call some pieces were in for most of their time, and for how long, ns."""
    rows = case.segments.row[case.pieces.leaf[pieces]].astype(np.int64)
    names, number = np.unique(case.view.names(rows), return_inverse=True)
    total = np.bincount(number.reshape(-1), case.pieces.length[pieces])
    best = int(np.argmax(total))
    return case.view.capture.strings[int(names[best])], int(total[best])


def of_copies(case: Case) -> Iterator[Finding]:
    """Copies that no computation hides."""
    pieces = pieces_of(case, "copies")
    if case.gpu is None or not len(pieces):
        return
    rows = case.segments.row[case.pieces.leaf[pieces]]
    pageable = _pageable(case, rows)
    length = case.pieces.length[pieces]
    is_pageable = bool(length[pageable].sum() * 2 > length.sum())
    names = case.view.names(rows)
    kernel = case.view.capture.strings[int(names[int(np.argmax(length))])]
    gain = case.gain_of_pieces(pieces)
    fields = {**cost(case, int(length.sum())), "copy": shortened(kernel)}
    if is_pageable:
        name, title = "gpu_copies_pageable", english("Copies from pageable memory")
        text = english(
            "Copies from pageable memory take {time} of {whole} ({percent:.0f} %) in which nothing else runs: {copy}.",
            **fields,
        )
        remedy = english(
            "Pin the memory (pin_memory) and copy with non_blocking=True, beside the computation."
        )
    else:
        name, title = "gpu_copies", english("Copies that nothing hides")
        text = english(
            "Copies take {time} of {whole} ({percent:.0f} %) in which nothing else runs: {copy}.", **fields
        )
        remedy = english("Copy ahead, on a stream of its own, beside the computation.")
    yield from _some(make_finding(case, name, title, text, pieces, gain, Where(kernel=kernel), remedy))


def _pageable(case: Case, rows: Int64Array) -> npt.NDArray[np.bool_]:
    """Which copies come from, or go to, memory that is not pinned: as recorded, else as the name tells."""
    table = case.view.capture.kinds.get("memcpy")
    found = np.zeros(len(rows), bool)
    texts = case.view.capture.strings.get(case.view.names(rows).tolist())
    named = np.array(["pageable" in text.lower() for text in texts], bool)
    if table is None:
        return named
    index = table.indices_of(rows)
    for name in ("src_kind", "dst_kind"):
        if name in table.attributes:
            values = case.view.column("memcpy", name, np.maximum(index, 0))
            found |= (np.ma.filled(values.astype(np.int64), -1) == 0) & (index >= 0)
    either: npt.NDArray[np.bool_] = found | named
    return either


def of_streams(case: Case) -> Iterator[Finding]:
    """Work that was launched, and for which the GPU was free, and that did not start."""
    pieces = pieces_of(case, "stream")
    if not len(pieces):
        return
    text = english(
        "Work was launched and did not start for {time} of {whole} ({percent:.0f} %), though nothing ran.",
        **cost(case, int(case.pieces.length[pieces].sum())),
    )
    yield from _some(
        make_finding(
            case, "gpu_stream", english("Launched, not started"), text, pieces,
            case.gain_of_pieces(pieces), Where(),
            english("See what the streams wait for on the timeline: events, other streams, graphs."),
            Severity.WARNING,
        )
    )  # fmt: skip


def of_unknown_launches(case: Case) -> Iterator[Finding]:
    """Idle time before work of which nothing says who launched it, and when."""
    pieces = pieces_of(case, "no_launch")
    if not len(pieces):
        return
    text = english(
        "The {device} idles for {time} of {whole} ({percent:.0f} %) before operations whose launch was not recorded: "
        "whether the host was late, or the work waited, is not known.",
        **cost(case, int(case.pieces.length[pieces].sum())),
    )
    yield from _some(
        make_finding(
            case, "gpu_no_launch", english("Launches that were not recorded"), text, pieces, 0, Where(),
            english("Record the calls of the host as well as the work of the {device}.", device=case.device),
            Severity.NOTE, english("warpline record --trace cpu,cuda tells who launched what"),
        )
    )  # fmt: skip


def _some(found: Finding | None) -> Iterator[Finding]:
    if found is not None:
        yield found


rules = (
    Rule("gpu_synchronization", "host", of_synchronization),
    Rule("gpu_allocation", "host", of_allocation),
    Rule("gpu_copies", "input", of_copies),
    Rule("gpu_streams", "gpu", of_streams),
    Rule("gpu_no_launch", "gpu", of_unknown_launches),
)
