"""What one rank of a job tells of itself: its steps with what their time went to, and its collectives."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from warpline.analysis.compare.causes import cause_title, gpu_time_use, has_gpu_work, host_time_use
from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Values
from warpline.analysis.framework.selection import SelectedEvents, View, join_events
from warpline.analysis.framework.tables import combine_keys, name_texts
from warpline.analysis.steps.step_breakdown import device_windows
from warpline.analysis.steps.step_groups import step_groups
from warpline.analysis.structure.gpus import gpus
from warpline.analysis.structure.kernels import communication_ids
from warpline.analysis.structure.steps import find_steps, missing_steps
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]
STEPS = "rank_steps"
COLLECTIVES = "rank_collectives"
_ONE_SIDED = re.compile(r"send|recv|broadcast|(?<!all)reduce(?!_?scatter)", re.IGNORECASE)
"""Communication that a rank may leave before the others have come."""


def _windows(view: View, options: Options) -> tuple[int, int, Int64Array, Int64Array, Int64Array] | None:
    """(process, rank, number, start, stop) of the steps of the process that has the most; None without steps."""
    found = find_steps(view, options)
    if not len(found):
        return None
    process, rank, places = max(step_groups(found), key=lambda group: (len(group[2]), -group[1], -group[0]))
    start, stop = device_windows(view, found, places)
    number = found.number[places]
    if len(np.unique(number)) < len(number):
        # Numbers that begin anew cannot tell steps apart.
        number = np.arange(len(number))
    return process, rank, number, start, stop


def rank_steps(view: View, options: Options) -> Table | NotRecorded:
    """Each step until the GPU has finished its work: when, how long, and the causes that its time is cut into.

    The causes are those of comparisons: the time of the busiest GPU, or of a thread where there is no GPU work.
    """
    windows = _windows(view, options)
    if windows is None:
        return missing_steps(options)
    process, rank, number, start, stop = windows
    length = stop - start
    # Gaps at the end have their cause behind it.
    around = view.restrict(int(start.min()), int(stop.max() + length.max()))
    if has_gpu_work(view):
        use = gpu_time_use(around, process, rank)
    else:
        use = host_time_use(around, None, process)
    columns = [
        Column("step", english("Step"), Role.ORDINAL, key=True),
        Column("start_ns", english("Start"), Role.TIME),
        Column("duration_ns", english("Duration"), Role.DURATION),
    ]
    data: dict[str, Values] = {
        "step": number,
        "start_ns": start - view.capture.span[0],
        "duration_ns": length,
    }
    for cause, times in use.parts(start, stop).items() if use is not None else ():
        columns.append(Column(f"{cause}_ns", cause_title(cause), Role.DURATION))
        data[f"{cause}_ns"] = times
    return Table(tuple(columns), data)


def rank_collectives(view: View, options: Options) -> Table | NotRecorded:
    """Each collective that no rank can leave before all have come: its step, name, place among those, start and end.

    ``place`` counts the collectives of a name within a step, by their starts. Times are since the capture began.
    """
    windows = _windows(view, options)
    if windows is None:
        return missing_steps(options)
    _, _, number, start, stop = windows
    events = _communication(view)
    events = events.take(np.argsort(events.start, kind="stable"))
    step = np.searchsorted(start, events.start, "right") - 1
    inside = (step >= 0) & (events.start < stop[np.maximum(step, 0)])
    events, step = events.take(inside), step[inside]
    if not len(events):
        return missing("gpu") if not has_gpu_work(view) else _no_collectives(view)
    origin = view.capture.span[0]
    return Table(
        (
            Column("step", english("Step"), Role.ORDINAL, key=True),
            Column("name", english("Name"), Role.NAME, key=True),
            Column("place", english("Place"), Role.ORDINAL, key=True),
            Column("start_ns", english("Start"), Role.TIME),
            Column("stop_ns", english("End"), Role.TIME),
        ),
        {
            "step": number[step],
            "name": name_texts(view, events.name),
            "place": _places(step, events.name),
            "start_ns": events.start - origin,
            "stop_ns": events.stop - origin,
        },
    )


def _no_collectives(view: View) -> NotRecorded:
    if not communication_ids(view).any():
        return NotRecorded(english("no kernel of communication was recorded"))
    return NotRecorded(
        english(
            "the communication in steps is point to point, or from one to all, which ranks leave one by one"
        )
    )


def _communication(view: View) -> SelectedEvents:
    wanted = communication_ids(view) & ~matching_names(view.capture, _ONE_SIDED)
    parts = []
    for gpu in gpus(view):
        for kind in ("kernel", "gpu_event"):
            if kind in view.capture.kinds:
                parts += [
                    batch.take(np.flatnonzero(wanted[batch.name])) for batch in view.batches(kind, gpu.tracks)
                ]
    return join_events(parts)


def _places(step: Int64Array, name: npt.NDArray[np.uint32]) -> Int64Array:
    """How many earlier rows have the same step and name; int64 (rows)."""
    key, _ = combine_keys(step, name)
    order = np.argsort(key, kind="stable")
    sorted_key = key[order]
    is_first = np.ones(len(key), bool)
    is_first[1:] = sorted_key[1:] != sorted_key[:-1]
    rows = np.arange(len(key))
    result = np.empty(len(key), np.int64)
    result[order] = rows - np.maximum.accumulate(np.where(is_first, rows, 0))
    return result
