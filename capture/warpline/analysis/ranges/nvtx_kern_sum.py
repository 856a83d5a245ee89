"""Nsight's summaries of ranges on the GPU: what was launched inside them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Texts
from warpline.analysis.framework.selection import Events, View
from warpline.analysis.framework.statistics import batch_statistics, group_statistics
from warpline.analysis.framework.tables import (
    combine_keys,
    event_targets,
    kind_code,
    masked_below_zero,
    missing,
    scope_text,
    stat_columns,
    stat_data,
)
from warpline.analysis.framework.thread_columns import pid_tid, rank_columns
from warpline.analysis.ranges.nvtx_pushpop_trace import (
    NESTING_COLUMNS,
    THREAD_COLUMNS,
    NestedRanges,
    RangeNames,
    all_ranges,
    nesting_data,
    range_targets,
    style_texts,
    styles,
)
from warpline.analysis.structure.kernels import full_names
from warpline.analysis.structure.launches import has_launches
from warpline.analysis.structure.projection import ThreadLanes, lanes_by_track, project

Int64Array = npt.NDArray[np.int64]


def _projected(view: View) -> NestedRanges | NotRecorded:
    if not view.has("range"):
        return missing("range")
    if not has_launches(view):
        return missing("launch")
    return all_ranges(view)


def nvtx_gpu_proj_sum(view: View, _options: Options) -> Table | NotRecorded:
    """Ranges by name: from the first to the last GPU operation they launched."""
    ranges = _projected(view)
    if isinstance(ranges, NotRecorded):
        return ranges
    names = RangeNames(view)
    used = np.flatnonzero(ranges.work > 0)
    code = names.codes(ranges.index, view.names(ranges.row))[used]
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
            Column("name", "Range", Role.NAME, key=True),
            Column("style", "Style", Role.TEXT, key=True),
            *stat_columns("Range Instances", "", with_ratio=False, title="Proj"),
            Column("gpu_operations", "Total GPU Ops", Role.COUNT),
            Column("avg_gpu_operations", "Avg GPU Ops", Role.NUMBER),
            Column("avg_level", "Avg Range Lvl", Role.NUMBER),
            Column("avg_children", "Avg Num Child", Role.NUMBER),
        ),
        {
            "name": names.texts(code[of_group]),
            "style": style_texts(style[of_group]),
            **stat_data(stats, with_ratio=False),
            "gpu_operations": operations[order],
            "avg_gpu_operations": operations[order] / stats.count,
            "avg_level": levels[order] / stats.count,
            "avg_children": children[order] / stats.count,
        },
        targets=range_targets(view, code[of_group]),
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
    origin = view.capture.span[0]
    return Table(
        (
            Column("name", "Name", Role.NAME),
            Column("projected_start_ns", "Projected Start", Role.TIME),
            Column("projected_duration_ns", "Projected Duration", Role.DURATION),
            Column("start_ns", "Orig Start", Role.TIME),
            Column("duration_ns", "Orig Duration", Role.DURATION),
            Column("style", "Style", Role.TEXT),
            *THREAD_COLUMNS,
            Column("gpu_operations", "NumGPUOps", Role.COUNT),
            *NESTING_COLUMNS,
        ),
        {
            "name": names.texts(names.codes(ranges.index, view.names(ranges.row))[used]),
            "projected_start_ns": ranges.work_start[used] - origin,
            "projected_duration_ns": (ranges.work_stop - ranges.work_start)[used],
            "start_ns": ranges.start[used] - origin,
            "duration_ns": (ranges.stop - ranges.start)[used],
            "style": style_texts(styles(view, ranges.index, ranges.row)[used]),
            **nesting_data(view, ranges, used),
            "gpu_operations": ranges.work[used],
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
    stats = batch_statistics(lambda: [(key, duration)]).by_total()
    # One range launches many kernels of one name: its instances are counted once.
    _, _, instances = _distinct(key, row, len(first))
    of_group = first[stats.key]
    names = RangeNames(view)
    pids, tids = pid_tid(view, thread[of_group])
    rank, ranks = rank_columns(view, thread[of_group])
    data = stat_data(stats, with_ratio=False)
    data.update(
        {
            **ranks,
            "name": names.texts(code[of_group]),
            "style": style_texts(style[of_group]),
            "pid": masked_below_zero(pids),
            "tid": masked_below_zero(tids),
            "range_count": instances[stats.key],
            "kernel_name": Texts(kernel[of_group], view.capture.strings.__getitem__),
        }
    )
    statistics = stat_columns("Kern Inst", "", with_ratio=False)
    return Table(
        (
            Column("name", "NVTX Range", Role.NAME, key=True),
            Column("style", "Style", Role.TEXT, key=True),
            *rank,
            Column("pid", "PID", Role.ID, key=True),
            Column("tid", "TID", Role.ID, key=True),
            Column("range_count", "NVTX Inst", Role.COUNT),
            statistics[1],
            statistics[0],
            *statistics[2:],
            Column("kernel_name", "Kernel Name", Role.TEXT, key=True),
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
        code = names.codes(place, view.names(lane.row))
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
    name = view.names(rows)
    zeros = np.zeros(len(rows), np.int64)
    return full_names(view, Events(rows, index, zeros, zeros, zeros, name)).astype(np.int64)


def _distinct(key: Int64Array, row: Int64Array, n_keys: int) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Distinct (key, row) pairs, and how many distinct rows each key has."""
    order = np.lexsort((row, key))
    keys, rows = key[order], row[order]
    head = np.ones(len(order), bool)
    head[1:] = (keys[1:] != keys[:-1]) | (rows[1:] != rows[:-1])
    return keys[head], rows[head], np.bincount(keys[head], minlength=max(n_keys, 1)).astype(np.int64)
