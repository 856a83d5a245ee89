"""Nsight's summaries of ranges: NVTX, and what frameworks record the same way (user annotations, RecordEvent)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.nesting import flat_parents, levels, self_times
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Texts, Values
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import batch_statistics
from warpline.analysis.framework.tables import (
    Groups,
    event_targets,
    kind_code,
    masked_below_zero,
    missing,
    scope_text,
    stat_columns,
    stat_data,
)
from warpline.analysis.framework.thread_columns import pid_tid
from warpline.analysis.structure.projection import Projection, ThreadLanes, lanes_by_track, project
from warpline.model import Flag

Int64Array = npt.NDArray[np.int64]
PUSH_POP, START_END, MARK = 0, 1, 2
_STYLES = ("PushPop", "StartEnd", "Mark")


class RangeNames:
    """Names of ranges as Nsight prints them, "domain:name"; codes are ``domain << 32 | name`` of string ids."""

    def __init__(self, view: View) -> None:
        self._view = view

    def codes(self, index: Int64Array, name: npt.NDArray[Any]) -> Int64Array:
        """Codes of ranges, given their places in the table of ranges and their name ids."""
        return (self.domains(index) << 32) | name.astype(np.int64)

    def domains(self, index: Int64Array) -> Int64Array:
        """String ids of the domains of ranges, 0 for none."""
        domain = np.ma.filled(self._view.column("range", "domain", index), 0).astype(np.int64)
        return np.where((domain >= 0) & (domain < len(self._view.capture.strings)), domain, 0)

    def lookup(self, code: int) -> str:
        """The text of a code."""
        strings = self._view.capture.strings
        domain, name = strings[code >> 32], strings[code & 0xFFFFFFFF]
        return f"{domain}:{name}" if domain else name

    def texts(self, codes: Int64Array) -> Texts:
        """A column of texts."""
        return Texts(codes, self.lookup)


def styles(view: View, index: Int64Array, rows: Int64Array) -> Int64Array:
    """Style of each range. Start/end ranges stand on a track of their process, not of a thread, or name the thread that
    ended them; marks are instants.
    """
    result = np.zeros(len(index), np.int64)
    alone = np.array([track.thread is None for track in view.capture.tracks] or [True])
    result[alone[view.track_of(rows)]] = START_END
    if "end_thread" in view.capture.kinds["range"].attributes:
        result[~np.ma.getmaskarray(view.column("range", "end_thread", index))] = START_END
    result[(view.capture.events.flags[rows] & Flag.INSTANT) != 0] = MARK
    return result


def style_texts(codes: Int64Array) -> Texts:
    return Texts(codes, _STYLES.__getitem__)


def _range_sum(view: View, wanted: tuple[int, ...], with_style: bool) -> Table | NotRecorded:
    if not view.has("range"):
        return missing("range")
    names = RangeNames(view)
    groups = Groups()
    is_wanted = np.isin(np.arange(len(_STYLES)), wanted)

    def batches() -> Iterator[tuple[Int64Array, Int64Array]]:
        for events in view.batches("range"):
            style = styles(view, events.index, events.row)
            keep = is_wanted[style]
            domain = names.domains(events.index)
            yield groups.codes(domain[keep], events.name[keep], style[keep]), events.inside[keep]

    stats = batch_statistics(batches).by_total()
    domain, name, style = (np.ma.getdata(column) for column in groups.columns(stats.key, 3))
    code = (domain << 32) | name
    columns = [*stat_columns("Instances", "the total listed here")]
    data: dict[str, Values] = stat_data(stats)
    if with_style:
        columns.append(Column("style", "Style", Role.TEXT, key=True))
        data["style"] = style_texts(style)
    columns.append(Column("name", "Range", Role.NAME, key=True))
    data["name"] = names.texts(code)
    return Table(tuple(columns), data, targets=range_targets(view, code), scope=scope_text(view, "Ranges"))


def range_targets(view: View, codes: Int64Array) -> Targets:
    return Targets(
        names=(codes & 0xFFFFFFFF).astype(np.uint32),
        kinds=np.full(len(codes), kind_code(view, "range"), np.int16),
    )


def nvtx_sum(view: View, _options: Options) -> Table | NotRecorded:
    """Ranges by name and style."""
    return _range_sum(view, (PUSH_POP, START_END), with_style=True)


def nvtx_pushpop_sum(view: View, _options: Options) -> Table | NotRecorded:
    """Nested ranges by name."""
    return _range_sum(view, (PUSH_POP,), with_style=False)


def nvtx_startend_sum(view: View, _options: Options) -> Table | NotRecorded:
    """Ranges that may overlap or end on another thread, by name."""
    return _range_sum(view, (START_END,), with_style=False)


@dataclass(frozen=True)
class NestedRanges:
    """Ranges of all selected tracks in the order of time on each track, with their nesting.

    Arrays of equal length: ``row``, ``index`` (in the table of ranges), ``start``, ``stop`` (capture ns),
    ``thread``, ``level``
    (0 outermost), ``parent`` (place in these arrays, −1 for none), ``children`` (number of direct ones),
    ``own`` (ns not in a
    child), and of the GPU work launched inside: ``work`` operations, ``work_start``, ``work_stop``.
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


