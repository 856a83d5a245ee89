"""Nsight's summaries of CUDA calls, kernels and copies, under its names and with its definitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Values
from warpline.analysis.framework.selection import Events, View
from warpline.analysis.framework.statistics import GroupStatistics, batch_statistics
from warpline.analysis.framework.tables import (
    Groups,
    computed_by_name,
    kind_code,
    missing,
    name_targets,
    name_texts,
    scope_text,
    stat_columns,
    stat_data,
    statistics_by_name,
)
from warpline.analysis.structure.kernels import full_names

Int64Array = npt.NDArray[np.int64]
COPY_OPERATIONS = {
    0: "[CUDA memcpy]",
    1: "[CUDA memcpy Host-to-Device]",
    2: "[CUDA memcpy Device-to-Host]",
    3: "[CUDA memcpy Host-to-Array]",
    4: "[CUDA memcpy Array-to-Host]",
    5: "[CUDA memcpy Array-to-Array]",
    6: "[CUDA memcpy Array-to-Device]",
    7: "[CUDA memcpy Device-to-Array]",
    8: "[CUDA memcpy Device-to-Device]",
    9: "[CUDA memcpy Host-to-Host]",
    10: "[CUDA memcpy Peer-to-Peer]",
    11: "[CUDA memcpy Unified Host-to-Device]",
    12: "[CUDA memcpy Unified Device-to-Host]",
    13: "[CUDA memcpy Unified Device-to-Device]",
}
MEMSET_OPERATION = "[CUDA memset]"
_MEMSET = 64
_NAME = Column("name", "Name", Role.NAME, key=True)
_LISTED = "the total listed here"


def cuda_api_sum(view: View, options: Options) -> Table | NotRecorded:
    """CUDA API calls by name."""
    if not view.has("cuda_api"):
        return missing("cuda_api")
    stats = statistics_by_name(view, "cuda_api", options)
    return Table(
        (*stat_columns("Num Calls", _LISTED), _NAME),
        {**stat_data(stats), "name": name_texts(view, stats.key)},
        targets=name_targets(view, stats.key, "cuda_api"),
        scope=scope_text(view, "CUDA API calls"),
    )


def kernel_statistics(view: View, options: Options) -> GroupStatistics:
    """Statistics of kernels by full name (string ids), largest total first."""
    if "demangled_name" not in view.capture.kinds["kernel"].attributes:
        return statistics_by_name(view, "kernel", options)

    def batches() -> Iterator[tuple[npt.NDArray[Any], Int64Array]]:
        for events in view.batches("kernel"):
            yield full_names(view, events), events.inside

    return computed_by_name(view, batches, options)


def cuda_gpu_kern_sum(view: View, options: Options) -> Table | NotRecorded:
    """Kernels by name."""
    if not view.has("kernel"):
        return missing("kernel")
    stats = kernel_statistics(view, options)
    return Table(
        (*stat_columns("Instances", _LISTED), _NAME),
        {**stat_data(stats), "name": name_texts(view, stats.key)},
        targets=name_targets(view, stats.key, "kernel"),
        scope=scope_text(view, "Kernels"),
    )


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
            *stat_columns("Instances", _LISTED),
            Column("grid_xyz", "GridXYZ", Role.TEXT, key=True),
            Column("block_xyz", "BlockXYZ", Role.TEXT, key=True),
            _NAME,
        ),
        data,
        targets=name_targets(view, name, "kernel"),
        scope=scope_text(view, "Kernels"),
    )


def _xyz(columns: list[npt.NDArray[Any]]) -> list[str | None]:
    """Three columns as one text; None where not recorded."""
    known = ~np.any([np.ma.getmaskarray(column) for column in columns], axis=0)
    x, y, z = (np.ma.getdata(column).tolist() for column in columns)
    return [f"{a} {b} {c}" if ok else None for a, b, c, ok in zip(x, y, z, known.tolist(), strict=True)]


def _memory_batches(view: View, value: str) -> Iterator[tuple[npt.NDArray[Any], Int64Array]]:
    """Copies and sets as (operation, time inside or bytes)."""
    for kind in ("memcpy", "memset"):
        if kind not in view.capture.kinds:
            continue
        for events in view.batches(kind):
            if kind == "memset":
                key = np.full(len(events), _MEMSET, np.int64)
            else:
                copy = view.column("memcpy", "copy_kind", events.index)
                key = _known_copy(copy)
            if value == "ns":
                yield key, events.inside
                continue
            size = view.column(kind, "bytes", events.index)
            known = ~np.ma.getmaskarray(size)
            yield key[known], np.maximum(np.ma.getdata(size)[known].astype(np.int64), 0)


def _known_copy(kind: npt.NDArray[Any]) -> Int64Array:
    """Codes of directions, 0 for those that are missing or have no name."""
    code = np.ma.filled(kind, 0).astype(np.int64)
    return np.where(np.isin(code, list(COPY_OPERATIONS)), code, 0)


def _operation(key: int) -> str:
    return MEMSET_OPERATION if key == _MEMSET else COPY_OPERATIONS[key]


def _operation_targets(view: View, keys: Int64Array) -> Targets:
    codes = [kind_code(view, "memset" if key == _MEMSET else "memcpy") for key in keys.tolist()]
    return Targets(kinds=np.array(codes, np.int16))


def cuda_gpu_mem_time_sum(view: View, _options: Options) -> Table | NotRecorded:
    """Time of copies and sets by direction."""
    if not view.has("memcpy", "memset"):
        return missing("memory_operations")
    stats = batch_statistics(lambda: _memory_batches(view, "ns")).by_total()
    return Table(
        (*stat_columns("Count", _LISTED), Column("operation", "Operation", Role.NAME, key=True)),
        {**stat_data(stats), "operation": [_operation(key) for key in stats.key.tolist()]},
        targets=_operation_targets(view, stats.key),
        scope=scope_text(view, "Copies and sets"),
    )


def cuda_gpu_mem_size_sum(view: View, _options: Options) -> Table | NotRecorded:
    """Bytes of copies and sets by direction."""
    if not view.has("memcpy", "memset"):
        return missing("memory_operations")
    stats = batch_statistics(lambda: _memory_batches(view, "bytes")).by_total()
    return Table(
        (
            *stat_columns("Count", "", with_ratio=False, role=Role.SIZE),
            Column("operation", "Operation", Role.NAME, key=True),
        ),
        {
            **stat_data(stats, with_ratio=False, role=Role.SIZE),
            "operation": [_operation(key) for key in stats.key.tolist()],
        },
        targets=_operation_targets(view, stats.key),
        scope=scope_text(view, "Bytes of copies and sets"),
        notes=("A copy counts with all its bytes when any part of it lies in the range.",),
    )


def _sections(view: View, options: Options, with_api: bool) -> Table | NotRecorded:
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
        stats = batch_statistics(lambda: _memory_batches(view, "ns"))
        texts = [_operation(key) for key in stats.key.tolist()]
        targets = Targets(
            names=np.full(len(stats), 0xFFFFFFFF, np.uint32), kinds=_operation_targets(view, stats.key).kinds
        )
        sections.append(("MEMORY_OPER", stats, texts, targets))
    if not sections:
        return missing("gpu")
    operations: list[str | None] = [text for _, _, texts, _ in sections for text in texts]
    categories: list[str | None] = [name for name, stats, _, _ in sections for _ in range(len(stats))]
    joined = GroupStatistics(
        *(
            np.concatenate([getattr(stats, field) for _, stats, _, _ in sections])
            for field in ("key", "count", "total", "avg", "med", "min", "max", "stddev")
        )
    )
    table = Table(
        (
            *stat_columns("Instances", _LISTED),
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


def cuda_gpu_sum(view: View, options: Options) -> Table | NotRecorded:
    """Kernels and memory operations in one list."""
    return _sections(view, options, with_api=False)


def cuda_api_gpu_sum(view: View, options: Options) -> Table | NotRecorded:
    """CUDA API calls, kernels and memory operations in one list."""
    return _sections(view, options, with_api=True)


def throughput(sizes: npt.NDArray[Any], durations: Int64Array) -> npt.NDArray[Any]:
    """Bytes per second of copies; masked where the size is unknown or the duration 0."""
    unknown = np.ma.getmaskarray(sizes) | (durations <= 0)
    seconds = np.where(unknown, 1, durations) / 1e9
    return np.ma.MaskedArray(np.ma.getdata(sizes) / seconds, unknown)


def memory_operation_names(view: View, kind: str, events: Events) -> list[str]:
    """Nsight's name of each copy or set."""
    if kind == "memset":
        return [MEMSET_OPERATION] * len(events)
    copy = _known_copy(view.column("memcpy", "copy_kind", events.index))
    return [_operation(key) for key in copy.tolist()]
