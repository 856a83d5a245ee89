"""Rules about the capture itself: too little work, lost records, pauses, profiler overhead."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.catalogue.launching import launching_thread
from warpline.analysis.findings.categories import NUMBER
from warpline.analysis.findings.draft import NOTE
from warpline.analysis.findings.finding import Evidence, Finding, Severity
from warpline.analysis.findings.host_places import moments_in, usual_call
from warpline.analysis.findings.rule import Rule
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.selected.selected_events import SelectedEvents
from warpline.i18n import english, joined
from warpline.model.intervals import clip_intervals, union_ns
from warpline.model.times import format_duration
from warpline.model.tracks import signal_name

_MOST = 0.5
_FULL_QUEUE = re.compile(r"command.?buffer.?full", re.IGNORECASE)
_DRIVER_OVERHEAD = re.compile(
    r"command.?buffer.?full|driver.?compiler|module.?loading|lazy.?function|uvm.?activity", re.IGNORECASE
)
"""Overheads that CUPTI reports although the driver causes them (CUpti_ActivityOverheadKind)."""
_LOST = 0.1
"""Signals by which somebody stops a program."""


def find_length(case: Case) -> Iterator[Finding]:
    """Note when most of the range lies before or after the GPU's work, or was left out for that reason."""
    around = case.scope.around
    outside = np.isin(case.category, [NUMBER["start"], NUMBER["end"]])
    whole_ns = case.whole_ns if around is None else around.duration_ns
    time = int(case.pieces.length[outside].sum()) + whole_ns - case.whole_ns
    if case.gpu is None or time < _MOST * whole_ns:
        return
    fields = {"time": format_duration(time), "whole": format_duration(whole_ns), "device": case.device}
    text = english("In {time} of {whole}, no {device} operation had begun or all had ended.", **fields)
    call, inside_ns = _startup_call(case)
    if inside_ns >= NOTE * whole_ns:
        text = english(
            "In {time} of {whole}, no {device} operation had begun or all had ended, {inside} of it in {call}.",
            inside=format_duration(inside_ns), call=call, **fields,
        )  # fmt: skip
    if around is None:
        text = joined(" ", [text, english("The other findings may not be typical.")])
    yield _note(
        case, "capture_short", english("Too little work was recorded"), text,
        english("Record more steps, or select the part that matters."),
    )  # fmt: skip


def _startup_call(case: Case) -> tuple[str, int]:
    """The call that takes the most time before the first operation, and for how long, ns."""
    view = case.scope.around
    if view is None:
        thread, own = launching_thread(case, case.pieces_of_category(NUMBER["start"]))
        start, stop = case.pieces.start[own], case.pieces.stop[own]
        view = case.view
    else:
        thread, _own = launching_thread(case, np.arange(len(case.pieces)))
        start, stop = np.array([view.start_ns]), np.array([case.view.start_ns])
    if thread < 0:
        return "", 0
    call, part = usual_call(view, thread, moments_in(start, stop))
    return call, round(part * int((stop - start).sum()))


def find_failure(case: Case) -> Iterator[Finding]:
    """Note that the program failed: it may not have come to the work that was to be recorded."""
    end = case.view.capture.program_end
    number = end.signal
    if not end.failure:
        return
    text = english("The program ended with status {status}.", status=end.failure)
    if number and (name := signal_name(number)):
        text = english("The program was killed by signal {number} ({name}).", number=number, name=name)
    if words := end.last_words:
        text = joined(" ", [text, english("The last line of its standard error: {words}", words=words)])
    yield _note(
        case, "program_failed", english("The program failed"), text,
        english("Fix that first: what the program did not reach was not recorded."),
    )  # fmt: skip


def find_losses(case: Case) -> Iterator[Finding]:
    """Note sources that lost many records."""
    capture = case.view.capture
    for source in capture.sources:
        if source.lost > _LOST * max(len(capture.events), 1):
            yield _note(
                case, "capture_lost", english("Records were lost"),
                english(
                    "{source} lost {lost:,} records; the capture holds {events:,} events. Lost time counts as not "
                    "recorded.",
                    source=source.name, lost=source.lost, events=len(capture.events),
                ),
                english("Record fewer sources at once, or for a shorter time."),
            )  # fmt: skip


def find_pauses(case: Case) -> Iterator[Finding]:
    """Note pauses of the recording in the range."""
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


def find_overhead(case: Case) -> Iterator[Finding]:
    """Note the profiler's own time, and waits for a full launch queue, which CUPTI also reports as overhead."""
    if not case.view.has("overhead"):
        return
    events = case.view.events("overhead")
    is_driver = matching_names(case.view.capture, _DRIVER_OVERHEAD)[events.name]
    is_full = matching_names(case.view.capture, _FULL_QUEUE)[events.name]
    time, full = (_inside(case, events.take(own)) for own in (~is_driver, is_full))
    if time >= NOTE * case.whole_ns:
        yield _note(
            case, "capture_overhead", english("Profiler overhead"),
            english(
                "The profiler itself takes {time} of {whole}. Without it the program is faster.",
                time=format_duration(time), whole=format_duration(case.whole_ns),
            ),
            english("Record less: no shapes, no stacks, fewer sources."),
        )  # fmt: skip
    if full >= NOTE * case.whole_ns:
        yield _note(
            case, "full_queue", english("The CPU is ahead of the {device}", device=case.device),
            english(
                "Launches wait {time} of {whole} for room in the full launch queue. The CPU is far ahead, so the "
                "{device} never waits for it.",
                time=format_duration(full), whole=format_duration(case.whole_ns), device=case.device,
            ),
            english("Do less work on the {device}: the CPU keeps up.", device=case.device),
        )  # fmt: skip


def _inside(case: Case, events: SelectedEvents) -> int:
    """The time in the range that some events cover, ns."""
    return union_ns(*clip_intervals(events.start, events.stop, case.view.start_ns, case.view.stop_ns))


def _note(case: Case, name: str, title: str, text: str, remedy: str) -> Finding:
    evidence = Evidence(tracks=case.target.tracks[:1])
    return Finding(id=name, severity=Severity.NOTE, title=title, text=text, remedy=remedy, evidence=evidence)


rules = (
    Rule("capture_length", "capture", find_length),
    Rule("program_failure", "capture", find_failure),
    Rule("capture_losses", "capture", find_losses),
    Rule("capture_pauses", "capture", find_pauses),
    Rule("capture_overhead", "capture", find_overhead),
)
