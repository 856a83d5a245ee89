"""Nsight's summary of kernels by name, grid and block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Values
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import batch_statistics
from warpline.analysis.framework.tables import (
    LISTED,
    Groups,
    name_targets,
    name_texts,
    scope_text,
    stat_columns,
    stat_data,
)
from warpline.analysis.structure.kernels import full_names
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]


def cuda_gpu_kern_gb_sum(view: View, _options: Options) -> Table | NotRecorded:
    """Kernels by name, grid and block."""
    if not view.has("kernel"):
        return missing("kernel")
    axes = [f"{part}_{axis}" for part in ("grid", "block") for axis in "xyz"]
    groups = Groups()

    def batches() -> Iterator[tuple[npt.NDArray[Any], Int64Array]]:
        for events in view.batches("kernel"):
            shape = [view.column("kernel", axis, events.index) for axis in axes]
            yield groups.codes(full_names(view, events), *shape), events.inside

    stats = batch_statistics(batches).by_total()
    name, *shape = groups.columns(stats.key, 1 + len(axes))
    data: dict[str, Values] = stat_data(stats)
    for part, columns in (("grid", shape[:3]), ("block", shape[3:])):
        data[f"{part}_xyz"] = _xyz(columns)
    data["name"] = name_texts(view, name)
    return Table(
        (
            *stat_columns(english("Instances"), LISTED),
            Column("grid_xyz", "GridXYZ", Role.TEXT, key=True),
            Column("block_xyz", "BlockXYZ", Role.TEXT, key=True),
            Column("name", "Name", Role.NAME, key=True),
        ),
        data,
        targets=name_targets(view, name, "kernel"),
        scope=scope_text(view, english("Kernels")),
    )


def _xyz(columns: list[npt.NDArray[Any]]) -> list[str | None]:
    """Three columns as one text; None where not recorded."""
    known = ~np.any([np.ma.getmaskarray(column) for column in columns], axis=0)
    x, y, z = (np.ma.getdata(column).tolist() for column in columns)
    return [f"{a} {b} {c}" if ok else None for a, b, c, ok in zip(x, y, z, known.tolist(), strict=True)]


report = ReportSpec(
    "cuda_gpu_kern_gb_sum",
    "GPU kernels by grid and block",
    "gpu",
    cuda_gpu_kern_gb_sum,
    needs=("kernel",),
    place=104,
)
