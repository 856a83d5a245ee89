"""VisualDL's kernels by every recorded attribute: grid, block, registers, shared memory, occupancy, tensor cores."""

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
from warpline.analysis.structure.kernel_name_facts import library_of, number_format_of
from warpline.analysis.structure.kernels import full_names, tensor_cores_of
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]
_SHAPE = tuple(f"{part}_{axis}" for part in ("grid", "block") for axis in "xyz")
_STATISTICS = ("ratio", "total_ns", "count", "avg_ns", "min_ns", "max_ns")
_SCALED = {"blocks_per_sm": 100, "occupancy_ratio": 10_000}
"""Attributes that are not integers, and what makes them integers of the digits shown."""
_SINGLE = (
    Column("registers_per_thread", "Registers", Role.NUMBER, key=True),
    Column("static_shared_memory_bytes", "Static shared memory", Role.SIZE, key=True),
    Column("dynamic_shared_memory_bytes", "Dynamic shared memory", Role.SIZE, key=True),
    Column("blocks_per_sm", "Blocks per SM", Role.NUMBER, key=True),
    Column(
        "occupancy_ratio",
        "Occupancy",
        Role.RATIO,
        of=english("the warps a multiprocessor can hold"),
        key=True,
    ),
)


def kernel_configurations(view: View, _options: Options) -> Table | NotRecorded:
    """Kernels by name and every attribute of their launch that was recorded."""
    if not view.has("kernel"):
        return missing("kernel")
    attributes = view.capture.kinds["kernel"].attributes
    columns = [column for column in _SINGLE if column.name in attributes]
    groups = Groups()

    def batches() -> Iterator[tuple[npt.NDArray[Any], Int64Array]]:
        for events in view.batches("kernel"):
            values = [
                _whole_numbers(name, view.column("kernel", name, events.index))
                for name in (*_SHAPE, *(column.name for column in columns))
            ]
            yield groups.codes(full_names(view, events), *values), events.inside

    stats = batch_statistics(batches).by_total()
    name, *values = groups.columns(stats.key, 1 + len(_SHAPE) + len(columns))
    data: dict[str, Values] = {"name": name_texts(view, name)}
    data |= {key: values for key, values in stat_data(stats).items() if key in _STATISTICS}
    data |= {"grid": _text(values[:3]), "block": _text(values[3:6])}
    single = {
        column.name: value / _SCALED[column.name] if column.name in _SCALED else value
        for column, value in zip(columns, values[6:], strict=True)
        if not np.ma.getmaskarray(value).all()
    }
    data |= single
    data["tensor_cores"] = _tensor_cores(view, name, values[0])
    texts = view.capture.strings.get(np.ma.getdata(name).tolist())
    data |= {
        "number_format": [number_format_of(text) for text in texts],
        "library": [library_of(text) for text in texts],
    }
    return Table(
        (
            Column("name", "Name", Role.NAME, key=True),
            *(column for column in stat_columns(english("Instances"), LISTED) if column.name in _STATISTICS),
            Column("grid", "Grid", Role.TEXT, key=True),
            Column("block", "Block", Role.TEXT, key=True),
            *(column for column in columns if column.name in single),
            Column("tensor_cores", "Tensor cores", Role.FLAG),
            Column("number_format", "Number format", Role.TEXT),
            Column("library", "Library", Role.TEXT),
        ),
        data,
        targets=name_targets(view, name, "kernel"),
        scope=scope_text(view, english("Kernels by configuration")),
        notes=(english("Use of tensor cores, number format and library are guessed from kernel names."),),
    )


def _whole_numbers(name: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Values as integers that can be grouped; masked where not recorded."""
    if name not in _SCALED:
        return values
    known = ~np.ma.getmaskarray(values) & np.isfinite(np.ma.getdata(values))
    scaled = np.rint(np.where(known, np.ma.getdata(values), 0).astype(np.float64) * _SCALED[name])
    return np.ma.MaskedArray(np.clip(scaled, 0, 1 << 53).astype(np.int64), ~known)


def _text(sides: list[npt.NDArray[Any]]) -> list[str | None]:
    """Three columns as one text; None where not recorded."""
    known = ~np.any([np.ma.getmaskarray(side) for side in sides], axis=0)
    rows = zip(*(np.ma.getdata(side).tolist() for side in sides), known.tolist(), strict=True)
    return [f"{x} {y} {z}" if is_known else None for x, y, z, is_known in rows]


def _tensor_cores(view: View, names: npt.NDArray[Any], grid: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Whether kernels use tensor cores; masked where unknown.

    Kernels without a grid run on other accelerators, whose kernel names mean something else.
    """
    has_grid = not np.ma.getmaskarray(grid).all()
    texts = view.capture.strings.get(np.ma.getdata(names).tolist())
    uses = [tensor_cores_of(text) if has_grid else None for text in texts]
    return np.ma.MaskedArray([bool(use) for use in uses], [use is None for use in uses], bool)


report = ReportSpec(
    "kernel_configurations",
    "GPU kernels by configuration",
    "gpu",
    kernel_configurations,
    needs=("kernel",),
    place=112,
)
