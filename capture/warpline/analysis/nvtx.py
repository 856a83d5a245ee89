"""Nsight's summaries of ranges: NVTX, and what frameworks record the same way (user annotations, RecordEvent)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.kernels import full_names
from warpline.analysis.launches import has_launches
from warpline.analysis.nesting import flat_parents, levels, self_times
from warpline.analysis.options import Options
from warpline.analysis.projection import Projection, ThreadLanes, lanes_by_track, project
from warpline.analysis.report import Column, NotRecorded, Table, Targets, Texts, Values
from warpline.analysis.selection import View
from warpline.analysis.statistics import batch_statistics, group_statistics
from warpline.analysis.tables import (
    combine_keys,
    event_targets,
    kind_code,
    masked_below_zero,
    missing,
    pid_tid,
    scope_text,
    stat_columns,
    stat_data,
)
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
        domain = np.ma.filled(self._view.column("range", "domain", index), 0).astype(np.int64)
        return (domain << 32) | name.astype(np.int64)

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
    result[~np.ma.getmaskarray(view.column("range", "end_thread", index))] = START_END
    result[(view.capture.events.flags[rows] & Flag.INSTANT) != 0] = MARK
    return result


def _styles(codes: Int64Array) -> Texts:
    return Texts(codes, _STYLES.__getitem__)


def _range_sum(view: View, wanted: tuple[int, ...], with_style: bool) -> Table | NotRecorded:
    if not view.has("range"):
        return missing("range")
    names = RangeNames(view)
    parts = []
    for events in view.batches("range"):
        style = styles(view, events.index, events.row)
        keep = np.isin(style, wanted)
        parts.append((names.codes(events.index, events.name)[keep], style[keep], events.inside[keep]))
    code, style, inside = (
        (np.concatenate([np.empty(0, np.int64), *column]) for column in zip(*parts, strict=True))
        if parts
        else (np.empty(0, np.int64),) * 3
    )
    key, first = combine_keys(code, style)
    stats = batch_statistics(lambda: [(key, inside)], max(len(first), 1)).by_total()
    of_group = first[stats.key]
    columns = [*stat_columns("Instances", "the total listed here")]
    data: dict[str, Values] = stat_data(stats)
    if with_style:
        columns.append(Column("style", "Style"))
        data["style"] = _styles(style[of_group])
    columns.append(Column("name", "Range"))
    data["name"] = names.texts(code[of_group])
    return Table(
        tuple(columns), data, targets=_name_targets(view, code[of_group]), scope=scope_text(view, "Ranges")
    )


def _name_targets(view: View, codes: Int64Array) -> Targets:
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
class _Ranges:
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
    """The columns of `_Ranges` for one track."""
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


def _all_ranges(view: View) -> _Ranges:
    parts: list[dict[str, Int64Array]] = []
    filled = 0
    for found in lanes_by_track(view, ("range",)):
        columns = _nested(found)
        columns["parent"] = np.where(columns["parent"] >= 0, columns["parent"] + filled, -1)
        filled += len(columns["row"])
        parts.append(columns)
    joined = {
        name: np.concatenate([np.empty(0, np.int64), *[part[name] for part in parts]])
        for name in _Ranges.__dataclass_fields__
        if name != "index"
    }
    index = view.capture.kinds["range"].indices_of(joined["row"])
    return _Ranges(index=index, **joined)


def nvtx_pushpop_trace(view: View, _options: Options) -> Table | NotRecorded:
    """Every nested range with its children, level and path."""
    if not view.has("range"):
        return missing("range")
    ranges = _all_ranges(view)
    names = RangeNames(view)
    name = names.codes(ranges.index, view.capture.events.name[ranges.row])
    pushed = np.flatnonzero(styles(view, ranges.index, ranges.row) == PUSH_POP)
    pids, tids = pid_tid(view, ranges.thread[pushed])
    duration = (ranges.stop - ranges.start)[pushed]
    origin = view.capture.span[0]
    level = ranges.level[pushed]
    indent = Texts(pushed, lambda i: "  " * int(ranges.level[i]) + names.lookup(int(name[i])))
    return Table(
        (
            Column("start_ns", "Start", "ns"),
            Column("end_ns", "End", "ns"),
            Column("duration_ns", "Duration", "ns"),
            Column("children_ns", "DurChild", "ns"),
            Column("own_ns", "DurNonChild", "ns"),
            Column("name", "Name"),
            Column("pid", "PID"),
            Column("tid", "TID"),
            Column("level", "Lvl"),
            Column("children", "NumChild"),
            Column("range_id", "RangeId"),
            Column("parent_id", "ParentId"),
            Column("range_stack", "RangeStack"),
            Column("name_tree", "NameTree"),
        ),
        {
            "start_ns": ranges.start[pushed] - origin,
            "end_ns": ranges.stop[pushed] - origin,
            "duration_ns": duration,
            "children_ns": duration - ranges.own[pushed],
            "own_ns": ranges.own[pushed],
            "name": names.texts(name[pushed]),
            "pid": masked_below_zero(pids),
            "tid": masked_below_zero(tids),
            "level": level,
            "children": ranges.children[pushed],
            "range_id": pushed,
            "parent_id": masked_below_zero(ranges.parent[pushed]),
            "range_stack": Texts(pushed, _stack_of(ranges)),
            "name_tree": indent,
        },
        targets=event_targets(ranges.row[pushed]),
        scope=scope_text(view, "Nested ranges"),
    )


def _stack_of(ranges: _Ranges) -> Callable[[int], str]:
    """Ids of a range and the ranges around it, ":0:3:7"."""

    def stack(index: int) -> str:
        path = []
        while index >= 0:
            path.append(index)
            index = int(ranges.parent[index])
        return "".join(f":{i}" for i in reversed(path))

    return stack


def _projected(view: View) -> _Ranges | NotRecorded:
    if not view.has("range"):
        return missing("range")
    if not has_launches(view):
        return missing("launch")
    return _all_ranges(view)


def nvtx_gpu_proj_sum(view: View, _options: Options) -> Table | NotRecorded:
    """Ranges by name: from the first to the last GPU operation they launched."""
    ranges = _projected(view)
    if isinstance(ranges, NotRecorded):
        return ranges
    names = RangeNames(view)
    used = np.flatnonzero(ranges.work > 0)
    code = names.codes(ranges.index, view.capture.events.name[ranges.row])[used]
    style = styles(view, ranges.index, ranges.row)[used]
    key, first = combine_keys(code, style)
    stats = group_statistics(key, (ranges.work_stop - ranges.work_start)[used])
    operations = np.bincount(key, weights=ranges.work[used], minlength=len(first)).astype(np.int64)
    levels = np.bincount(key, weights=ranges.level[used], minlength=len(first))
    children = np.bincount(key, weights=ranges.children[used], minlength=len(first))
    order = np.argsort(-stats.total, kind="stable")
    stats = stats.take(order)
    of_group = first[stats.key]
    return Table(
        (
            Column("name", "Range"),
            Column("style", "Style"),
            Column("count", "Range Instances"),
            Column("total_ns", "Total Proj Time", "ns"),
            Column("avg_ns", "Proj Avg", "ns"),
            Column("med_ns", "Proj Med", "ns"),
            Column("min_ns", "Proj Min", "ns"),
            Column("max_ns", "Proj Max", "ns"),
            Column("stddev_ns", "Proj StdDev", "ns"),
            Column("gpu_operations", "Total GPU Ops"),
            Column("avg_gpu_operations", "Avg GPU Ops"),
            Column("avg_level", "Avg Range Lvl"),
            Column("avg_children", "Avg Num Child"),
        ),
        {
            "name": names.texts(code[of_group]),
            "style": _styles(style[of_group]),
            "count": stats.count,
            "total_ns": stats.total,
            "avg_ns": stats.avg,
            "med_ns": stats.med,
            "min_ns": stats.min,
            "max_ns": stats.max,
            "stddev_ns": stats.stddev,
            "gpu_operations": operations[order],
            "avg_gpu_operations": operations[order] / stats.count,
            "avg_level": levels[order] / stats.count,
            "avg_children": children[order] / stats.count,
        },
        targets=_name_targets(view, code[of_group]),
        scope=scope_text(view, "Ranges that launched GPU work"),
    )


def nvtx_gpu_proj_trace(view: View, _options: Options) -> Table | NotRecorded:
    """Every range that launched GPU work, projected on the GPU."""
    ranges = _projected(view)
    if isinstance(ranges, NotRecorded):
        return ranges
    names = RangeNames(view)
    used = np.flatnonzero(ranges.work > 0)
    used = used[np.argsort(ranges.work_start[used], kind="stable")]
    pids, tids = pid_tid(view, ranges.thread[used])
    origin = view.capture.span[0]
    return Table(
        (
            Column("name", "Name"),
            Column("projected_start_ns", "Projected Start", "ns"),
            Column("projected_duration_ns", "Projected Duration", "ns"),
            Column("start_ns", "Orig Start", "ns"),
            Column("duration_ns", "Orig Duration", "ns"),
            Column("style", "Style"),
            Column("pid", "PID"),
            Column("tid", "TID"),
            Column("gpu_operations", "NumGPUOps"),
            Column("level", "Lvl"),
            Column("children", "NumChild"),
            Column("range_id", "RangeId"),
            Column("parent_id", "ParentId"),
            Column("range_stack", "RangeStack"),
        ),
        {
            "name": names.texts(names.codes(ranges.index, view.capture.events.name[ranges.row])[used]),
            "projected_start_ns": ranges.work_start[used] - origin,
            "projected_duration_ns": (ranges.work_stop - ranges.work_start)[used],
            "start_ns": ranges.start[used] - origin,
            "duration_ns": (ranges.stop - ranges.start)[used],
            "style": _styles(styles(view, ranges.index, ranges.row)[used]),
            "pid": masked_below_zero(pids),
            "tid": masked_below_zero(tids),
            "gpu_operations": ranges.work[used],
            "level": ranges.level[used],
            "children": ranges.children[used],
            "range_id": used,
            "parent_id": masked_below_zero(ranges.parent[used]),
            "range_stack": Texts(used, _stack_of(ranges)),
        },
        targets=event_targets(ranges.row[used]),
        scope=scope_text(view, "Ranges that launched GPU work"),
    )


def nvtx_kern_sum(view: View, _options: Options) -> Table | NotRecorded:
    """Kernels by the range whose thread launched them inside it."""
    if not view.has("range"):
        return missing("range")
    if not view.has("kernel"):
        return missing("kernel")
    if not has_launches(view):
        return missing("launch")
    parts: list[tuple[Int64Array, ...]] = []
    for found in lanes_by_track(view, ("range",)):
        parts.extend(_kernel_pairs(view, found))
    columns = (
        [np.concatenate([np.empty(0, np.int64), *column]) for column in zip(*parts, strict=True)]
        if parts
        else [np.empty(0, np.int64)] * 6
    )
    code, style, thread, row, kernel, duration = columns
    key, first = combine_keys(code, style, thread, kernel)
    stats = batch_statistics(lambda: [(key, duration)], max(len(first), 1)).by_total()
    # One range launches many kernels of one name: its instances are counted once.
    _, _, instances = _distinct(key, row, len(first))
    of_group = first[stats.key]
    names = RangeNames(view)
    pids, tids = pid_tid(view, thread[of_group])
    data = stat_data(stats, with_ratio=False)
    data.update(
        {
            "name": names.texts(code[of_group]),
            "style": _styles(style[of_group]),
            "pid": masked_below_zero(pids),
            "tid": masked_below_zero(tids),
            "range_count": instances[stats.key],
            "kernel_name": Texts(kernel[of_group], view.capture.strings.__getitem__),
        }
    )
    statistics = stat_columns("Kern Inst", "", with_ratio=False)
    return Table(
        (
            Column("name", "NVTX Range"),
            Column("style", "Style"),
            Column("pid", "PID"),
            Column("tid", "TID"),
            Column("range_count", "NVTX Inst"),
            statistics[1],
            statistics[0],
            *statistics[2:],
            Column("kernel_name", "Kernel Name"),
        ),
        data,
        targets=Targets(
            names=kernel[of_group].astype(np.uint32),
            kinds=np.full(len(of_group), kind_code(view, "kernel"), np.int16),
        ),
        scope=scope_text(view, "Kernels launched inside ranges"),
        notes=("A kernel counts for every range around its launching call.",),
    )


def _kernel_pairs(view: View, found: ThreadLanes) -> Iterable[tuple[Int64Array, ...]]:
    """(range code, style, thread, range row, kernel name, duration) of every kernel launched inside a range."""
    names = RangeNames(view)
    kernels = view.capture.kinds["kernel"]
    index = kernels.indices_of(found.launches.work)
    launches = found.launches.take(index >= 0)
    if not len(launches):
        return
    kernel = _kernel_names(view, launches.work, index[index >= 0])
    for lane in found.lanes:
        projection = project(launches, lane.start, lane.stop)
        which, launch = projection.pairs()
        place = view.capture.kinds["range"].indices_of(lane.row)
        code = names.codes(place, view.capture.events.name[lane.row])
        style = styles(view, place, lane.row)
        yield (
            code[which],
            style[which],
            np.full(len(which), found.thread, np.int64),
            lane.row[which],
            kernel[launch],
            launches.work_ns[launch],
        )


def _kernel_names(view: View, rows: Int64Array, index: Int64Array) -> Int64Array:
    from warpline.analysis.selection import Events

    name = view.capture.events.name[rows]
    zeros = np.zeros(len(rows), np.int64)
    return full_names(view, Events(rows, index, zeros, zeros, zeros, name)).astype(np.int64)


def _distinct(key: Int64Array, row: Int64Array, n_keys: int) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Distinct (key, row) pairs, and how many distinct rows each key has."""
    order = np.lexsort((row, key))
    keys, rows = key[order], row[order]
    head = np.ones(len(order), bool)
    head[1:] = (keys[1:] != keys[:-1]) | (rows[1:] != rows[:-1])
    return keys[head], rows[head], np.bincount(keys[head], minlength=max(n_keys, 1)).astype(np.int64)
