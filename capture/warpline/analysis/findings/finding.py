"""What a diagnosis is: a sentence with its cost, its place, the chain of who waited for whom, and a remedy."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


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

    def __str__(self) -> str:
        parts = [f"{self.function} ({self.file}:{self.line})" if self.file else self.function, self.thread]
        return " · ".join(part for part in parts if part)


@dataclass(frozen=True)
class Hop:
    """A link of the chain: what somebody did, or waited for, and where."""

    what: str
    where: Where


@dataclass(frozen=True)
class Finding:
    """One problem. ``time_ns`` is its part of the budget, ``share`` of the range, ``gain_ns`` what the range would lose
    at most without it; ``rows`` are events that show it, longest first; ``needs`` says what recording would sharpen it.
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
    rows: tuple[int, ...] = ()
    needs: str = ""


@dataclass(frozen=True)
class BudgetPart:
    """Time of one cause."""

    cause: str
    title: str
    time_ns: int


@dataclass(frozen=True)
class Budget:
    """Where the time of a range went, of whatever was waited for; the parts add up to the range."""

    waited_for: str
    start_ns: int
    stop_ns: int
    parts: tuple[BudgetPart, ...]


@dataclass(frozen=True)
class Diagnosis:
    """The budget of a range and what stands out in it, most gain first; ``reason`` says why there is neither."""

    budget: Budget | None
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    remedy: str = field(default="")
