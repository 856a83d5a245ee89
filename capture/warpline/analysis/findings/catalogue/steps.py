"""Steps that are longer than others, and what is different in them. Their time is in the budget under its causes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

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
    early, late = float(np.median(duration[:half])), float(np.median(duration[half:]))
    if late > _DRIFT * early:
        text = english(
            "Steps become longer: {early} in the median of the first half, {late} in that of the second.",
            early=format_duration(int(early)), late=format_duration(int(late)),
        )  # fmt: skip
        remedy = english("See what grows with time: memory, lists, caches, temperature.")
        gain = int((late - early) * (len(duration) - half))
        later = np.arange(len(duration)) >= half
        yield _note(case, "drift", english("Steps become longer"), text, gain, later, remedy)


def _note(
    case: Case, name: str, title: str, text: str, gain_ns: int, which: np.ndarray[tuple[int], np.dtype[np.bool_]],
    remedy: str,
) -> Finding:  # fmt: skip
    steps = case.scope.steps
    ranges = tuple(zip(steps.start[which].tolist(), steps.stop[which].tolist(), strict=True))
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
