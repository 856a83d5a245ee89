"""Conditions that make a comparison a gate for regressions: ``step>5%``, ``total>20ms``, ``copies>10%``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from warpline.analysis.compare.alignment import Align
from warpline.analysis.compare.causes import is_cause
from warpline.analysis.compare.comparison import Comparison
from warpline.i18n import tr
from warpline.model import UsageError
from warpline.model.times import parse_time

_CONDITION = re.compile(r"(?P<what>[a-z_]+)>(?:(?P<percent>\d+(?:\.\d+)?)%|(?P<time>\d.*))")


@dataclass(frozen=True)
class Condition:
    """``what`` (``total``, ``step``, or a cause) takes more by ``ratio`` of what it took, or by ``time_ns``."""

    text: str
    what: str
    ratio: float | None = None
    time_ns: int | None = None


def parse_condition(text: str) -> Condition:
    """``step>5%`` or ``step>2ms``. Raises ValueError with a sentence for what is none."""
    match = _CONDITION.fullmatch(text.replace(" ", ""))
    if match is None or not (match["what"] in ("total", "step") or is_cause(match["what"])):
        raise ValueError(
            tr("{text!r} is not a condition; write 'step>5%', 'total>20ms' or 'copies>10%'", text=text)
        )
    if match["percent"]:
        return Condition(text, match["what"], ratio=float(match["percent"]) / 100)
    return Condition(text, match["what"], time_ns=parse_time(match["time"]))


def holds(condition: Condition, found: Comparison) -> bool:
    """Whether B takes that much more than A, beyond how steps or runs vary.

    Raises UsageError for a condition on steps where none were compared.
    """
    if condition.what == "step" and found.aligned_by is not Align.STEP:
        raise UsageError(tr("{text!r}: steps were not compared", text=condition.text))
    if condition.what in ("total", "step"):
        a_ns, b_ns = found.a.total_ns, found.b.total_ns
    else:
        part = next((part for part in found.parts if part.cause == condition.what), None)
        a_ns, b_ns = (part.a_ns, part.b_ns) if part is not None else (0, 0)
    if found.is_noise:
        return False
    if condition.time_ns is not None:
        return b_ns - a_ns > condition.time_ns
    return b_ns - a_ns > (condition.ratio or 0.0) * a_ns
