"""Rule: much of the recording lies before the first step or after the last, where the budget does not look."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.categories import CATEGORIES
from warpline.analysis.findings.draft import chain_of, place_known, usual_path
from warpline.analysis.findings.finding import Evidence, Finding, Severity
from warpline.analysis.findings.launchers import program_behind
from warpline.analysis.findings.make_case import make_case
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.scope import Scope, main_thread, thread_target
from warpline.analysis.findings.work.usual_place import usual_place
from warpline.i18n import english
from warpline.model.times import format_duration

_MUCH = 0.3
"""Share of the recording."""


def find_time_outside_steps(case: Case) -> Iterator[Finding]:
    """Find the longer of the two parts, what most of it went to, and where."""
    first, steady = case.scope.first, case.scope.steps
    if first is None or not len(steady):
        return
    whole = case.view.everything()
    begin = int((first if len(first) else steady).start[0])
    is_before = begin - whole.start_ns >= whole.stop_ns - case.view.stop_ns
    start, stop = (whole.start_ns, begin) if is_before else (case.view.stop_ns, whole.stop_ns)
    main = main_thread(whole)
    if stop - start < _MUCH * whole.duration_ns or main is None:
        return
    # Of a thread even if the target is a GPU, which did nothing yet.
    target = thread_target(whole, program_behind(whole, main)) if case.gpu is not None else case.target
    none = steady.take(np.empty(0, np.int64))
    part = make_case(Scope(whole.restrict(start, stop), none, ()), target, case.watched.progress)
    spent = np.bincount(part.category, part.pieces.length, len(CATEGORIES))
    number = int(np.argmax(spent))
    pieces = part.pieces_of_category(number)
    where = usual_place(part, CATEGORIES[number].key)
    values = {
        "time": format_duration(stop - start),
        "whole": format_duration(whole.duration_ns),
        "percent": 100 * (stop - start) / max(whole.duration_ns, 1),
        "cause": CATEGORIES[number].title.format(device=case.device),
        "place": place_known(where),
    }
    if is_before:
        text = english(
            "{time} of the {whole} recorded ({percent:.0f} %) pass before the first step", **values
        )
    else:
        text = english("{time} of the {whole} recorded ({percent:.0f} %) pass after the last step", **values)
    if 2 * spent[number] >= stop - start:
        text = english(
            "{sentence}, most of it in: {cause}, at {place}. The budget leaves this time out.",
            sentence=text,
            **values,
        )
    else:
        text = english(
            "{sentence}; the largest part is: {cause}, at {place}. The budget leaves this time out.",
            sentence=text, **values,
        )  # fmt: skip
    origin = case.view.capture.span[0]
    yield Finding(
        id="outside_steps", severity=Severity.NOTE, title=english("Time outside the steps"), text=text, where=where,
        remedy=english(
            "To analyse this part: warpline check --range {start}:{stop}.",
            start=_seconds(start - origin), stop=_seconds(stop - origin),
        ),
        chain=chain_of(part, usual_path(part, pieces)) if len(pieces) else (),
        evidence=Evidence(np.array([[start, stop]], np.int64), (), target.tracks),
    )  # fmt: skip


def _seconds(time_ns: int) -> str:
    return f"{time_ns / 1e9:.3f}s"


rules = (Rule("outside_steps", "steps", find_time_outside_steps),)
