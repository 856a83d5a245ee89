"""Nsight's summary of kernels by the range that launched them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Texts
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selected.selected_events import SelectedEvents
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import batch_statistics
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
    parts: list[tuple[Int64Array, ...]] = []
    for thread_lanes in lanes_by_thread(view, ("range",)):
        parts.extend(_kernel_pairs(view, thread_lanes))
    columns = (
        [np.concatenate([np.empty(0, np.int64), *column]) for column in zip(*parts, strict=True)]
        if parts
        else [np.empty(0, np.int64)] * 6
    )
    code, style, thread, row, kernel, duration = columns
    key, first = combine_keys(code, style, thread, kernel)
    stats = batch_statistics(lambda: [(key, duration)]).by_total()
    # A range that launches several kernels of one name counts once.
    _, _, instances = _distinct(key, row, len(first))
    rows = first[stats.key]
    names = RangeNames(view)
    rank, ranks = rank_columns(view, thread[rows])
    data = stat_data(stats, with_ratio=False)
    data.update(
        {
            **ranks,
            "name": names.texts(code[rows]),
            "style": style_texts(style[rows]),
            **pid_tid_data(view, thread[rows]),
            "range_count": instances[stats.key],
            "kernel_name": Texts(kernel[rows], view.capture.strings.__getitem__),
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
            names=kernel[rows].astype(np.uint32),
            kinds=np.full(len(rows), kind_code(view, "kernel"), np.int16),
        ),
        scope=scope_text(view, english("Kernels launched inside ranges")),
        notes=(english("A kernel counts in every range around its launching call."),),
    )


def _kernel_pairs(view: View, thread_lanes: ThreadLanes) -> Iterable[tuple[Int64Array, ...]]:
    """(range code, style, thread, range row, kernel name, duration) of all kernels launched inside ranges."""
    names = RangeNames(view)
    kernels = view.capture.kinds["kernel"]
    index = kernels.indices_of(thread_lanes.launches.work)
    launches = thread_lanes.launches.take(index >= 0)
    if not len(launches):
        return
    kernel = _kernel_names(view, launches.work, index[index >= 0])
    ranges = thread_lanes.events
    which, launch = project(launches, ranges.start, ranges.stop).pairs()
    place = view.capture.kinds["range"].indices_of(ranges.row)
    code = names.codes(place, view.names(ranges.row))
    style = styles(view, place, ranges.row)
    yield (
        code[which],
        style[which],
        np.full(len(which), thread_lanes.thread, np.int64),
        ranges.row[which],
        kernel[launch],
        launches.work_ns[launch],
    )


def _kernel_names(view: View, rows: Int64Array, index: Int64Array) -> Int64Array:
    name = view.names(rows)
    zeros = np.zeros(len(rows), np.int64)
    return full_names(
        view, SelectedEvents(row=rows, index=index, start=zeros, duration=zeros, inside=zeros, name=name)
    ).astype(np.int64)


def _distinct(key: Int64Array, row: Int64Array, n_keys: int) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Distinct (key, row) pairs, and the number of distinct rows of each key."""
    order = np.lexsort((row, key))
    keys, rows = key[order], row[order]
    head = np.ones(len(order), bool)
    head[1:] = (keys[1:] != keys[:-1]) | (rows[1:] != rows[:-1])
    return keys[head], rows[head], np.bincount(keys[head], minlength=max(n_keys, 1)).astype(np.int64)


report = ReportSpec(
    "nvtx_kern_sum",
    "Kernels by range",
    "ranges",
    nvtx_kern_sum,
    needs=("range",),
    place=507,
    of_launches=True,
)
