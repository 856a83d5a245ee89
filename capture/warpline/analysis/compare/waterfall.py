"""Splits the difference of two stretches of time into parts that add up to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.compare.alignment import Windows
from warpline.analysis.compare.causes import TimeUse, cause_title
from warpline.analysis.compare.names import Key, match_names
from warpline.analysis.compare.variation import Variation, variation

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Contributor:
    """A name with its time in A and B, ns, and the ``rules`` that matched it between the sides.

    ``names_a`` and ``names_b`` are the names behind it where rules matched them.
    ``is_new``: only B has it; ``is_gone``: only A has it. Time without a name has an empty one.
    """

    name: str
    a_ns: int
    b_ns: int
    rules: tuple[str, ...] = ()
    is_new: bool = False
    is_gone: bool = False
    names_a: tuple[Key, ...] = ()
    names_b: tuple[Key, ...] = ()

    @property
    def difference_ns(self) -> int:
        """B − A."""
        return self.b_ns - self.a_ns


@dataclass(frozen=True, kw_only=True)
class TimePart:
    """One cause with its time on both sides, ns, and its contributors, largest change first, which add up to it.

    ``variation`` is its noise over runs or steps, where these were repeated.
    """

    cause: str
    title: str
    a_ns: int
    b_ns: int
    contributors: tuple[Contributor, ...]
    variation: Variation | None = None

    @property
    def difference_ns(self) -> int:
        """B − A."""
        return self.b_ns - self.a_ns

    @property
    def is_noise(self) -> bool:
        """Whether the difference is within noise."""
        return self.difference_ns != 0 and self.variation is not None and self.variation.is_noise


def waterfall(
    a: TimeUse, windows_a: Windows, b: TimeUse, windows_b: Windows, *, is_exact: bool = False
) -> tuple[TimePart, ...]:
    """The parts of both sides, largest change first; their differences add up to that of the windows."""
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
            named = contributors(names_a, a_ns, names_b, b_ns, is_exact=is_exact)
            parts.append(
                TimePart(cause=cause, title=cause_title(cause), a_ns=a_ns, b_ns=b_ns, contributors=named)
            )
    return tuple(sorted(parts, key=lambda part: (-abs(part.difference_ns), part.cause)))


def varied_parts(
    parts: Sequence[TimePart], of: str, a: Mapping[str, Int64Array], b: Mapping[str, Int64Array]
) -> tuple[TimePart, ...]:
    """The parts with their noise. ``a`` and ``b`` are the times of each cause over ``of`` (runs or steps), empty
    without repetition; a missing cause took no time.
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
    """The names of both sides, matched, with their times; the rest of ``a_ns`` and ``b_ns`` has an empty name."""
    matched = [
        Contributor(
            name=match.key[0],
            a_ns=sum(a[key[0]] for key in match.a),
            b_ns=sum(b[key[0]] for key in match.b),
            rules=match.rules,
            is_new=not match.a,
            is_gone=not match.b,
            names_a=match.a if match.rules else (),
            names_b=match.b if match.rules else (),
        )
        for match in match_names([(name,) for name in a], [(name,) for name in b], is_exact=is_exact)
    ]
    rest = Contributor(name="", a_ns=a_ns - sum(a.values()), b_ns=b_ns - sum(b.values()))
    if rest.a_ns or rest.b_ns:
        matched.append(rest)
    return tuple(sorted(matched, key=lambda c: (-abs(c.difference_ns), -max(c.a_ns, c.b_ns), c.name)))
