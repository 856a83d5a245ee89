"""Chooses the parts of captures to compare: steps, ranges, or everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    """How captures are aligned."""

    AUTO = "auto"
    """Steps if both sides have them, else the whole captures."""
    STEP = "step"
    RANGE = "range"
    """A time range of each capture, or the ranges of one name."""
    START = "start"
    """The whole captures."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Windows:
    """Stretches of one capture to compare, in time order: ``start``/``stop`` capture ns and step ``number``, int64 [n].

    ``left_out`` counts the warm-up steps before them. ``process`` and ``rank`` are those of the steps (−1: all),
    ``thread`` is their thread (None: unknown).
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
        """The length of each window, ns."""
        return self.stop - self.start

    def take(self, index: Sequence[int] | Int64Array) -> Windows:
        """A subset."""
        at = np.asarray(index, np.int64)
        return replace(self, start=self.start[at], stop=self.stop[at], number=self.number[at])

    def median(self) -> int:
        """The index of the window of median length; with an even number, the shorter of the middle two."""
        return int(np.argsort(self.length, kind="stable")[(len(self) - 1) // 2])


def whole(view: View) -> Windows:
    """All of a view as one window."""
    return Windows(
        start=np.array([view.start_ns], np.int64),
        stop=np.array([view.stop_ns], np.int64),
        number=np.zeros(1, np.int64),
    )


def step_windows(view: View, name: str | None = None) -> Windows | None:
    """The steps of a view, or its ranges of a name, without warm-up; None without any.

    With several processes or ranks, the steps of the one with the most.
    """
    steps = find_steps(view, Options(step=name))
    if not len(steps):
        return None
    process, rank, places = max(step_groups(steps), key=lambda group: (len(group[2]), -group[1], -group[0]))
    skip = 0 if name else warm_up(steps.stop[places] - steps.start[places])
    steady = places[skip:]
    order = steady[np.argsort(steps.start[steady], kind="stable")]
    start, stop = _disjoint(steps.start[order], steps.stop[order])
    return Windows(
        start=start,
        stop=stop,
        number=steps.number[order],
        left_out=skip,
        process=process,
        rank=rank,
        thread=_thread_of(view, steps, order),
    )


def _disjoint(start: Int64Array, stop: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Overlapping ranges begin where the previous one ends, so that no time counts twice."""
    reach = np.maximum.accumulate(stop)
    begin = start.copy()
    begin[1:] = np.maximum(start[1:], reach[:-1])
    return begin, np.maximum(stop, begin)


def _thread_of(view: View, steps: Steps, places: Int64Array) -> int | None:
    track = view.capture.tracks[int(view.track_of(steps.row[places[:1]])[0])]
    return track.thread


def pair_steps(a: Windows, b: Windows) -> tuple[Windows, Windows]:
    """Pair the steps of both sides by number where most numbers are shared, else in order."""
    common, in_a, in_b = np.intersect1d(a.number, b.number, return_indices=True)
    is_unique = len(np.unique(a.number)) == len(a) and len(np.unique(b.number)) == len(b)
    if is_unique and 2 * len(common) >= min(len(a), len(b)):
        return a.take(in_a), b.take(in_b)
    count = min(len(a), len(b))
    return a.take(np.arange(count)), b.take(np.arange(count))


def numbered(windows: Windows, number: int, path: str) -> Windows:
    """The step with a number. Raises UsageError without one; ``path`` names the capture in the message."""
    places = np.flatnonzero(windows.number == number)
    if not len(places):
        first, last = int(windows.number.min()), int(windows.number.max())
        raise UsageError(
            tr(
                "{path}: there is no step {step}; the compared steps are {first} to {last}",
                path=path,
                step=number,
                first=first,
                last=last,
            )
        )
    return windows.take(places[:1])


def windows_of(view: View, align: Align, name: str | None) -> Windows | None:
    """The windows of a view for an alignment; None without such steps or ranges."""
    if align is Align.STEP:
        return step_windows(view)
    return step_windows(view, name) if name else whole(view)


def align_views(
    views: Sequence[View], wanted: Align, *, name: str | None = None, has_range: bool = False
) -> tuple[Align, list[Windows]]:
    """The alignment of some captures, and the windows of each.

    ``has_range``: the user chose a time range, which is compared as a whole unless steps are asked for.

    Raises UsageError when a capture lacks the steps or ranges asked for.
    """
    if wanted is Align.AUTO:
        wanted = Align.RANGE if name or has_range else Align.STEP
        candidates = [windows_of(view, wanted, name) for view in views]
        if wanted is Align.STEP and any(windows is None for windows in candidates):
            wanted = Align.START
    if wanted is Align.RANGE and not (name or has_range):
        raise UsageError(tr("no range given: use --range, --range-a and --range-b, or --range-name"))
    result = []
    for view in views:
        windows = windows_of(view, wanted, name)
        if windows is None:
            reason = tr("no range is called {name!r}", name=name) if name else tr("no steps were recorded")
            raise UsageError(tr("{path}: {reason}", path=view.capture.path, reason=reason))
        result.append(windows)
    return wanted, result
