"""Rules: slow steps, and steps that get slower. Their time counts under its causes in the budget."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.budget import budget_of
from warpline.analysis.findings.case import Case
from warpline.analysis.findings.draft import NOTE
from warpline.analysis.findings.finding import Evidence, Finding, Severity
from warpline.analysis.findings.rule import Rule
from warpline.analysis.structure.steps import mean_outliers
from warpline.i18n import english, english_n
from warpline.model.times import format_duration

_FEWEST = 6
_DRIFT = 1.2
_FEWEST_OF_TREND = 12
_BEYOND = 3.0
_EACH = 0.12
"""The least share of the growth between two neighbouring quarters; with even growth it is a third."""


def find_steps(case: Case) -> Iterator[Finding]:
    """Find outliers, and a trend to longer steps."""
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
            "{count} step takes {extra} longer than the others, most of it for “{cause}”.",
            "{count} steps together take {extra} longer than the others, most of it for “{cause}”.",
            int(far.sum()), extra=format_duration(extra), cause=cause,
        )  # fmt: skip
        remedy = english("Compare a slow step with a usual one: warpline compare, or the report time_budget.")
        yield _note(case, "slow_steps", english("Slow steps"), text, extra, far, remedy)
    half = len(duration) // 2
    own = duration - _without_core(case)
    early, late = float(np.median(own[:half])), float(np.median(own[half:]))
    if late > _DRIFT * early and is_trend(own):
        text = english(
            "Steps get slower: their median is {early} in the first half and {late} in the second.",
            early=format_duration(int(early)), late=format_duration(int(late)),
        )  # fmt: skip
        remedy = english("Look for what grows over time: memory, lists, caches, temperature.")
        gain = int((late - early) * (len(duration) - half))
        later = np.arange(len(duration)) >= half
        yield _note(case, "drift", english("Steps get slower"), text, gain, later, remedy)


def is_trend(values: npt.NDArray[np.int64]) -> bool:
    """Whether values grow steadily and far beyond their variation.

    A machine that gets busy half-way makes steps longer all at once. So each quarter must grow by its part, and the
    total growth must be several times the spread around the line through the medians of the first and last quarter
    (1.4826 times the median absolute deviation).
    """
    if len(values) < _FEWEST_OF_TREND:
        return False
    quarters = [float(np.median(part)) for part in np.array_split(values, 4)]
    growth = quarters[3] - quarters[0]
    # The centres of the outer quarters are three quarters of the length apart.
    line = quarters[0] + growth * (np.linspace(0, 1, len(values)) - 0.125) / 0.75
    spread = 1.4826 * float(np.median(np.abs(values - line)))
    rises = np.diff(quarters)
    return bool(growth > _BEYOND * spread and (rises > _EACH * growth).all())


def _without_core(case: Case) -> npt.NDArray[np.int64]:
    """How long each step waited for a core, ns; other programs cause that."""
    budget = budget_of(case)
    place = next((number for number, part in enumerate(budget.parts) if part.cause == "runnable"), None)
    if place is None:
        return np.zeros(len(budget.steps), np.int64)
    return np.array([step.times_ns[place] for step in budget.steps], np.int64)


def _note(
    case: Case, name: str, title: str, text: str, gain_ns: int, mask: npt.NDArray[np.bool_],
    remedy: str,
) -> Finding:  # fmt: skip
    steps = case.scope.steps
    ranges = np.column_stack((steps.start[mask], steps.stop[mask]))
    evidence = Evidence(ranges, tuple(steps.row[mask].tolist()), case.target.tracks)
    return Finding(
        id=name, severity=Severity.NOTE, title=title, text=text, gain_ns=min(gain_ns, case.whole_ns), remedy=remedy,
        evidence=evidence,
    )  # fmt: skip


rules = (Rule("steps", "steps", find_steps),)
