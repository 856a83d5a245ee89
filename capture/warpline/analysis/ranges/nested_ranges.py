"""Ranges with their nesting and the GPU work launched inside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.nesting import flat_parents, levels, uncovered_times
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.report import NotRecorded, Texts, Values
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import masked_below_zero
from warpline.analysis.framework.thread_columns import pid_tid_data
from warpline.analysis.structure.launches import has_launches
from warpline.analysis.structure.nested.nested_sums import launching_events
from warpline.analysis.structure.projection import Projection, ThreadLanes, lanes_by_thread, project

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class NestedRanges:
    """Ranges of all selected tracks by thread and time, nested across the domains of a thread.

    Arrays of equal length: ``row``, ``index`` (in the table of ranges), ``start``, ``stop`` (capture ns), ``thread``,
    ``level`` (0: outermost), ``parent`` (index in these arrays, −1 for none), ``children`` (number of direct children),
    ``own`` (ns without children), and of the GPU work launched inside: ``work`` operations, ``work_start``,
    ``work_stop``.
    """

    row: Int64Array
    index: Int64Array
    start: Int64Array
    stop: Int64Array
    thread: Int64Array
    level: Int64Array
    parent: Int64Array
    children: Int64Array
    own: Int64Array
    work: Int64Array
    work_start: Int64Array
    work_stop: Int64Array


def _nested(thread_lanes: ThreadLanes) -> dict[str, Int64Array]:
    """The columns of `NestedRanges` for one thread."""
    events = thread_lanes.events
    parent = flat_parents(events)
    level = levels(parent)
    start, stop = events.start, events.stop
    projection: Projection = project(thread_lanes.launches, start, stop)
    # By time, parents before children.
    order = np.lexsort((level, start))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    columns = {
        "row": events.row,
        "start": start,
        "stop": stop,
        "level": level,
        "parent": np.where(parent >= 0, place[parent], -1),
        "children": np.bincount(parent[parent >= 0], minlength=len(parent)).astype(np.int64),
        "own": uncovered_times(start, stop, parent),
        "work": projection.count,
        "work_start": projection.start,
        "work_stop": projection.stop,
    }
    columns = {name: values[order] for name, values in columns.items()}
    columns["thread"] = np.full(len(order), thread_lanes.thread, np.int64)
    return columns


def all_ranges(view: View) -> NestedRanges:
    parts: list[dict[str, Int64Array]] = []
    filled = 0
    for thread_lanes in lanes_by_thread(view, ("range",)):
        columns = _nested(thread_lanes)
        columns["parent"] = np.where(columns["parent"] >= 0, columns["parent"] + filled, -1)
        filled += len(columns["row"])
        parts.append(columns)
    joined = {
        name: np.concatenate([np.empty(0, np.int64), *[part[name] for part in parts]])
        for name in NestedRanges.__dataclass_fields__
        if name != "index"
    }
    index = view.capture.kinds["range"].indices_of(joined["row"])
    return NestedRanges(index=index, **joined)


def launching_ranges(view: View) -> Iterator[Mapping[str, Int64Array] | npt.NDArray[Any]]:
    """The ranges of each thread that launched GPU work, as columns of `LAUNCHERS`, in the order of `all_ranges`."""
    done = 0
    for launchers in launching_events(view, "range"):
        if launchers is None:
            break
        done += 1
        yield launchers
    else:
        return
    for thread_lanes in islice(lanes_by_thread(view, ("range",)), done, None):
        columns = _nested(thread_lanes)
        columns["works"] = columns["work"]
        columns["index"] = view.capture.kinds["range"].indices_of(columns["row"])
        has_work = columns["works"] > 0
        yield {name: values[has_work] for name, values in columns.items()}


DEEPEST_STACK = 64
"""Ranges of a stack, and levels of an indent, that are written: deep stacks would take the square of their depth."""
THREAD_COLUMNS = (Column("pid", "PID", Role.ID), Column("tid", "TID", Role.ID))
NESTING_COLUMNS = (
    Column("level", "Lvl", Role.NUMBER),
    Column("children", "NumChild", Role.COUNT),
    Column("range_id", "RangeId", Role.ID),
    Column("parent_id", "ParentId", Role.ID),
    Column("range_stack", "RangeStack", Role.TEXT),
)


def nesting_data(view: View, ranges: NestedRanges, index: Int64Array) -> dict[str, Values]:
    """The data of `THREAD_COLUMNS` and `NESTING_COLUMNS` for some ranges."""
    return {
        **pid_tid_data(view, ranges.thread[index]),
        "level": ranges.level[index],
        "children": ranges.children[index],
        "range_id": index,
        "parent_id": masked_below_zero(ranges.parent[index]),
        "range_stack": Texts(index, stack_of(ranges)),
    }


def stack_of(ranges: NestedRanges) -> Callable[[int], str]:
    """Returns the ids of a range and its ancestors, such as ":0:3:7"; of a deep one the innermost, ":…:6:7"."""

    def stack(index: int) -> str:
        path: list[int] = []
        while index >= 0 and len(path) < DEEPEST_STACK:
            path.append(index)
            index = int(ranges.parent[index])
        return (":…" if index >= 0 else "") + "".join(f":{i}" for i in reversed(path))

    return stack


def projected_ranges(view: View) -> NestedRanges | NotRecorded:
    """`all_ranges`, or why they cannot be projected."""
    return why_not_projected(view) or all_ranges(view)


def why_not_projected(view: View) -> NotRecorded | None:
    """Why ranges cannot be projected on the GPU; None if they can."""
    if not view.has("range"):
        return missing("range")
    return None if has_launches(view) else missing("launch")
