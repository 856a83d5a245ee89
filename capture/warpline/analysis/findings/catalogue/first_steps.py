"""Rule: the first steps, left out of the budget as warm-up, take much longer than later ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.catalogue.launching import host_place
from warpline.analysis.findings.categories import CATEGORIES, NUMBER
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import NOTE, chain_of, place_known, usual_path, where_of
from warpline.analysis.findings.finding import Evidence, Finding, Severity
from warpline.analysis.findings.make_case import make_case
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.scope import Scope
from warpline.i18n import english, english_n
from warpline.model.times import format_duration


def find_first_steps(case: Case) -> Iterator[Finding]:
    """Find slow warm-up steps, and what caused the extra time."""
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
    more = _mean_step(early) - _mean_step(case)
    number = int(np.argmax(more))
    pieces = early.pieces_of_category(number)
    where = where_of(early, pieces)
    if not where.file and case.gpu is not None:
        where = host_place(early, pieces)
    time = early.pieces.length[pieces]
    is_file = early.segments.cause[early.pieces.leaf[pieces]] == Cause.FILE
    is_cold = number == NUMBER["file"] or time[is_file].sum() * 2 > time.sum()
    text = english_n(
        "The first step takes {extra} longer than later ones, mostly for: {cause}, at {place}. The budget leaves it "
        "out.",
        "The first {count} steps take {extra} longer than later ones, mostly for: {cause}, at {place}. The budget "
        "leaves them out.",
        len(first), extra=format_duration(extra), place=place_known(where),
        cause=CATEGORIES[number].title.format(device=case.device),
    )  # fmt: skip
    if is_cold:
        name, title = "cold_cache", english("First steps with a cold file cache")
        remedy = english(
            "Read the files before the first step, or keep them in fewer files or on a faster disk."
        )
    else:
        name, title = "first_steps", english("Slow first steps")
        remedy = english("For short runs, cache compiled code and start with the usual sizes.")
    rows = tuple(
        early.segments.row[early.pieces.leaf[pieces[np.argsort(-time, kind="stable")[:_ROWS]]]].tolist()
    )
    yield Finding(
        id=name, severity=Severity.NOTE, title=title, text=text, where=where, remedy=remedy,
        chain=chain_of(early, usual_path(early, pieces)) if len(pieces) else (),
        evidence=Evidence(
            np.column_stack((first.start, first.stop)), rows or tuple(first.row.tolist()), case.target.tracks
        ),
    )  # fmt: skip


_ROWS = 20


def _mean_step(case: Case) -> npt.NDArray[np.float64]:
    """Mean time of each category per step, ns."""
    total = np.bincount(case.category, case.pieces.length, len(CATEGORIES))
    mean: npt.NDArray[np.float64] = total / max(len(case.scope.steps), 1)
    return mean


rules = (Rule("first_steps", "steps", find_first_steps),)
