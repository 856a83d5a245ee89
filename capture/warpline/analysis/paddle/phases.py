"""Times of steps and of the phases inside them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nesting import outermost, window_sums, windows
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.selected.selected_events import SelectedEvents, join_events
from warpline.analysis.framework.selection import View
from warpline.analysis.structure.event_types import event_types, type_code
from warpline.analysis.structure.launches import threads_of_tracks
from warpline.analysis.structure.projection import LaunchesByThread
from warpline.analysis.structure.steps import find_steps
from warpline.i18n import english
from warpline.model.intervals import union_ns

Int64Array = npt.NDArray[np.int64]
OF_STEPS = english("the time of all steps")
OF_RANGE = english("the selected range")


def step_time(view: View, options: Options) -> int:
    """Sum over ranks of the union of their steps in the selected range (ns); 0 without steps."""
    return sum(step_times(view, options).values())


def step_times(view: View, options: Options) -> dict[int, int]:
    """`step_time` by rank (−1: steps of no rank)."""
    steps = find_steps(view, options)
    start, stop = np.maximum(steps.start, view.start_ns), np.minimum(steps.stop, view.stop_ns)
    return {
        rank: union_ns(start[steps.rank == rank], stop[steps.rank == rank])
        for rank in np.unique(steps.rank).tolist()
    }


def step_reference(view: View, options: Options) -> tuple[int, str]:
    """The whole that ratios refer to, in ns, and its title: the time of all steps, else the selected range."""
    steps = find_steps(view, options)
    inside = int((np.minimum(steps.stop, view.stop_ns) - np.maximum(steps.start, view.start_ns)).sum())
    return (inside, OF_STEPS) if inside else (view.duration_ns, OF_RANGE)


def tracks_of_host(view: View) -> frozenset[int]:
    """All tracks without a GPU."""
    return frozenset(t.index for t in view.capture.tracks if t.device is None)


def tracks_by_rank(view: View, tracks: frozenset[int]) -> list[frozenset[int]]:
    """The selected tracks of each rank, and those without one: unions are separate for each rank."""
    ranks: dict[int | None, set[int]] = {}
    for index in tracks & view.tracks:
        ranks.setdefault(view.capture.tracks[index].rank, set()).add(index)
    return [frozenset(ranks[rank]) for rank in sorted(ranks, key=lambda rank: -1 if rank is None else rank)]


def phase_events(view: View, phase: str, tracks: frozenset[int]) -> SelectedEvents:
    """The outermost events of a phase on each thread; a layer's forward inside the model's does not count again."""
    code = type_code(phase)
    parts = []
    for kind in ("phase", "range", "operator", "other"):
        if kind in view.capture.kinds:
            parts += [
                events.take(event_types(view, kind, events) == code) for events in view.batches(kind, tracks)
            ]
    events = join_events(parts)
    if not len(events):
        return events
    thread = threads_of_tracks(view)[view.track_of(events.row)]
    return events.take(outermost(thread, events.start, events.stop))


def phase_times(
    view: View, phase: str, tracks: frozenset[int], launches: LaunchesByThread
) -> tuple[Int64Array, Int64Array]:
    """CPU time in the range and launched GPU time of each event of a phase (ns)."""
    events = phase_events(view, phase, tracks)
    gpu = np.zeros(len(events), np.int64)
    thread = threads_of_tracks(view)[view.track_of(events.row)] if len(events) else gpu
    for number in np.unique(thread).tolist():
        here = np.flatnonzero(thread == number)
        own = launches.of_thread(number)
        first, last = windows(own.call_start, events.start[here], events.stop[here])
        gpu[here] = window_sums(own.work_ns, first, last)
    return events.inside, gpu
