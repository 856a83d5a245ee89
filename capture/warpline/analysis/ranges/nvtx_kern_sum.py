"""Nsight's summary of kernels by the range that launched them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Texts
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selected.selected_events import SelectedEvents
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import GroupStatistics, group_statistics, join_statistics
from warpline.analysis.framework.tables import (
    combine_keys,
    kind_code,
    scope_text,
    stat_columns,
    stat_data,
)
from warpline.analysis.framework.thread_columns import PID_TID, pid_tid_data, rank_columns
from warpline.analysis.ranges.range_names import RangeNames, style_texts, styles
from warpline.analysis.structure.kernels import full_names
from warpline.analysis.structure.launches import has_launches
from warpline.analysis.structure.projection import ThreadLanes, lanes_by_thread, project
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]


def nvtx_kern_sum(view: View, _options: Options) -> Table | NotRecorded:
    """Kernels by the range inside which its thread launched them."""
    if not view.has("range"):
        return missing("range")
    if not view.has("kernel"):
        return missing("kernel")
    if not has_launches(view):
        return missing("launch")
    parts, groups = [], []
    for thread_lanes in lanes_by_thread(view, ("range",)):
        of_thread = _of_thread(view, thread_lanes)
        if of_thread is not None:
            parts.append(of_thread[0])
            groups.append(of_thread[1])
    # Each thread has groups of its own.
    code, style, thread, kernel, instances = (
        np.concatenate([np.empty(0, np.int64), *column])
        for column in (zip(*groups, strict=True) if groups else [()] * 5)
    )
    stats = join_statistics(parts)
    order = np.lexsort((kernel, thread, style, code, -stats.total))
    stats = stats.take(order)
    code, style, thread, kernel, instances = (
        column[order] for column in (code, style, thread, kernel, instances)
    )
    names = RangeNames(view)
    rank, ranks = rank_columns(view, thread)
    data = stat_data(stats, with_ratio=False)
    data.update(
        {
            **ranks,
            "name": names.texts(code),
            "style": style_texts(style),
            **pid_tid_data(view, thread),
            "range_count": instances,
            "kernel_name": Texts(kernel, view.capture.strings.__getitem__),
        }
    )
    statistics = stat_columns(english("Kern Inst"), "", with_ratio=False)
    return Table(
        (
            Column("name", "NVTX Range", Role.NAME, key=True),
            Column("style", "Style", Role.TEXT, key=True),
            *rank,
            *PID_TID,
            Column("range_count", "NVTX Inst", Role.COUNT),
            statistics[1],
            statistics[0],
            *statistics[2:],
            Column("kernel_name", "Kernel Name", Role.TEXT, key=True),
        ),
        data,
        targets=Targets(
            names=kernel.astype(np.uint32),
            kinds=np.full(len(kernel), kind_code(view, "kernel"), np.int16),
        ),
        scope=scope_text(view, english("Kernels launched inside ranges")),
        notes=(english("A kernel counts in every range around its launching call."),),
    )


def _of_thread(
    view: View, thread_lanes: ThreadLanes
) -> tuple[GroupStatistics, tuple[Int64Array, ...]] | None:
    """Statistics of the kernels launched inside ranges; (range code, style, thread, kernel name, ranges) of each."""
    kernels = view.capture.kinds["kernel"]
    index = kernels.indices_of(thread_lanes.launches.work)
    launches = thread_lanes.launches.take(index >= 0)
    if not len(launches):
        return None
    kernel = _kernel_names(view, launches.work, index[index >= 0])
    ranges = thread_lanes.events
    which, launch = project(launches, ranges.start, ranges.stop).pairs()
    place = view.capture.kinds["range"].indices_of(ranges.row)
    code = RangeNames(view).codes(place, view.names(ranges.row))
    style = styles(view, place, ranges.row)
    # There may be far more pairs than ranges or launches: to save memory, build few columns of pairs.
    key, first = combine_keys(combine_keys(code, style)[0][which], kernel[launch])
    one_range, one_kernel = which[first], kernel[launch[first]]
    instances = _distinct_values(key, which, len(ranges), len(first))
    duration = launches.work_ns[launch]
    del which, launch
    stats = group_statistics(key.astype(np.uint32), duration)
    thread = np.full(len(first), thread_lanes.thread, np.int64)
    return stats, (code[one_range], style[one_range], thread, one_kernel, instances)


def _kernel_names(view: View, rows: Int64Array, index: Int64Array) -> Int64Array:
    name = view.names(rows)
    zeros = np.zeros(len(rows), np.int64)
    return full_names(
        view, SelectedEvents(row=rows, index=index, start=zeros, duration=zeros, inside=zeros, name=name)
    ).astype(np.int64)


def _distinct_values(key: Int64Array, value: Int64Array, n_values: int, n_keys: int) -> Int64Array:
    """The number of distinct values (below ``n_values``) of each key (below ``n_keys``)."""
    pairs = key * n_values
    pairs += value
    pairs.sort()
    is_first = np.ones(len(pairs), bool)
    np.not_equal(pairs[1:], pairs[:-1], out=is_first[1:])
    pairs = pairs[is_first]
    pairs //= max(n_values, 1)
    return np.bincount(pairs, minlength=n_keys).astype(np.int64)


report = ReportSpec(
    "nvtx_kern_sum",
    "Kernels by range",
    "ranges",
    nvtx_kern_sum,
    needs=("range",),
    place=507,
    of_launches=True,
)
