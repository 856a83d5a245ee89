"""What a diagnosis is: a sentence with its cost, its place, the chain of who waited for whom, and a remedy."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Severity(StrEnum):
    """How much a finding asks for. Worst first."""

    CRITICAL = "critical"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Where:
    """A place, as far as it is known; an empty text or None is not known."""

    file: str = ""
    line: int | None = None
    function: str = ""
    process: int | None = None
    thread: str = ""
    operator: str = ""
    module: str = ""
    kernel: str = ""
    rank: int | None = None

    def __str__(self) -> str:
        place = f"{self.function} ({self.file}:{self.line})" if self.file else self.function
        return " · ".join(part for part in (self.operator, self.kernel, place, self.thread) if part)


@dataclass(frozen=True)
class Hop:
    """A link of the chain: what somebody did, or waited for, and where. ``row`` is the event one goes to (−1: none),
    ``start_ns``/``stop_ns`` the longest stretch of it in capture ns (both 0: not known).
    """

    what: str
    where: Where
    row: int = -1
    start_ns: int = 0
    stop_ns: int = 0


def no_ranges() -> npt.NDArray[np.int64]:
    """No stretch of time."""
    import numpy as np

    return np.empty((0, 2), np.int64)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What shows a finding: stretches of capture time in their order (int64 [n, 2], start and stop), events, longest
    first, and tracks.
    """

    ranges: npt.NDArray[np.int64] = field(default_factory=no_ranges)
    rows: tuple[int, ...] = ()
    tracks: tuple[int, ...] = ()


class Doing(NamedTuple):
    """Somebody, and what it does (``waits for lock at want (x.py:7)``): two stored texts, joined when shown."""

    who: str
    what: str


@dataclass(frozen=True)
class Finding:
    """One problem. ``time_ns`` is its part of the budget (0: it tells of other things than time of its own; of calls
    that wait for a busy GPU: how long they do), ``share`` of the range, ``gain_ns`` what the range would lose at most
    without it; ``needs`` says what recording would sharpen it; ``within`` of how much of the budget it is a part,
    ``meanwhile`` what those did who were waited for.
    """

    id: str
    severity: Severity
    title: str
    text: str
    time_ns: int
    share: float
    gain_ns: int
    where: Where
    remedy: str
    chain: tuple[Hop, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)
    needs: str = ""
    meanwhile: tuple[Doing, ...] = ()
    within: str = ""

    @property
    def whole_text(self) -> str:
        """``text`` with ``within`` and what others did meanwhile, in English."""
        said = f"{self.text} {self.within}".strip()
        doing = "; ".join(f"{one.who} {one.what}" for one in self.meanwhile)
        return f"{said} {doing}." if doing else said


UNEXPLAINED = frozenset(("blocked", "condition", "other", "active", "not_recorded", "no_launch"))
"""Causes of a budget that tell no more than that nothing was seen to happen."""


@dataclass(frozen=True)
class BudgetPart:
    """Time of one cause."""

    cause: str
    title: str
    time_ns: int


@dataclass(frozen=True)
class BudgetStep:
    """A step of the range: its name, its event, and the time of each part of the budget in it, in their order."""

    name: str
    row: int
    start_ns: int
    stop_ns: int
    times_ns: tuple[int, ...]


@dataclass(frozen=True)
class Budget:
    """Where the time of a range went, of whatever was waited for; the parts add up to the range.

    ``tracks`` are those of what was waited for. The parts of a step add up to the step.
    """

    waited_for: str
    start_ns: int
    stop_ns: int
    parts: tuple[BudgetPart, ...]
    tracks: tuple[int, ...] = ()
    steps: tuple[BudgetStep, ...] = ()

    @property
    def unexplained_ratio(self) -> float:
        """Which part of the range was recorded without telling what it went to."""
        unknown = sum(part.time_ns for part in self.parts if part.cause in UNEXPLAINED)
        return unknown / max(self.stop_ns - self.start_ns, 1)


@dataclass(frozen=True)
class Diagnosis:
    """The budget of a range and what stands out in it, most gain first; ``reason`` says why there is neither.
    ``said`` are sentences about the range: what of the capture was left out, and why.
    """

    budget: Budget | None
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    remedy: str = field(default="")
    said: tuple[str, ...] = ()
