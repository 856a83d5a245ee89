"""Launch delay by kernel: how far the host runs ahead of the GPU."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import batch_statistics
from warpline.analysis.framework.tables import kind_code, name_texts, scope_text, stat_columns, stat_data
from warpline.analysis.structure.kernels import full_names
from warpline.analysis.structure.launches import LaunchedBatch, has_launches, launched_batches
from warpline.i18n import english
from warpline.model.intervals import launch_delay_ns


def launch_latency(view: View, _options: Options) -> Table | NotRecorded:
    """Delay between launching call and kernel by name, and the number of kernels shorter than their call."""
    if not view.has("kernel"):
        return missing("kernel")
    if not has_launches(view):
        return missing("launch")
    n = max(len(view.capture.strings), 1)
    calls, kernels = np.zeros(n), np.zeros(n)
    short = np.zeros(n, np.int64)
    for name, batch in _named_batches(view):
        call_ns = batch.call_stop - batch.call_start
        calls += np.bincount(name, weights=call_ns, minlength=n)
        kernels += np.bincount(name, weights=batch.events.duration, minlength=n)
        short += np.bincount(name[batch.events.duration < call_ns], minlength=n)
    stats = batch_statistics(
        lambda: (
            (name, launch_delay_ns(batch.call_stop, batch.events.start))
            for name, batch in _named_batches(view)
        )
    ).by_total()
    return Table(
        (
            *stat_columns(english("Launches"), "", with_ratio=False, title=english("Delay")),
            Column("call_avg_ns", "Call Avg", Role.DURATION),
            Column("kernel_avg_ns", "Kernel Avg", Role.DURATION),
            Column("shorter_than_call", "Shorter than Call", Role.COUNT),
            Column("name", "Kernel", Role.NAME, key=True),
        ),
        {
            **stat_data(stats, with_ratio=False),
            "call_avg_ns": calls[stats.key] / stats.count,
            "kernel_avg_ns": kernels[stats.key] / stats.count,
            "shorter_than_call": short[stats.key],
            "name": name_texts(view, stats.key),
        },
        targets=Targets(
            names=stats.key.astype(np.uint32), kinds=np.full(len(stats), kind_code(view, "kernel"), np.int16)
        ),
        scope=scope_text(view, english("Kernels with a launching call")),
    )


def _named_batches(view: View) -> Iterator[tuple[npt.NDArray[np.uint32], LaunchedBatch]]:
    for batch in launched_batches(view, "kernel"):
        yield full_names(view, batch.events), batch


report = ReportSpec(
    "launch_latency",
    "Launch latency by kernel",
    "gpu",
    launch_latency,
    needs=("kernel",),
    place=404,
    of_launches=True,
)
