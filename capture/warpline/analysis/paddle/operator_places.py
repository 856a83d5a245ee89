"""Operators by position in the step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.loops.lane_times import times_by_name
from warpline.analysis.framework.loops.nested import BY_CALL
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import combine_keys, group_order
from warpline.analysis.paddle.operator_groups import compiled_groups, summed
from warpline.analysis.paddle.operator_table import operator_lines, operator_table, operators_of
from warpline.analysis.structure.host_events import threads_with_events
from warpline.analysis.structure.steps import find_steps

Int64Array = npt.NDArray[np.int64]
_MOST_LINES, _LEAST_PLACES = 200_000, 100
"""Limits of the number of positions: enough for a network, few enough for a capture without steps."""


def operator_places(view: View, options: Options) -> Table | NotRecorded:
    """The calls of each operator, numbered within the step: conv2d #0, conv2d #1 …"""
    if not view.has("operator"):
        return missing("operator")
    steps = find_steps(view, options)
    names = np.zeros(max(len(view.capture.strings), 1), bool)
    for name, _ in times_by_name(view, "operator"):
        names[name] = True
    last = max(_MOST_LINES // max(int(names.sum()), 1), _LEAST_PLACES)

    def steps_of(track: int) -> tuple[Int64Array, Int64Array]:
        chosen = view.capture.tracks[track]
        own = np.flatnonzero(steps.around(chosen.process, chosen.rank))
        own = own[np.argsort(steps.start[own], kind="stable")]
        return steps.start[own], steps.stop[own]

    parts = compiled_groups(
        view, "Operator", BY_CALL, by_thread=options.by_thread, steps_of=steps_of, last=last
    )
    if parts is None:
        parts = []
        for thread_events in threads_with_events(view):
            events = operators_of(thread_events)
            if len(events):
                around = steps_of(int(view.track_of(events.row[:1])[0]))
                place = np.minimum(occurrence(events.name, events.start, events.stop, *around), last)
                parts += summed([operator_lines(view, events, below, options) for below in ((place,), ())])
    is_cut = any(bool((part.path[1] >= last).any()) for part in parts)
    table = operator_table(view, parts, options, None, "Operators by position in the step")
    if not is_cut:
        return table
    note = f"#{last} holds all later calls too; calls outside steps are numbered over the whole range."
    return replace(table, notes=(*table.notes, note))


def occurrence(
    names: npt.NDArray[np.uint32],
    starts: Int64Array,
    stops: Int64Array,
    step_starts: Int64Array,
    step_stops: Int64Array,
) -> Int64Array:
    """The number of events of the same name that began before each one in its step, or outside all steps.

    Among equal starts, longer events come first. Steps are in time order.
    """
    place = np.searchsorted(step_starts, starts, "right") - 1
    inside = place >= 0
    if len(step_starts):
        inside &= starts < step_stops[np.maximum(place, 0)]
    step = np.where(inside, place, -1)
    key, _ = combine_keys(names, step)
    by_start = np.lexsort((-stops, starts))
    ordered = by_start[group_order(key[by_start])]
    grouped = key[ordered]
    first = np.ones(len(grouped), bool)
    first[1:] = grouped[1:] != grouped[:-1]
    begin = np.maximum.accumulate(np.where(first, np.arange(len(grouped)), 0))
    result = np.empty(len(names), np.int64)
    result[ordered] = np.arange(len(grouped)) - begin
    return result


report = ReportSpec(
    "operator_places",
    "Operators by position in the step",
    "framework",
    operator_places,
    needs=("operator",),
    place=207,
)
