"""Rules: a GPU that idles after synchronizing calls, allocations or compilation; exposed copies; stalled streams."""

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
from warpline.i18n import english, english_n, joined
from warpline.model.intervals import merge_intervals
from warpline.model.launch_calls import is_of_amd
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
_ROWS = 20


def find_synchronization(case: Case) -> Iterator[Finding]:
    """Find calls in which the CPU waits for the GPU and so cannot work ahead."""
    pieces = pieces_of(case, "synchronization")
    if not len(pieces):
        return
    segments = case.segments
    calls = waiting_calls(segments)
    waits = np.flatnonzero(segments.cause == Cause.GPU)
    called, thread = _usual_call(case, waits)
    where = _where_waited(case, waits[segments.actor[waits] == thread], thread)
    gain = case.gain_ns(segments.cause == Cause.GPU)
    if gain < NOTE * case.fair_ns:
        return
    time = int(case.pieces.length[pieces].sum())
    start, stop = merge_intervals(segments.start[waits], segments.stop[waits])
    waited = int((stop - start).sum())
    gain = min(gain, max(time, waited))
    fields = {"call": called, "place": place_known(where)}
    title = english("Calls that wait for the {device}", device=case.device)
    remedy = english("Avoid synchronizing calls in the loop (.item(), .cpu(), nonzero, blocking copies).")
    needs = line_needed(case, where)
    if time >= NOTE * case.fair_ns and gain <= time:
        text = english_n(
            "The {device} idles for {time} of {whole} ({percent:.0f} %) after the CPU waits for it once, for {waited}, "
            "in {call}, at {place}. During the wait the CPU cannot work ahead.",
            "The {device} idles for {time} of {whole} ({percent:.0f} %) after the CPU waits for it {count:,} times, "
            "{waited} in total, mostly in {call}, at {place}. During a wait the CPU cannot work ahead.",
            len(calls), waited=format_duration(waited), **cost(case, time), **fields,
        )  # fmt: skip
        yield from make_finding(
            case, name="gpu_synchronization", title=title, text=text, pieces=pieces, gain_ns=gain, where=where,
            remedy=remedy, needs=needs, with_factor=True,
        )  # fmt: skip
        return
    text = english_n(
        "The CPU waits once for the {device}, for {time} of {whole} ({percent:.0f} %), in {call}, at {place}. It could "
        "do its later work during that time.",
        "The CPU waits {count:,} times for the {device}, for {time} of {whole} ({percent:.0f} %), mostly in {call}, at "
        "{place}. It could do its later work during that time.",
        len(calls), **cost(case, waited), **fields,
    )  # fmt: skip
    for finding in make_finding(
        case,
        name="gpu_synchronization",
        title=title,
        text=text,
        pieces=pieces,
        gain_ns=gain,
        with_factor=True,
        where=where,
        remedy=remedy,
        needs=needs,
        time_ns=waited,
    ):
        longest = waits[np.argsort(-segments.length[waits], kind="stable")[:_ROWS]]
        rows = tuple(row for row in segments.row[longest].tolist() if row >= 0)
        evidence = replace(finding.evidence, ranges=np.column_stack((start, stop)), rows=rows)
        yield replace(finding, evidence=evidence)


def _where_waited(case: Case, waits: Int64Array, thread: int) -> Where:
    """The most frequent place of some waits of a thread, from stacks, else from the profiler's events."""
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


def find_allocation(case: Case) -> Iterator[Finding]:
    """Find GPU memory allocation and code loading while the GPU idles."""
    for key, name, title, remedy in (
        (
            "allocation", "gpu_allocation", english("{device} memory allocation", device=case.device),
            english("Allocate once and reuse the memory; let a caching allocator grow before the loop."),
        ),
        (
            "compilation", "gpu_compilation", english("{device} code loading or compilation", device=case.device),
            english("Compile and load before the loop: warm up with every shape it will use."),
        ),
    ):  # fmt: skip
        pieces = pieces_of(case, key)
        if not len(pieces):
            continue
        cause = Cause.ALLOCATING if key == "allocation" else Cause.COMPILING
        where = host_place(case, pieces)
        call, longest = _longest_call(case, pieces)
        gain = case.gain_ns(case.segments.cause == cause)
        yield from make_finding(
            case, name=name, title=title,
            text=english(
                "{title} takes {time} of {whole} ({percent:.0f} %) while the {device} is idle, {longest} of it in "
                "{call}, at {place}.",
                title=title, place=place_known(where), call=call, longest=format_duration(longest),
                **cost(case, int(case.pieces.length[pieces].sum())),
            ),
            pieces=pieces, gain_ns=gain, where=where, remedy=remedy,
        )  # fmt: skip


