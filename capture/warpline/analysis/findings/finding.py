"""The result of a diagnosis: findings with cost, place, chain of waits and remedy; and the time budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Severity(StrEnum):
    """How serious a finding is, worst first."""

    CRITICAL = "critical"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, kw_only=True)
class Where:
    """A place in the program. Empty texts and None mean unknown."""

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
    """One link of a chain of waits: what an actor did or waited for, and where.

    ``row`` is the event to go to (−1: none). ``start_ns``/``stop_ns`` are its longest stretch in capture ns (both 0:
    unknown).
    """

    action: str
    where: Where
    row: int = -1
    start_ns: int = 0
    stop_ns: int = 0


def no_ranges() -> npt.NDArray[np.int64]:
    """An empty array of ranges."""
    import numpy as np

    return np.empty((0, 2), np.int64)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What shows a finding: ``ranges`` of capture time in order (int64 [n, 2], start and stop), ``rows`` of events,
    longest first, and ``tracks``.
    """

    ranges: npt.NDArray[np.int64] = field(default_factory=no_ranges)
    rows: tuple[int, ...] = ()
    tracks: tuple[int, ...] = ()


class Doing(NamedTuple):
    """An actor and its action (``waits for a lock at want (x.py:7)``): two stored texts, joined when shown."""

    actor: str
    action: str


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One problem.

    ``time_ns`` is its part of the budget, ``share`` that part of the range; 0 when its time counts elsewhere. For calls
    that wait for a busy GPU it is the length of the waits. ``gain_ns`` is an upper bound of what fixing it saves.
    ``needs`` says what to record for more detail, ``within`` the total of its cause in the budget, ``meanwhile`` what
    the actors did that were waited for. ``refutation`` says what would show that it is wrong; empty: that of its
    identifier (`refutations`).
    """

    id: str
    severity: Severity
    title: str
    text: str
    time_ns: int = 0
    share: float = 0.0
    gain_ns: int = 0
    where: Where = field(default_factory=Where)
    remedy: str
    chain: tuple[Hop, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)
    needs: str = ""
    meanwhile: tuple[Doing, ...] = ()
    within: str = ""
    refutation: str = ""

    @property
    def whole_text(self) -> str:
        """``text`` with ``within`` and ``meanwhile``, in English."""
        text = f"{self.text} {self.within}".strip()
        doings = "; ".join(f"{doing.actor} {doing.action}" for doing in self.meanwhile)
        return f"{text} Meanwhile: {doings}." if doings else text


_VISIBLE_RATIO = 0.005
"""Share of the time below which a speed-up rounds to 1.00."""
_VISIBLE_NS = 1_000
"""Profilers round times to this."""


def is_visible(gain_ns: float, whole_ns: float) -> bool:
    """Whether saving ``gain_ns`` of ``whole_ns`` would be noticeable; less than that is no finding."""
    return gain_ns > _VISIBLE_NS and gain_ns >= _VISIBLE_RATIO * whole_ns


UNEXPLAINED = frozenset(
    ("blocked", "condition", "other", "active", "between_ranges", "not_recorded", "no_launch")
)
"""Causes of a budget that explain nothing."""


@dataclass(frozen=True)
class BudgetPart:
    """The time of one cause."""

    cause: str
    title: str
    time_ns: int


@dataclass(frozen=True)
class BudgetStep:
    """A step of the range: its name, its event, and its time for each part of the budget, in the same order."""

    name: str
    row: int
    start_ns: int
    stop_ns: int
    times_ns: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Where the time of one actor went in a range. The parts add up to the range, those of a step to the step.

    ``waited_for`` is the actor's title, ``tracks`` are its tracks.
    """

    waited_for: str
    start_ns: int
    stop_ns: int
    parts: tuple[BudgetPart, ...]
    tracks: tuple[int, ...] = ()
    steps: tuple[BudgetStep, ...] = ()

    @property
    def unexplained_ratio(self) -> float:
        """The part of the range without an explanation, 0–1."""
        unknown = sum(part.time_ns for part in self.parts if part.cause in UNEXPLAINED)
        return unknown / max(self.stop_ns - self.start_ns, 1)


@dataclass(frozen=True)
class Diagnosis:
    """The budget of a range and its findings, largest gain first; ``reason`` and ``remedy`` when there is neither.

    ``notices`` are sentences about the range: what was left out of it, and why. ``where`` is the place with most
    time of the part `leading`.
    """

    budget: Budget | None
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    remedy: str = ""
    notices: tuple[str, ...] = ()
    where: Where = field(default_factory=Where)

    @property
    def leading(self) -> BudgetPart | None:
        """The part of the budget that a summary names: the largest; None without one.

        Waits for a core lead only where the first finding is about them: otherwise they come from other programs. Time
        that a sampler calls idle leads where there is nearly nothing else.
        """
        parts = self.budget.parts if self.budget is not None else ()
        if not parts:
            return None
        if parts[0].cause not in ("runnable", "idle") or (
            self.findings and self.findings[0].id in _ABOUT_CORES
        ):
            return parts[0]
        whole = sum(part.time_ns for part in parts)
        return next((part for part in parts[1:] if part.time_ns >= _LEADS * whole), parts[0])


_ABOUT_CORES = ("waits_for_core", "few_cores")
_LEADS = 0.1
"""A part below this share of the range never leads the summary."""
