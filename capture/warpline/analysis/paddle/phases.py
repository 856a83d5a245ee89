"""Time of steps, and the phases inside them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nesting import outermost, window_sums, windows
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.selection import Events, View, join_events
from warpline.analysis.structure.event_types import event_types, type_code
from warpline.analysis.structure.launches import Launches, threads_of_tracks
from warpline.analysis.structure.steps import find_steps
from warpline.i18n import english
from warpline.model.intervals import merge_intervals

Int64Array = npt.NDArray[np.int64]
OF_STEPS = english("the time of all steps")
OF_RANGE = english("the selected range")


def step_time(view: View, options: Options) -> int:
    """Length of the union of all steps in the selected range; 0 without steps."""
    found = find_steps(view, options)
    starts, stops = merge_intervals(
        np.maximum(found.start, view.start_ns), np.minimum(found.stop, view.stop_ns)
    )
    return int((stops - starts).sum())


def tracks_of_host(view: View) -> frozenset[int]:
    """All tracks that belong to no GPU."""
    return frozenset(t.index for t in view.capture.tracks if t.device is None)


def phase_events(view: View, phase: str, tracks: frozenset[int]) -> Events:
    """The events of a phase; a layer's forward inside the model's is part of it and not counted again."""
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
    view: View, phase: str, tracks: frozenset[int], launches: Launches
) -> tuple[Int64Array, Int64Array]:
    """CPU time in the range and launched GPU time of every event of a phase."""
    events = phase_events(view, phase, tracks)
    gpu = np.zeros(len(events), np.int64)
    thread = threads_of_tracks(view)[view.track_of(events.row)] if len(events) else gpu
    for number in np.unique(thread).tolist():
        here = np.flatnonzero(thread == number)
        own = launches.of_thread(number)
        first, last = windows(own.call_start, events.start[here], events.stop[here])
        gpu[here] = window_sums(own.work_ns, first, last)
    return events.inside, gpu
