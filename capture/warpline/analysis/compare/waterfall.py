"""The difference of two stretches of time, cut into parts that add up to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.compare.alignment import Windows
from warpline.analysis.compare.causes import TimeUse, cause_title
from warpline.analysis.compare.names import match_names
from warpline.analysis.compare.variation import Variation, variation

Int64Array = npt.NDArray[np.int64]


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
    """One cause on both sides, ns, and who had its time, largest change first; they add up to it.

    ``variation`` is how its time varies from run to run or step to step, where either was repeated.
    """

    cause: str
    title: str
    a_ns: int
    b_ns: int
    contributors: tuple[Contributor, ...]
    variation: Variation | None = None

    @property
    def difference_ns(self) -> int:
        """What B took more than A."""
        return self.b_ns - self.a_ns

    @property
    def is_noise(self) -> bool:
        """Whether it differs, and no more than it varies."""
        return self.difference_ns != 0 and self.variation is not None and self.variation.is_noise


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


def varied_parts(
    parts: Sequence[TimePart], of: str, a: Mapping[str, Int64Array], b: Mapping[str, Int64Array]
) -> tuple[TimePart, ...]:
    """Parts with how their time varies; ``a`` and ``b`` are the times of each cause in all that ``of`` names (runs,
    steps), nothing where it was not repeated; a cause that is not there took no time.
    """
    if not a or not b:
        return tuple(parts)
    nothing_a, nothing_b = (np.zeros(len(next(iter(side.values()))), np.int64) for side in (a, b))
    return tuple(
        replace(part, variation=variation(of, a.get(part.cause, nothing_a), b.get(part.cause, nothing_b)))
        for part in parts
    )


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
