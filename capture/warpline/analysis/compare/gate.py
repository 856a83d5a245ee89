"""Conditions that make a comparison a gate for regressions: ``step>5%``, ``total>20ms``, ``copies>10%``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from warpline.analysis.compare.alignment import Align
from warpline.analysis.compare.causes import causes, is_cause
from warpline.analysis.compare.comparison import Comparison
from warpline.i18n import tr
from warpline.model import UsageError
from warpline.model.times import parse_time

_CONDITION = re.compile(r"(?P<what>[a-z_]+)>(?:(?P<percent>\d+(?:\.\d+)?)%|(?P<time>\d.*))")
_WHOLE = ("total", "step")


@dataclass(frozen=True)
class Condition:
    """``what`` (``total``, ``step``, or a cause) takes more by ``ratio`` of what it took, or by ``time_ns``."""

    text: str
    what: str
    ratio: float | None = None
    time_ns: int | None = None


@dataclass(frozen=True)
class Judgement:
    """What a comparison came to under a condition: times it looked at, ns, and whether they differ by noise."""

    condition: Condition
    a_ns: int
    b_ns: int
    is_noise: bool

    @property
    def is_failed(self) -> bool:
        """Whether B takes that much more than A, beyond how steps or runs vary."""
        more = self.b_ns - self.a_ns
        if self.condition.time_ns is not None:
            return not self.is_noise and more > self.condition.time_ns
        return not self.is_noise and more > (self.condition.ratio or 0.0) * self.a_ns


def parse_condition(text: str) -> Condition:
    """``step>5%`` or ``step>2ms``. Raises ValueError with a sentence for what is none."""
    match = _CONDITION.fullmatch(text.replace(" ", ""))
    if match is None:
        raise ValueError(
            tr("{text!r} is not a condition; write 'step>5%', 'total>20ms' or 'copies>10%'", text=text)
        )
    if not (match["what"] in _WHOLE or is_cause(match["what"])):
        raise ValueError(
            tr(
                "{text!r}: nothing is called {what!r}; there are {known}",
                text=text,
                what=match["what"],
                known=", ".join([*_WHOLE, *causes()]),
            )
        )
    if match["percent"]:
        return Condition(text, match["what"], ratio=float(match["percent"]) / 100)
    return Condition(text, match["what"], time_ns=parse_time(match["time"]))


def judge(condition: Condition, found: Comparison) -> Judgement:
    """What a comparison came to under a condition.

    Raises UsageError for a condition on steps where none were compared.
    """
    if condition.what == "step" and found.aligned_by is not Align.STEP:
        raise UsageError(tr("{text!r}: steps were not compared", text=condition.text))
    if condition.what in _WHOLE:
        return Judgement(condition, found.a.total_ns, found.b.total_ns, found.is_noise)
    part = next((part for part in found.parts if part.cause == condition.what), None)
    if part is None:
        return Judgement(condition, 0, 0, is_noise=False)
    is_noise = found.is_noise if part.variation is None else part.is_noise
    return Judgement(condition, part.a_ns, part.b_ns, is_noise)
