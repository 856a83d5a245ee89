"""The first steps, which are left out of the budget: how much longer they are, and what for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case, make_case
from warpline.analysis.findings.catalogue.launching import host_place
from warpline.analysis.findings.categories import CATEGORIES, NUMBER
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import NOTE, chain_of, place_known, usual_path, where_of
from warpline.analysis.findings.finding import Evidence, Finding, Severity
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.scope import Scope
from warpline.i18n import english, english_n
from warpline.model.times import format_duration


def of_first_steps(case: Case) -> Iterator[Finding]:
    """Steps that were taken for warm-up."""
    first = case.scope.first
    if first is None or not len(first) or not len(case.scope.steps):
        return
    length = first.stop - first.start
    usual = float(np.median(case.scope.steps.stop - case.scope.steps.start))
    extra = int(length.sum() - usual * len(first))
    if extra < NOTE * case.whole_ns:
        return
    start, stop = int(first.start[0]), int(first.stop[-1])
    early = make_case(Scope(case.view.restrict(start, stop), first, ()), case.target, case.watched.progress)
    more = _of_a_step(early) - _of_a_step(case)
    number = int(np.argmax(more))
    pieces = early.pieces_of_category(number)
    where = where_of(early, pieces)
    if not where.file and case.gpu is not None:
        where = host_place(early, pieces)
    time = early.pieces.length[pieces]
    of_files = early.segments.cause[early.pieces.leaf[pieces]] == Cause.FILE
    is_cold = number == NUMBER["file"] or time[of_files].sum() * 2 > time.sum()
    text = english_n(
        "The first step, which is left out of the budget, takes {extra} longer than later ones. The largest part of "
        "that is “{cause}”, at {place}.",
        "The first {count} steps, which are left out of the budget, take {extra} longer than later ones would. The "
        "largest part of that is “{cause}”, at {place}.",
        len(first), extra=format_duration(extra), place=place_known(where),
        cause=CATEGORIES[number].title.format(device=case.device),
    )  # fmt: skip
    if is_cold:
        name, title = "cold_cache", english("First steps that read what is not in memory yet")
        remedy = english(
            "Read the files ahead of the first steps, or keep them on a faster disk, in fewer files."
        )
    else:
        name, title = "first_steps", english("First steps that are longer")
        remedy = english(
            "A short run pays for it: keep what was compiled or made, and begin with usual sizes."
        )
    rows = tuple(
        early.segments.row[early.pieces.leaf[pieces[np.argsort(-time, kind="stable")[:_ROWS]]]].tolist()
    )
    yield Finding(
        name,
        Severity.NOTE,
        title,
        text,
        0,
        0.0,
        # The range begins after these steps: it would lose nothing.
        0,
        where,
        remedy,
        chain_of(early, usual_path(early, pieces)) if len(pieces) else (),
        Evidence(
            np.column_stack((first.start, first.stop)), rows or tuple(first.row.tolist()), case.target.tracks
        ),
    )


_ROWS = 20


def _of_a_step(case: Case) -> npt.NDArray[np.float64]:
    """The time of each cause in a step, in the mean."""
    total = np.bincount(case.category, case.pieces.length, len(CATEGORIES))
    found: npt.NDArray[np.float64] = total / max(len(case.scope.steps), 1)
    return found


rules = (Rule("first_steps", "steps", of_first_steps),)