def _nested(found: ThreadLanes) -> dict[str, Int64Array]:
    """The columns of `NestedRanges` for one track."""
    lanes = found.lanes
    parent = flat_parents(lanes)
    level = levels(parent)
    start = np.concatenate([lane.start for lane in lanes])
    stop = np.concatenate([lane.stop for lane in lanes])
    projection: Projection = project(found.launches, start, stop)
    # Parents before children, in the order of time.
    order = np.lexsort((level, start))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    columns = {
        "row": np.concatenate([lane.row for lane in lanes]),
        "start": start,
        "stop": stop,
        "level": level,
        "parent": np.where(parent >= 0, place[parent], -1),
        "children": np.bincount(parent[parent >= 0], minlength=len(parent)).astype(np.int64),
        "own": self_times(stop - start, parent),
        "work": projection.count,
        "work_start": projection.start,
        "work_stop": projection.stop,
    }
    columns = {name: values[order] for name, values in columns.items()}
    columns["thread"] = np.full(len(order), found.thread, np.int64)
    return columns


def all_ranges(view: View) -> NestedRanges:
    parts: list[dict[str, Int64Array]] = []
    filled = 0
    for found in lanes_by_track(view, ("range",)):
        columns = _nested(found)
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


def nvtx_pushpop_trace(view: View, _options: Options) -> Table | NotRecorded:
    """Every nested range with its children, level and path."""
    if not view.has("range"):
        return missing("range")
    ranges = all_ranges(view)
    names = RangeNames(view)
    name = names.codes(ranges.index, view.names(ranges.row))
    pushed = np.flatnonzero(styles(view, ranges.index, ranges.row) == PUSH_POP)
    duration = (ranges.stop - ranges.start)[pushed]
    origin = view.capture.span[0]
    indent = Texts(pushed, lambda i: "  " * int(ranges.level[i]) + names.lookup(int(name[i])))
    return Table(
        (
            Column("start_ns", "Start", Role.TIME),
            Column("end_ns", "End", Role.TIME),
            Column("duration_ns", "Duration", Role.DURATION),
            Column("children_ns", "DurChild", Role.DURATION),
            Column("own_ns", "DurNonChild", Role.DURATION),
            Column("name", "Name", Role.NAME),
            *THREAD_COLUMNS,
            *NESTING_COLUMNS,
            Column("name_tree", "NameTree", Role.TEXT),
        ),
        {
            "start_ns": ranges.start[pushed] - origin,
            "end_ns": ranges.stop[pushed] - origin,
            "duration_ns": duration,
            "children_ns": duration - ranges.own[pushed],
            "own_ns": ranges.own[pushed],
            "name": names.texts(name[pushed]),
            **nesting_data(view, ranges, pushed),
            "name_tree": indent,
        },
        targets=event_targets(ranges.row[pushed]),
        scope=scope_text(view, "Nested ranges"),
    )


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
    pids, tids = pid_tid(view, ranges.thread[index])
    return {
        "pid": masked_below_zero(pids),
        "tid": masked_below_zero(tids),
        "level": ranges.level[index],
        "children": ranges.children[index],
        "range_id": index,
        "parent_id": masked_below_zero(ranges.parent[index]),
        "range_stack": Texts(index, stack_of(ranges)),
    }


def stack_of(ranges: NestedRanges) -> Callable[[int], str]:
    """Ids of a range and the ranges around it, ":0:3:7"."""

    def stack(index: int) -> str:
        path = []
        while index >= 0:
            path.append(index)
            index = int(ranges.parent[index])
        return "".join(f":{i}" for i in reversed(path))

    return stack
