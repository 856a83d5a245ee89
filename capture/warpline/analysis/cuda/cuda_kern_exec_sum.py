"""Nsight's summary of kernel launches, with queue time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.cuda.kernel_executions import has_executions, missing_executions
from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Values
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import GroupStatistics, KeyArray, batch_statistics
from warpline.analysis.framework.tables import Groups, masked_below_zero, name_texts, scope_text
from warpline.analysis.framework.thread_columns import PID_TID, pid_tid_data, rank_columns
from warpline.analysis.structure.kernels import full_names
from warpline.analysis.structure.launches import LaunchedBatch, launched_batches
from warpline.i18n import english
from warpline.model.intervals import launch_delay_ns

Int64Array = npt.NDArray[np.int64]
Quantity = Callable[[LaunchedBatch], Int64Array]


def cuda_kern_exec_sum(view: View, _options: Options) -> Table | NotRecorded:
    """Kernel launches by thread, device, call and kernel: total, call, queue and kernel time."""
    if not has_executions(view):
        return missing_executions(view)
    keys, (thread, device, calls, name) = _groups(view)

    def statistics(quantity: Quantity, is_positive: bool = False) -> GroupStatistics:
        """Statistics of a quantity by group, or of its values above 0."""

        def batches() -> Iterator[tuple[KeyArray, Int64Array]]:
            for key, batch in zip(keys, launched_batches(view, "kernel"), strict=True):
                values = quantity(batch)
                yield (key[values > 0], values[values > 0]) if is_positive else (key, values)

        return batch_statistics(batches)

    parts = {
        "total": statistics(lambda batch: np.maximum(batch.call_stop, batch.events.stop) - batch.call_start),
        "api": statistics(lambda batch: batch.call_stop - batch.call_start),
        "queue": statistics(
            lambda batch: launch_delay_ns(batch.call_stop, batch.events.start), is_positive=True
        ),
        "kernel": statistics(lambda batch: batch.events.duration),
    }
    order = np.argsort(-parts["total"].total, kind="stable")
    place = np.full(len(name), -1, np.int64)
    place[parts["queue"].key] = np.arange(len(parts["queue"]))
    place = place[order]
    rank, ranks = rank_columns(view, thread[order])
    data: dict[str, Values] = {
        **ranks,
        **pid_tid_data(view, thread[order]),
        "device": masked_below_zero(device[order]),
        "count": parts["total"].count[order],
        "queue_count": np.where(place >= 0, np.append(parts["queue"].count, 0)[place], 0),
    }
    columns = [
        *rank,
        *PID_TID,
        Column("device", "DevId", Role.ID, key=True),
        Column("count", "Count", Role.COUNT),
        Column("queue_count", "QCount", Role.COUNT),
    ]
    for letter, part in (("T", "total"), ("A", "api"), ("Q", "queue"), ("K", "kernel")):
        for field, title in (
            ("avg", "Avg"),
            ("med", "Med"),
            ("min", "Min"),
            ("max", "Max"),
            ("stddev", "StdDev"),
        ):
            values = getattr(parts[part], field)
            if part == "queue":
                column: npt.NDArray[Any] = np.ma.MaskedArray(np.append(values, 0)[place], place < 0)
            else:
                column = values[order]
            data[f"{part}_{field}_ns"] = column
            columns.append(Column(f"{part}_{field}_ns", f"{letter}{title}", Role.DURATION))
    data["api_name"] = name_texts(view, calls[order])
    data["name"] = name_texts(view, name[order])
    columns += [
        Column("api_name", "API Name", Role.TEXT, key=True),
        Column("name", "Kernel Name", Role.NAME, key=True),
    ]
    kinds = view.capture.kinds
    return Table(
        tuple(columns),
        data,
        targets=Targets(
            names=name[order].astype(np.uint32),
            kinds=np.full(len(order), kinds["kernel"].code, np.int16),
        ),
        scope=scope_text(view, english("Kernels with a launching call")),
    )


def _groups(view: View) -> tuple[list[KeyArray], list[Int64Array]]:
    """The group of each kernel of the batches, and the thread, device, call's name and kernel's name of each group.

    Groups ascend with these columns, the first one counting most.
    """
    groups = Groups()
    device = view.track_values("device")
    parts = []
    for batch in launched_batches(view, "kernel"):
        columns = (
            batch.thread,
            device[view.track_of(batch.events.row)],
            view.names(batch.call),
            full_names(view, batch.events),
        )
        parts.append(groups.codes(*columns))
    found = [np.ma.getdata(column) for column in groups.columns(np.arange(len(groups)), 4)]
    order = np.lexsort(found[::-1])
    number = np.empty(len(groups), np.uint32)
    number[order] = np.arange(len(groups))
    return [number[part] for part in parts], [column[order] for column in found]


report = ReportSpec(
    "cuda_kern_exec_sum",
    "Kernel launches: call, queue and kernel time",
    "gpu",
    cuda_kern_exec_sum,
    needs=("kernel",),
    place=110,
    of_launches=True,
)