def _longest_call(case: Case, pieces: Int64Array) -> tuple[str, int]:
    """The call that covers the most time of some pieces, and for how long, ns."""
    rows = case.segments.row[case.pieces.leaf[pieces]].astype(np.int64)
    names, number = np.unique(case.view.names(rows), return_inverse=True)
    total = np.bincount(number.reshape(-1), case.pieces.length[pieces])
    best = int(np.argmax(total))
    return case.view.capture.strings[int(names[best])], int(total[best])


def find_copies(case: Case) -> Iterator[Finding]:
    """Find copies that no computation overlaps."""
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
            "Copies from pageable memory take {time} of {whole} ({percent:.0f} %) while nothing computes: {copy}.",
            **fields,
        )
        remedy = english(
            "Pin the memory (pin_memory=True) and copy with non_blocking=True, overlapping computation."
        )
    else:
        name, title = "gpu_copies", english("Exposed copies")
        text = english(
            "Copies take {time} of {whole} ({percent:.0f} %) while nothing computes: {copy}.", **fields
        )
        remedy = english("Copy ahead of time on a separate stream, overlapping computation.")
    rest = case.whole_ns - int(length.sum())
    if rest < int(length.sum()):
        less = english(
            "Copy less: keep on the {device} what is used again, and send smaller types. Overlapping the copies with "
            "everything else hides at most {rest}.",
            device=case.device, rest=format_duration(rest),
        )  # fmt: skip
        remedy = joined(" ", [english("Pin the memory (pin_memory=True)."), less]) if is_pageable else less
    yield from make_finding(
        case, name=name, title=title, text=text, pieces=pieces, gain_ns=gain, where=Where(kernel=kernel),
        remedy=remedy,
    )  # fmt: skip


def _pageable(case: Case, rows: Int64Array) -> npt.NDArray[np.bool_]:
    """Which copies use memory that is not pinned, by their attributes or else by name."""
    table = case.view.capture.kinds.get("memcpy")
    recorded = np.zeros(len(rows), bool)
    texts = case.view.capture.strings.get(case.view.names(rows).tolist())
    named = np.array(["pageable" in text.lower() for text in texts], bool)
    if table is None:
        return named
    index = table.indices_of(rows)
    for name in ("src_kind", "dst_kind"):
        if name in table.attributes:
            values = case.view.column("memcpy", name, np.maximum(index, 0))
            recorded |= (np.ma.filled(values.astype(np.int64), -1) == 0) & (index >= 0)
    pageable: npt.NDArray[np.bool_] = recorded | named
    return pageable


def find_streams(case: Case) -> Iterator[Finding]:
    """Find launched work that does not start although the GPU is free."""
    pieces = pieces_of(case, "stream")
    if not len(pieces):
        return
    text = english(
        "The {device} idles for {time} of {whole} ({percent:.0f} %) although work was already launched.",
        **cost(case, int(case.pieces.length[pieces].sum())),
    )
    yield from make_finding(
        case, name="gpu_stream", title=english("Launched work does not start"), text=text, pieces=pieces,
        gain_ns=case.gain_of_pieces(pieces),
        remedy=english("Check on the timeline what the streams wait for: events, other streams, graphs."),
        worst=Severity.WARNING,
    )  # fmt: skip


def find_unknown_launches(case: Case) -> Iterator[Finding]:
    """Find idle time before work without a recorded launch."""
    pieces = pieces_of(case, "no_launch")
    if not len(pieces):
        return
    text = english(
        "The {device} idles for {time} of {whole} ({percent:.0f} %) before operations whose launch was not recorded. "
        "Either the CPU launched late or the work waited.",
        **cost(case, int(case.pieces.length[pieces].sum())),
    )
    needs = (
        english("To see who launched what, use rocprofv3 --sys-trace.")
        if any(is_of_amd(device.name) for device in case.view.capture.devices)
        else english("To see who launched what, use warpline record --trace cpu,cuda.")
    )
    yield from make_finding(
        case, name="gpu_no_launch", title=english("Launches not recorded"), text=text, pieces=pieces,
        remedy=english("Record the CPU's calls as well as the {device}'s work.", device=case.device),
        worst=Severity.NOTE, needs=needs,
    )  # fmt: skip


rules = (
    Rule("gpu_synchronization", "host", find_synchronization),
    Rule("gpu_allocation", "host", find_allocation),
    Rule("gpu_copies", "input", find_copies),
    Rule("gpu_streams", "gpu", find_streams),
    Rule("gpu_no_launch", "gpu", find_unknown_launches),
)
