"""Kernels, copies and sets, and CUDA API calls in one table, each with its category."""

from __future__ import annotations

import numpy as np

from warpline.analysis.cuda.memory_operations import memory_batches, operation, operation_targets
from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Values
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import GroupStatistics, batch_statistics, join_statistics
from warpline.analysis.framework.tables import (
    LISTED,
    name_targets,
    name_texts,
    scope_text,
    stat_columns,
    stat_data,
    statistics_by_name,
)
from warpline.analysis.structure.kernels import kernel_statistics
from warpline.i18n import english


def joined_sections(view: View, options: Options, with_api: bool) -> Table | NotRecorded:
    """One table of kernels, memory operations and, if wanted, API calls, each with its category."""
    sections: list[tuple[str, GroupStatistics, Values, Targets]] = []
    if with_api and view.has("cuda_api"):
        stats = statistics_by_name(view, "cuda_api", options)
        sections.append(
            ("CUDA_API", stats, name_texts(view, stats.key), name_targets(view, stats.key, "cuda_api"))
        )
    if view.has("kernel"):
        stats = kernel_statistics(view, options)
        sections.append(
            ("CUDA_KERNEL", stats, name_texts(view, stats.key), name_targets(view, stats.key, "kernel"))
        )
    if view.has("memcpy", "memset"):
        stats = batch_statistics(lambda: memory_batches(view, "ns"))
        texts = [operation(key) for key in stats.key.tolist()]
        targets = Targets(
            names=np.full(len(stats), 0xFFFFFFFF, np.uint32), kinds=operation_targets(view, stats.key).kinds
        )
        sections.append(("MEMORY_OPER", stats, texts, targets))
    if not sections:
        return missing("gpu")
    operations: list[str | None] = [text for _, _, texts, _ in sections for text in texts]
    categories: list[str | None] = [name for name, stats, _, _ in sections for _ in range(len(stats))]
    joined = join_statistics([stats for _, stats, _, _ in sections])
    table = Table(
        (
            *stat_columns(english("Instances"), LISTED),
            Column("category", "Category", Role.TEXT, key=True),
            Column("operation", "Operation", Role.NAME, key=True),
        ),
        {**stat_data(joined), "category": categories, "operation": operations},
        targets=Targets(
            names=np.concatenate([t.names for _, _, _, t in sections if t.names is not None]),
            kinds=np.concatenate([t.kinds for _, _, _, t in sections if t.kinds is not None]),
        ),
        scope=scope_text(view, "CUDA calls and GPU work" if with_api else "GPU work"),
    )
    return table.take(np.argsort(-joined.total, kind="stable"))
