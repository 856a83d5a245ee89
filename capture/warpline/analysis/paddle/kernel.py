"""Paddle's kernel summary."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Texts, Values, unrecorded
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import (
    LISTED,
    name_targets,
    name_texts,
    scope_text,
    stat_columns,
    stat_data,
)
from warpline.analysis.paddle.kernel_operators import launching_operators
from warpline.analysis.structure.kernels import full_names, kernel_statistics, tensor_cores_of
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]
_WEIGHTED = (
    Column("blocks_per_sm", "Blocks per SM", Role.NUMBER),
    Column("occupancy_ratio", "Occupancy", Role.RATIO, of=english("the warps a multiprocessor can hold")),
)


def kernel(view: View, options: Options) -> Table | NotRecorded:
    """Kernels by name, with tensor core use, occupancy, and the operator that launched most of their time."""
    if not view.has("kernel"):
        return missing("kernel")
    stats = kernel_statistics(view, options)
    data: dict[str, Values] = {"name": name_texts(view, stats.key), **stat_data(stats)}
    statistics = stat_columns(english("Calls"), LISTED)
    columns = [
        Column("name", "Name", Role.NAME, key=True),
        statistics[2],
        statistics[1],
        *statistics[3:],
        statistics[0],
    ]
    texts = view.capture.strings.get(stats.key.tolist())
    data["tensor_cores"] = _tensor_cores(view, texts)
    columns.append(Column("tensor_cores", "Tensor cores", Role.FLAG))
    for column in _WEIGHTED:
        weighted = _weighted(view, column.name, stats.key, options)
        if weighted is not None:
            data[column.name] = weighted
            columns.append(column)
    operators = _operators(view, stats.key, options)
    if operators is not None:
        data["operator"] = Texts(operators, view.capture.strings.__getitem__)
        columns.append(Column("operator", "Operator", Role.TEXT))
    return Table(
        tuple(columns),
        data,
        targets=name_targets(view, stats.key, "kernel"),
        scope=scope_text(view, english("Kernels")),
        notes=(
            english(
                "Use of tensor cores is guessed from kernel names; "
                "occupancy and blocks per SM are averages weighted by duration."
            ),
        ),
    )


def _tensor_cores(view: View, names: list[str]) -> npt.NDArray[Any]:
    """Whether kernels of these names use tensor cores; masked where unknown."""
    # Kernels without a grid run on other accelerators, whose kernel names mean something else.
    has_grid = _has_grid(view)
    uses = [tensor_cores_of(name) if has_grid else None for name in names]
    return np.ma.MaskedArray([bool(use) for use in uses], [use is None for use in uses], bool)


def _has_grid(view: View) -> bool:
    """Whether the grid of any selected kernel was recorded."""
    table = view.capture.kinds["kernel"]
    if "grid_x" not in table.attributes:
        return False
    if view.selection.names is None:
        _, valid = table.column("grid_x")
        return any(bool(valid[part.first : part.stop].any()) for part in view.kind_places("kernel"))
    return any(
        not np.ma.getmaskarray(view.column("kernel", "grid_x", events.index)).all()
        for events in view.batches("kernel")
    )


def _weighted(view: View, attribute: str, keys: Int64Array, options: Options) -> npt.NDArray[Any] | None:
    """Average of an attribute by kernel name, weighted by duration; None when it was not recorded."""
    if attribute not in view.capture.kinds["kernel"].attributes:
        return None
    if options.quick:
        return unrecorded(len(keys), np.float64)
    n = max(len(view.capture.strings), 1)
    total = np.zeros(n)
    weight = np.zeros(n)
    for events in view.batches("kernel"):
        values = view.column("kernel", attribute, events.index)
        known = ~np.ma.getmaskarray(values)
        if attribute == "occupancy_ratio":
            known &= (np.ma.getdata(values) != 0) | (_least_occupancy(view, events.index) < _ROUNDED)
        name = full_names(view, events)[known]
        share = events.duration[known].astype(np.float64)
        total += np.bincount(name, weights=np.ma.getdata(values)[known] * share, minlength=n)
        weight += np.bincount(name, weights=share, minlength=n)
    if not weight.any():
        return None
    missing = weight[keys] == 0
    return np.ma.MaskedArray(total[keys] / np.where(missing, 1, weight[keys]), missing)


_ROUNDED = 0.01
_WARP, _WARPS_OF_SM = 32, 64


def _least_occupancy(view: View, index: Int64Array) -> npt.NDArray[np.float64]:
    """The occupancy of a single block, 0 if unknown.

    Kineto writes 0 % for less than half a percent, but also if its estimate failed, which counts as not recorded.
    """
    blocks, *sides = (
        view.column("kernel", name, index) for name in ("blocks_per_sm", "block_x", "block_y", "block_z")
    )
    threads = np.prod([np.ma.filled(side, 0).astype(np.float64) for side in sides], axis=0)
    per_sm = np.minimum(np.ma.filled(blocks, 0).astype(np.float64), 1.0)
    least: npt.NDArray[np.float64] = per_sm * np.ceil(threads / _WARP) / _WARPS_OF_SM
    return least


def _operators(view: View, keys: Int64Array, options: Options) -> Int64Array | None:
    """For each kernel name the operator (string id) that launched most of its time, −1 for none."""
    if options.quick and view.has("operator"):
        return np.full(len(keys), -1, np.int64)
    return launching_operators(view, keys)


report = ReportSpec("kernel", "Kernels", "framework", kernel, needs=("kernel",), place=208)
