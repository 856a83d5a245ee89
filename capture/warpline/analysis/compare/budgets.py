"""Where the difference between two captures lies: their time budgets, part by part."""

from __future__ import annotations

from dataclasses import dataclass

from warpline.analysis.findings.finding import Budget


@dataclass(frozen=True)
class PartChange:
    """A cause in both budgets, ns; 0 where one of them does not have it."""

    cause: str
    title: str
    a_ns: int
    b_ns: int

    @property
    def difference_ns(self) -> int:
        """What B took more than A."""
        return self.b_ns - self.a_ns


def compare_budgets(a: Budget, b: Budget) -> tuple[PartChange, ...]:
    """Every cause of either, the largest change first; the differences add up to that of the ranges' lengths."""
    in_a = {part.cause: part for part in a.parts}
    in_b = {part.cause: part for part in b.parts}
    changes = [
        PartChange(
            cause,
            (in_a.get(cause) or in_b[cause]).title,
            in_a[cause].time_ns if cause in in_a else 0,
            in_b[cause].time_ns if cause in in_b else 0,
        )
        for cause in dict.fromkeys([*in_a, *in_b])
    ]
    return tuple(sorted(changes, key=lambda change: (-abs(change.difference_ns), change.cause)))
