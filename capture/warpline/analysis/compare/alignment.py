"""Which part of one capture stands against which of another: steps, ranges, or all from the start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.scope import warm_up
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.selection import View
from warpline.analysis.steps.step_groups import step_groups
from warpline.analysis.structure.steps import Steps, find_steps
from warpline.i18n import tr
from warpline.model import UsageError

Int64Array = npt.NDArray[np.int64]


class Align(StrEnum):
    """What stands against what."""

    AUTO = "auto"
    """Steps where both sides have steps, otherwise from the start."""
    STEP = "step"
    RANGE = "range"
    """A range of time of each, or the ranges of one name."""
    START = "start"
    """The whole captures."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Stretches of one capture that are compared, in the order of time: ``start``/``stop`` capture ns, ``number`` what
    a person calls each (int64 [n]).

    ``left_out`` steps at the beginning were warming up. ``process`` and ``rank`` are those of the steps (−1: all),
    ``thread`` the one they stand on (None: not told).
    """

    start: Int64Array
    stop: Int64Array
    number: Int64Array
    left_out: int = 0
    process: int = -1
    rank: int = -1
    thread: int | None = None

    def __len__(self) -> int:
        return len(self.start)

    @property
    def length(self) -> Int64Array:
        """ns of each."""
        return self.stop - self.start

    def take(self, index: Sequence[int] | Int64Array) -> Windows:
        """Some of them."""
        at = np.asarray(index, np.int64)
        return Windows(
            self.start[at],
            self.stop[at],
            self.number[at],
            self.left_out,
            self.process,
            self.rank,
            self.thread,
        )

    def median(self) -> int:
        """The place of the one of median length: of an even number the shorter of the two in the middle."""
        return int(np.argsort(self.length, kind="stable")[(len(self) - 1) // 2])


def whole(view: View) -> Windows:
    """All of a view as one window."""
    return Windows(
        np.array([view.start_ns], np.int64), np.array([view.stop_ns], np.int64), np.zeros(1, np.int64)
    )


def step_windows(view: View, name: str | None = None) -> Windows | None:
    """The steps of a view, or the ranges of a name; None where there are none.

    Of several processes or ranks the first of those with the most steps. Steps that warm up are left out.
    """
    steps = find_steps(view, Options(step=name))
    if not len(steps):
        return None
    process, rank, places = max(step_groups(steps), key=lambda group: (len(group[2]), -group[1], -group[0]))
    skip = 0 if name else warm_up(steps.stop[places] - steps.start[places])
    kept = places[skip:]
    order = kept[np.argsort(steps.start[kept], kind="stable")]
    start, stop = _disjoint(steps.start[order], steps.stop[order])
    return Windows(start, stop, steps.number[order], skip, process, rank, _thread_of(view, steps, order))


def _disjoint(start: Int64Array, stop: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Ranges that reach into each other begin where the one before ends: no time counts twice."""
    reach = np.maximum.accumulate(stop)
    begin = start.copy()
    begin[1:] = np.maximum(start[1:], reach[:-1])
    return begin, np.maximum(stop, begin)


def _thread_of(view: View, steps: Steps, places: Int64Array) -> int | None:
    track = view.capture.tracks[int(view.track_of(steps.row[places[:1]])[0])]
    return track.thread


def pair_steps(a: Windows, b: Windows) -> tuple[Windows, Windows]:
    """The steps both have: of equal number where they share numbers, else one after the other."""
    common, in_a, in_b = np.intersect1d(a.number, b.number, return_indices=True)
    is_unique = len(np.unique(a.number)) == len(a) and len(np.unique(b.number)) == len(b)
    if is_unique and 2 * len(common) >= min(len(a), len(b)):
        return a.take(in_a), b.take(in_b)
    count = min(len(a), len(b))
    return a.take(np.arange(count)), b.take(np.arange(count))


def numbered(windows: Windows, number: int, path: str) -> Windows:
    """The step of a number alone. Raises UsageError when there is none; ``path`` is what the user calls the capture."""
    places = np.flatnonzero(windows.number == number)
    if not len(places):
        first, last = int(windows.number.min()), int(windows.number.max())
        raise UsageError(
            tr(
                "{path}: no step {step} among those compared, {first} to {last}",
                path=path,
                step=number,
                first=first,
                last=last,
            )
        )
    return windows.take(places[:1])


def windows_of(view: View, align: Align, name: str | None) -> Windows | None:
    """What of a view is compared when it is aligned so; None where it has no such steps or ranges."""
    if align is Align.STEP:
        return step_windows(view)
    return step_windows(view, name) if name else whole(view)


def align_views(
    views: Sequence[View], wanted: Align, *, name: str | None = None, has_range: bool = False
) -> tuple[Align, list[Windows]]:
    """How captures are aligned, and the windows of each.

    ``has_range``: somebody chose the part of time, which then stands as it is unless steps are asked for.

    Raises UsageError when a capture does not have what was asked for.
    """
    if wanted is Align.AUTO:
        wanted = Align.RANGE if name or has_range else Align.STEP
        found = [windows_of(view, wanted, name) for view in views]
        if wanted is Align.STEP and any(windows is None for windows in found):
            wanted = Align.START
    if wanted is Align.RANGE and not (name or has_range):
        raise UsageError(tr("which range? give --range, --range-a and --range-b, or --range-name"))
    result = []
    for view in views:
        windows = windows_of(view, wanted, name)
        if windows is None:
            what = tr("no range is called {name!r}", name=name) if name else tr("no steps were recorded")
            raise UsageError(tr("{path}: {what}", path=view.capture.path, what=what))
        result.append(windows)
    return wanted, result
