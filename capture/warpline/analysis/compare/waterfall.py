"""The difference of two stretches of time, cut into parts that add up to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warpline.analysis.compare.alignment import Windows
from warpline.analysis.compare.causes import TimeUse, cause_title
from warpline.analysis.compare.names import match_names


@dataclass(frozen=True)
class Contributor:
    """Who had time of a cause: ns in A and in B; ``rules`` say by what its names were matched.

    ``is_new`` where A has no such name, ``is_gone`` where B has none. What nobody is named for has an empty name.
    """

    name: str
    a_ns: int
    b_ns: int
    rules: tuple[str, ...] = ()
    is_new: bool = False
    is_gone: bool = False

    @property
    def difference_ns(self) -> int:
        """What B took more than A."""
        return self.b_ns - self.a_ns


@dataclass(frozen=True)
class TimePart:
    """One cause on both sides, ns, and who had its time, largest change first; they add up to it."""

    cause: str
    title: str
    a_ns: int
    b_ns: int
    contributors: tuple[Contributor, ...]

    @property
    def difference_ns(self) -> int:
        """What B took more than A."""
        return self.b_ns - self.a_ns


def waterfall(
    a: TimeUse, windows_a: Windows, b: TimeUse, windows_b: Windows, *, is_exact: bool = False
) -> tuple[TimePart, ...]:
    """Every cause that either side has, the largest change first; their differences add up to the windows' own."""
    in_a, in_b = (
        {cause: int(times.sum()) for cause, times in use.parts(windows.start, windows.stop).items()}
        for use, windows in ((a, windows_a), (b, windows_b))
    )
    parts = []
    for cause in dict.fromkeys([*in_a, *in_b]):
        a_ns, b_ns = in_a.get(cause, 0), in_b.get(cause, 0)
        if a_ns or b_ns:
            names_a = a.contributors(cause, windows_a.start, windows_a.stop)
            names_b = b.contributors(cause, windows_b.start, windows_b.stop)
            found = contributors(names_a, a_ns, names_b, b_ns, is_exact=is_exact)
            parts.append(TimePart(cause, cause_title(cause), a_ns, b_ns, found))
    return tuple(sorted(parts, key=lambda part: (-abs(part.difference_ns), part.cause)))


def contributors(
    a: Mapping[str, int], a_ns: int, b: Mapping[str, int], b_ns: int, *, is_exact: bool = False
) -> tuple[Contributor, ...]:
    """Names of both sides with their times, matched; what they leave of ``a_ns`` and ``b_ns`` has no name."""
    found = [
        Contributor(
            match.key[0],
            sum(a[key[0]] for key in match.a),
            sum(b[key[0]] for key in match.b),
            match.rules,
            not match.a,
            not match.b,
        )
        for match in match_names([(name,) for name in a], [(name,) for name in b], is_exact=is_exact)
    ]
    rest = Contributor("", a_ns - sum(a.values()), b_ns - sum(b.values()))
    if rest.a_ns or rest.b_ns:
        found.append(rest)
    return tuple(sorted(found, key=lambda one: (-abs(one.difference_ns), -max(one.a_ns, one.b_ns), one.name)))
