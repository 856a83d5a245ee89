"""What a capture itself lacks: too little of the program, records lost, pauses, a recorder that is seen at work."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.catalogue.launching import launching_thread
from warpline.analysis.findings.categories import NUMBER
from warpline.analysis.findings.draft import NOTE
from warpline.analysis.findings.finding import Evidence, Finding, Severity, Where
from warpline.analysis.findings.host_places import moments_in, usual_call
from warpline.analysis.findings.rule import Rule
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.selection import SelectedEvents
from warpline.i18n import english
from warpline.model.intervals import clip_intervals, union_ns
from warpline.model.times import format_duration

_MOST = 0.5
_FULL_QUEUE = re.compile(r"command.?buffer.?full", re.IGNORECASE)
_OF_DRIVER = re.compile(
    r"command.?buffer.?full|driver.?compiler|module.?loading|lazy.?function|uvm.?activity", re.IGNORECASE
)
"""What CUPTI calls overhead and is the driver's: CUpti_ActivityOverheadKind."""
_LOST = 0.1


def of_length(case: Case) -> Iterator[Finding]:
    """Most of the range lies before or after the work."""
    outside = np.isin(case.category, [NUMBER["start"], NUMBER["end"]])
    time = int(case.pieces.length[outside].sum())
    if case.gpu is None or time < _MOST * case.whole_ns:
        return
    fields = {"time": format_duration(time), "whole": format_duration(case.whole_ns), "device": case.device}
    text = english(
        "{time} of {whole} lie before the first operation of the {device} or behind the last one: what is told of "
        "the rest is about a start.",
        **fields,
    )
    call, inside_ns = _of_start(case)
    if inside_ns >= NOTE * case.whole_ns:
        text = english(
            "{time} of {whole} lie before the first operation of the {device} or behind the last one, {inside} of "
            "it in {call}: what is told of the rest is about a start.",
            inside=format_duration(inside_ns), call=call, **fields,
        )  # fmt: skip
    yield _note(
        case, "capture_short", english("Little of the work was recorded"), text,
        english("Record more steps, or select the part that matters."),
    )  # fmt: skip


def _of_start(case: Case) -> tuple[str, int]:
    """The call that the launching thread was in for most of the time before the first operation, and for how long."""
    thread, own = launching_thread(case, case.pieces_of_category(NUMBER["start"]))
    if thread < 0:
        return "", 0
    start, stop = case.pieces.start[own], case.pieces.stop[own]
    call, part = usual_call(case.view, thread, moments_in(start, stop))
    return call, round(part * int((stop - start).sum()))


def of_losses(case: Case) -> Iterator[Finding]:
    """Records that were lost."""
    capture = case.view.capture
    for source in capture.sources:
        if source.lost > _LOST * max(len(capture.events), 1):
            yield _note(
                case, "capture_lost", english("Records were lost"),
                english(
                    "{source} lost {lost:,} records, {events:,} events are there: what lacks counts as not recorded.",
                    source=source.name, lost=source.lost, events=len(capture.events),
                ),
                english("Record fewer sources at once, or a shorter time."),
            )  # fmt: skip


def of_pauses(case: Case) -> Iterator[Finding]:
    """Parts of the range in which nothing was recorded."""
    pauses = np.asarray(case.view.capture.pauses, np.int64).reshape(-1, 2)
    time = union_ns(*clip_intervals(pauses[:, 0], pauses[:, 1], case.view.start_ns, case.view.stop_ns))
    if time >= NOTE * case.whole_ns:
        yield _note(
            case, "capture_paused", english("The recording was paused"),
            english(
                "Nothing was recorded for {time} of {whole}.",
                time=format_duration(time), whole=format_duration(case.whole_ns),
            ),
            english("Select a range without pauses."),
        )  # fmt: skip


def of_overhead(case: Case) -> Iterator[Finding]:
    """Time that whoever recorded says was its own, and what the driver did, which would be there without it."""
    if not case.view.has("overhead"):
        return
    events = case.view.events("overhead")
    of_driver = matching_names(case.view.capture, _OF_DRIVER)[events.name]
    is_full = matching_names(case.view.capture, _FULL_QUEUE)[events.name]
    time, full = (_inside(case, events.take(own)) for own in (~of_driver, is_full))
    if time >= NOTE * case.whole_ns:
        yield _note(
            case, "capture_overhead", english("The recording itself took time"),
            english(
                "For {time} of {whole} the profiler was at work: without it these would be shorter.",
                time=format_duration(time), whole=format_duration(case.whole_ns),
            ),
            english("Record less at once: no shapes, no stacks, fewer sources."),
        )  # fmt: skip
    if full >= NOTE * case.whole_ns:
        yield _note(
            case, "full_queue", english("The host is ahead"),
            english(
                "For {time} of {whole} calls waited because the queue of launches was full: the host is far ahead, and "
                "the {device} does not wait for it.",
                time=format_duration(full), whole=format_duration(case.whole_ns), device=case.device,
            ),
            english("Nothing is to be done for the host; only less work for the {device} helps.", device=case.device),
        )  # fmt: skip


def _inside(case: Case, events: SelectedEvents) -> int:
    """How much of the range some events fill, ns."""
    return union_ns(*clip_intervals(events.start, events.stop, case.view.start_ns, case.view.stop_ns))


def _note(case: Case, name: str, title: str, text: str, remedy: str) -> Finding:
    evidence = Evidence(tracks=case.target.tracks[:1])
    return Finding(name, Severity.NOTE, title, text, 0, 0.0, 0, Where(), remedy, evidence=evidence)


rules = (
    Rule("capture_length", "capture", of_length),
    Rule("capture_losses", "capture", of_losses),
    Rule("capture_pauses", "capture", of_pauses),
    Rule("capture_overhead", "capture", of_overhead),
)
