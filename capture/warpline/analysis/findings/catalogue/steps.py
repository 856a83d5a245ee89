"""Steps that are longer than others, and what is different in them. Their time is in the budget under its causes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.budget import budget_of
from warpline.analysis.findings.case import Case
from warpline.analysis.findings.draft import NOTE
from warpline.analysis.findings.finding import Evidence, Finding, Severity, Where
from warpline.analysis.findings.rule import Rule
from warpline.analysis.structure.steps import mean_outliers
from warpline.i18n import english, english_n
from warpline.model.times import format_duration

_FEWEST = 6
_DRIFT = 1.2
_FEWEST_OF_TREND = 12
_BEYOND = 3.0
_EACH = 0.12
"""So much of the growth at least lies between any two neighbouring quarters; evenly it would be a third."""


def of_steps(case: Case) -> Iterator[Finding]:
    """Outliers, and steps that become longer and longer."""
    steps = case.scope.steps
    if len(steps) < _FEWEST:
        return
    duration = steps.stop - steps.start
    median, far = mean_outliers(duration)
    extra = int((duration[far] - median).sum())
    if far.any() and extra >= NOTE * case.whole_ns:
        budget = budget_of(case)
        times = np.array([step.times_ns for step in budget.steps], np.int64)
        more = times[far].mean(0) - np.median(times[~far], 0)
        cause = budget.parts[int(np.argmax(more))].title
        text = english_n(
            "{count} step is longer than the others by {extra}; what is more in it is: {cause}.",
            "{count} steps are longer than the others, by {extra} together; what is more in them is: {cause}.",
            int(far.sum()), extra=format_duration(extra), cause=cause,
        )  # fmt: skip
        remedy = english("Compare a long step with a usual one: warpline compare, or the report time_budget.")
        yield _note(
            case, "slow_steps", english("Steps that are longer than others"), text, extra, far, remedy
        )
    half = len(duration) // 2
    own = duration - _without_core(case)
    early, late = float(np.median(own[:half])), float(np.median(own[half:]))
    if late > _DRIFT * early and is_trend(own):
        text = english(
            "Steps become longer: {early} in the median of the first half, {late} in that of the second.",
            early=format_duration(int(early)), late=format_duration(int(late)),
        )  # fmt: skip
        remedy = english("See what grows with time: memory, lists, caches, temperature.")
        gain = int((late - early) * (len(duration) - half))
        later = np.arange(len(duration)) >= half
        yield _note(case, "drift", english("Steps become longer"), text, gain, later, remedy)


def is_trend(values: npt.NDArray[np.int64]) -> bool:
    """Whether values grow all along, far beyond what they vary by from one to the next.

    A machine that becomes busy half-way, or now and then, makes steps longer too, at once: each quarter must be longer
    than the one before by a part of the growth, and the growth be several times the variation about the line through
    the medians of the first and the last quarter (1.4826 times the median absolute deviation).
    """
    if len(values) < _FEWEST_OF_TREND:
        return False
    quarters = [float(np.median(part)) for part in np.array_split(values, 4)]
    growth = quarters[3] - quarters[0]
    # The middles of the outer quarters lie three quarters of the length apart.
    line = quarters[0] + growth * (np.linspace(0, 1, len(values)) - 0.125) / 0.75
    spread = 1.4826 * float(np.median(np.abs(values - line)))
    rises = np.diff(quarters)
    return bool(growth > _BEYOND * spread and (rises > _EACH * growth).all())


def _without_core(case: Case) -> npt.NDArray[np.int64]:
    """How long each step was ready to run and had no core, ns: its neighbours' doing."""
    budget = budget_of(case)
    place = next((number for number, part in enumerate(budget.parts) if part.cause == "runnable"), None)
    if place is None:
        return np.zeros(len(budget.steps), np.int64)
    return np.array([step.times_ns[place] for step in budget.steps], np.int64)


def _note(
    case: Case, name: str, title: str, text: str, gain_ns: int, which: npt.NDArray[np.bool_],
    remedy: str,
) -> Finding:  # fmt: skip
    steps = case.scope.steps
    ranges = np.column_stack((steps.start[which], steps.stop[which]))
    evidence = Evidence(ranges, tuple(steps.row[which].tolist()), case.target.tracks)
    return Finding(
        name,
        Severity.NOTE,
        title,
        text,
        0,
        0.0,
        min(gain_ns, case.whole_ns),
        Where(),
        remedy,
        evidence=evidence,
    )


rules = (Rule("steps", "steps", of_steps),)
