"""Whether the gains predicted by A's findings came true in B."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpline.analysis.findings.diagnose import diagnose
from warpline.analysis.findings.draft import place_of
from warpline.analysis.findings.finding import Diagnosis, Finding, Severity, Where, is_visible
from warpline.analysis.framework.selection import View
from warpline.i18n import tr, translated
from warpline.model.times import format_duration

AT_MOST_EVENTS = 2_000_000
"""Larger captures are not diagnosed for a comparison: it would take too long."""


_SMALLER = 0.5
"""A finding counts as cured when its gain in B is at most this part of that in A."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A critical finding or warning of A that is gone or much smaller in B.

    ``predicted_ns`` is its upper bound, scaled to what is compared, less what remains in B; ``checked_ns`` is the bound
    in the range that `check` judges. ``gained_ns`` is how much shorter B is, without waits for cores. ``together`` is
    how many findings are cured: they share what was gained.
    """

    id: str
    title: str
    where: Where
    predicted_ns: int
    gained_ns: int
    checked_ns: int
    is_gone: bool = True
    together: int = 1

    @property
    def ratio(self) -> float:
        """Predicted by gained; infinite when nothing was gained."""
        return self.predicted_ns / self.gained_ns if self.gained_ns > 0 else float("inf")


def find_predictions(
    a: View, b: View, compared_ns: tuple[int, int], gained_ns: int
) -> tuple[Prediction, ...]:
    """The findings of A that are cured in B, largest predicted gain first; none for large captures and failed programs.

    ``compared_ns`` are the lengths that are compared, ``gained_ns`` how much shorter B is.
    """
    views = (a, b)
    if any(
        len(view.capture.events.start) > AT_MOST_EVENTS or view.capture.program_end.failure for view in views
    ):
        return ()
    before, after = diagnose(a), diagnose(b)
    if before.budget is None or after.budget is None:
        return ()
    scales = [
        length / max(budget.stop_ns - budget.start_ns, 1)
        for length, budget in zip(compared_ns, (before.budget, after.budget), strict=True)
    ]
    cured = []
    for finding in before.findings:
        predicted = finding.gain_ns * scales[0]
        rest = max((same.gain_ns for same in _same(finding, after)), default=0) * scales[1]
        is_cured = predicted and rest <= _SMALLER * predicted and is_visible(predicted - rest, compared_ns[0])
        if finding.severity != Severity.NOTE and is_cured:
            cured.append((round(predicted - rest), not rest, finding))
    cured.sort(key=lambda entry: -entry[0])
    return tuple(
        Prediction(
            id=finding.id,
            title=finding.title,
            where=finding.where,
            predicted_ns=predicted_ns,
            gained_ns=gained_ns,
            checked_ns=finding.gain_ns,
            is_gone=is_gone,
            together=len(cured),
        )
        for predicted_ns, is_gone, finding in cured
    )


def _same(finding: Finding, diagnosis: Diagnosis) -> list[Finding]:
    """The findings of a diagnosis with the same cause and function; lines move when a program changes."""
    key = finding.id, finding.title, finding.where.function
    return [other for other in diagnosis.findings if (other.id, other.title, other.where.function) == key]


def prediction_text(predictions: Sequence[Prediction]) -> str:
    """Sentences about the finding with the largest predicted gain that is cured in B; empty for none."""
    if not predictions:
        return ""
    first = predictions[0]
    text = _prediction_sentence(first)
    if format_duration(first.checked_ns) == format_duration(first.predicted_ns):
        return text
    return tr(
        "{sentence} The bound is that of check, {checked}, for the compared length and without what is left of the "
        "finding in B.",
        sentence=text, checked=format_duration(first.checked_ns),
    )  # fmt: skip


def _prediction_sentence(first: Prediction) -> str:
    fields = {
        "title": translated(first.title),
        "place": place_of(first.where) or tr("an unrecorded place"),
        "predicted": format_duration(first.predicted_ns),
        "gained": format_duration(abs(first.gained_ns)),
    }
    if first.gained_ns < 0:
        return tr(
            "A finding is gone. {title}, {place}: predicted gain up to {predicted}, but B takes {gained} longer.",
            **fields,
        )
    if first.together > 1:
        return tr(
            "{count} findings are gone or smaller. {title}, {place}: predicted gain up to {predicted}; actual gain of "
            "all {gained}.",
            count=first.together,
            **fields,
        )
    if not first.is_gone:
        return tr(
            "A finding is smaller. {title}, {place}: predicted gain up to {predicted}, actual gain {gained}.",
            **fields,
        )
    return tr(
        "A finding is gone. {title}, {place}: predicted gain up to {predicted}, actual gain {gained}.",
        **fields,
    )
