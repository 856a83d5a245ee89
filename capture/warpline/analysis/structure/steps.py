"""Finds the steps of a capture and the phases in each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded
from warpline.analysis.framework.selected.selected_events import SelectedEvents, join_events
from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.structure.event_types import (
    HOST_KINDS,
    HOST_TYPES,
    event_types,
    step_pattern,
    type_code,
)
from warpline.analysis.structure.overlap import Intervals, UnionOfPortions
from warpline.i18n import tr

Int64Array = npt.NDArray[np.int64]
STEP_KINDS = ("phase", "range", "operator", "other")
_NUMBER = re.compile(r"(\d+)(?!.*\d)")


@dataclass(frozen=True, eq=False, kw_only=True)
class Steps:
    """Steps by rank, process and time; arrays of equal length.

    ``row`` event rows, ``start``/``stop`` capture ns, ``name`` string ids, ``number`` the number in the name (without
    one, steps of each process count from 0), ``process`` index (−1: none), ``rank`` (−1: none).
    """

    row: Int64Array
    start: Int64Array
    stop: Int64Array
    name: npt.NDArray[np.uint32]
    number: Int64Array
    process: Int64Array
    rank: Int64Array

    def __len__(self) -> int:
        return len(self.row)

    def take(self, index: npt.NDArray[Any]) -> Steps:
        """The steps at an index or mask."""
        return Steps(**{item.name: getattr(self, item.name)[index] for item in fields(self)})

    def around(self, process: int | None, rank: int | None) -> npt.NDArray[np.bool_]:
        """Which steps a track of this process and rank can lie in; None, or a step's −1, matches all."""
        own = np.ones(len(self), bool)
        if rank is not None:
            own &= (self.rank == rank) | (self.rank < 0)
        if process is not None:
            own &= (self.process == process) | (self.process < 0)
        return own


def find_steps(view: View, options: Options) -> Steps:
    """The steps that overlap the selected range, with their full times.

    A step recorded twice (such as range and operator) counts once.
    """
    pattern = step_pattern(options.step)
    wanted = matching_names(view.capture, pattern)
    # Steps may lie on other host tracks than the selected ones.
    chosen = view.selection
    open_view = view.other(
        Selection(chosen.start_ns, chosen.stop_ns, ranks=_selected_ranks(view), processes=chosen.processes),
    )
    tracks = frozenset(t.index for t in view.capture.tracks if t.device is None)
    parts: list[SelectedEvents] = []
    for kind in STEP_KINDS if wanted.any() else ():
        parts += open_view.batches(kind, tracks, named=wanted)
    events = join_events(parts)
    track = view.track_of(events.row) if len(events) else np.empty(0, np.int64)
    process, rank = (view.track_values(attribute)[track] for attribute in ("process", "rank"))
    order = np.lexsort((-events.stop, events.start, process, rank))
    events, process, rank = events.take(order), process[order], rank[order]
    same = np.zeros(len(events), bool)
    if len(events):
        # The same step on several tracks overlaps in time: keep the outermost.
        same[1:] = (
            (process[1:] == process[:-1])
            & (rank[1:] == rank[:-1])
            & (events.name[1:] == events.name[:-1])
            & (events.start[1:] < events.stop[:-1])
        )
    keep = ~same
    events, process, rank = events.take(keep), process[keep], rank[keep]
    return Steps(
        row=events.row,
        start=events.start,
        stop=events.stop,
        name=events.name,
        number=_numbers(view, events, process, rank),
        process=process,
        rank=rank,
    )


def _selected_ranks(view: View) -> frozenset[int] | None:
    """The ranks of the selected tracks or threads; None for all."""
    chosen = view.selection
    if chosen.ranks is not None or (chosen.tracks is None and chosen.threads is None):
        return chosen.ranks
    tracks = [view.capture.tracks[index] for index in view.tracks]
    if chosen.threads is not None:
        tracks = [track for track in tracks if track.thread is not None]
    ranks = frozenset(track.rank for track in tracks if track.rank is not None)
    return ranks if ranks and all(track.rank is not None for track in tracks) else None


def missing_steps(options: Options) -> NotRecorded:
    """Why there are no steps: not recorded, or no range has the name given by ``--step``."""
    if not options.step:
        return missing("phase")
    return NotRecorded(
        tr("no range is named {name!r}", name=options.step),
        tr("warpline stats --report nvtx_sum (or operator) lists the names; /…/ is a pattern"),
    )


def _numbers(view: View, events: SelectedEvents, process: Int64Array, rank: Int64Array) -> Int64Array:
    numbers = []
    for text in view.capture.strings.get(events.name.tolist()):
        match = _NUMBER.search(text)
        numbers.append(int(match[1]) if match and len(match[1]) < 18 else -1)
    result = np.array(numbers, np.int64)
    if len(result) and (result < 0).any():
        # If names lack numbers, count the steps of each process from 0.
        change = np.ones(len(result), bool)
        change[1:] = (process[1:] != process[:-1]) | (rank[1:] != rank[:-1])
        first = np.maximum.accumulate(np.where(change, np.arange(len(result)), 0))
        result = np.arange(len(result)) - first
    return result


def phase_intervals(view: View, phase: str, process: int, rank: int) -> Intervals:
    """The union of the events of a Paddle type over the threads of a process and rank (−1: all)."""
    return phase_unions(view, [(phase,)], process, rank)[0]


def phase_unions(view: View, wanted: Sequence[tuple[str, ...]], process: int, rank: int) -> list[Intervals]:
    """`phase_intervals` of groups of Paddle types, which must not share a type."""
    group_of = np.full(len(HOST_TYPES), -1, np.int64)
    for number, phases in enumerate(wanted):
        group_of[[type_code(phase) for phase in phases]] = number
    tracks = frozenset(
        t.index
        for t in view.capture.tracks
        if t.device is None
        and (process < 0 or t.process is None or t.process == process)
        and (rank < 0 or t.rank is None or t.rank == rank)
    )
    calls = group_of[type_code("CudaRuntime")]
    unions = [UnionOfPortions() for _ in wanted]
    for kind in HOST_KINDS:
        is_wanted = calls >= 0 if kind == "cuda_api" else (group_of >= 0).sum() > (calls >= 0)
        if kind not in view.capture.kinds or kind == "python" or not is_wanted:
            continue
        for events in view.batches(kind, tracks):
            group = group_of[event_types(view, kind, events)]
            if kind != "cuda_api":
                group[group == calls] = -1
            for number in np.unique(group[group >= 0]).tolist():
                here = group == number
                unions[number].add(events.start[here], events.stop[here])
    return [union.intervals() for union in unions]


def mean_outliers(durations: Int64Array) -> tuple[float, npt.NDArray[np.bool_]]:
    """The median, and which durations exceed it by 3 scaled median deviations and by 10 %.

    1.4826 times the median absolute deviation estimates the standard deviation, robustly against outliers.
    """
    if not len(durations):
        return 0.0, np.zeros(0, bool)
    median = float(np.median(durations))
    spread = 1.4826 * float(np.median(np.abs(durations - median)))
    return median, (durations > median + 3 * spread) & (durations > 1.1 * median)
