"""Conditions that fail on a regression: ``step>5%``, ``total>20ms``, ``copies>10%``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from warpline.analysis.compare.alignment import Align
from warpline.analysis.compare.causes import causes, is_cause
from warpline.analysis.compare.comparison import Comparison
from warpline.i18n import tr
from warpline.model import UsageError
from warpline.model.times import parse_time

_CONDITION = re.compile(r"(?P<subject>[a-z_]+)>(?:(?P<percent>\d+(?:\.\d+)?)%|(?P<time>\d.*))")
_WHOLE = ("total", "step")


@dataclass(frozen=True)
class Condition:
    """Fails when ``subject`` (``total``, ``step`` or a cause) grows by more than ``ratio`` or ``time_ns``."""

    text: str
    subject: str
    ratio: float | None = None
    time_ns: int | None = None


@dataclass(frozen=True)
class Judgement:
    """The result of a condition: the compared times, ns, and whether their difference is noise."""

    condition: Condition
    a_ns: int
    b_ns: int
    is_noise: bool

    @property
    def is_failed(self) -> bool:
        """Whether B takes that much more than A, beyond noise."""
        more = self.b_ns - self.a_ns
        if self.condition.time_ns is not None:
            return not self.is_noise and more > self.condition.time_ns
        return not self.is_noise and more > (self.condition.ratio or 0.0) * self.a_ns


def parse_condition(text: str) -> Condition:
    """Parse ``step>5%`` or ``step>2ms``. Raises ValueError with a sentence about the error."""
    match = _CONDITION.fullmatch(text.replace(" ", ""))
    if match is None:
        raise ValueError(
            tr("{text!r} is not a condition; write 'step>5%', 'total>20ms' or 'copies>10%'", text=text)
        )
    if not (match["subject"] in _WHOLE or is_cause(match["subject"])):
        raise ValueError(
            tr(
                "{text!r}: unknown name {subject!r}; known are {known}",
                text=text,
                subject=match["subject"],
                known=", ".join([*_WHOLE, *causes()]),
            )
        )
    if match["percent"]:
        return Condition(text, match["subject"], ratio=float(match["percent"]) / 100)
    return Condition(text, match["subject"], time_ns=parse_time(match["time"]))


def judge(condition: Condition, comparison: Comparison) -> Judgement:
    """Apply a condition to a comparison. Raises UsageError for a condition on steps when none were compared."""
    if condition.subject == "step" and comparison.aligned_by is not Align.STEP:
        raise UsageError(tr("{text!r}: steps were not compared", text=condition.text))
    if condition.subject in _WHOLE:
        return Judgement(condition, comparison.a.total_ns, comparison.b.total_ns, comparison.is_noise)
    part = next((part for part in comparison.parts if part.cause == condition.subject), None)
    if part is None:
        return Judgement(condition, 0, 0, is_noise=False)
    is_noise = comparison.is_noise if part.variation is None else part.is_noise
    return Judgement(condition, part.a_ns, part.b_ns, is_noise)
