"""Sums operators, their parts and kernels by line of the operator table."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.loops.entries import FIGURES, EntryTable
from warpline.analysis.framework.loops.nested import BY_CALL, WITH_PARTS
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import combine_keys, kind_code, reduce_groups
from warpline.analysis.paddle.cpu_gpu import Sides, plain_statistics
from warpline.analysis.structure.nested.nested_sums import typed_sums

Int64Array = npt.NDArray[np.int64]
LEVELS = 3
"""An operator, its part, a kernel."""


@dataclass(frozen=True, eq=False, kw_only=True)
class OperatorLines:
    """Events to sum by ``path``: operator, part, kernel (−1 above that level).

    ``cpu_ns`` and ``self_*`` are −1 for lines without them (kernels).
    """

    thread: Int64Array
    path: tuple[Int64Array, ...]
    cpu_ns: Int64Array
    gpu_ns: Int64Array
    self_cpu_ns: Int64Array
    self_gpu_ns: Int64Array
    kind: Int64Array


@dataclass(frozen=True, eq=False, kw_only=True)
class OperatorGroups:
    """Sums of lines: arrays of equal length."""

    thread: Int64Array
    path: tuple[Int64Array, ...]
    has_cpu: npt.NDArray[np.bool_]
    kind: Int64Array
    count: Int64Array
    cpu_total: Int64Array
    cpu_min: Int64Array
    cpu_max: Int64Array
    gpu_total: Int64Array
    gpu_min: Int64Array
    gpu_max: Int64Array
    self_cpu: Int64Array
    self_gpu: Int64Array

    def sides(self, index: Int64Array | slice = slice(None)) -> Sides:
        """Statistics of CPU and GPU time of the groups at ``index``."""
        return Sides(
            *(
                plain_statistics(
                    self.count[index],
                    *(getattr(self, f"{side}_{part}")[index] for part in ("total", "min", "max")),
                )
                for side in ("cpu", "gpu")
            )
        )


_NONE = np.empty(0, np.int64)
_FIGURE_OF_FIELD = dict(zip([item.name for item in fields(OperatorGroups)][4:], FIGURES, strict=True))
NO_GROUPS = OperatorGroups(
    thread=_NONE,
    path=(_NONE,) * LEVELS,
    has_cpu=np.empty(0, bool),
    kind=_NONE,
    **dict.fromkeys(_FIGURE_OF_FIELD, _NONE),
)


def summed(lines: list[OperatorLines]) -> list[OperatorGroups]:
    """The sums of the lines of one thread, so that memory holds the events of one thread at a time."""
    result = []
    for line in lines:
        if len(line.thread):
            cpu = np.maximum(line.cpu_ns, 0)
            groups = OperatorGroups(
                thread=line.thread,
                path=line.path,
                has_cpu=line.cpu_ns >= 0,
                kind=line.kind,
                count=np.ones(len(line.thread), np.int64),
                **dict.fromkeys(("cpu_total", "cpu_min", "cpu_max"), cpu),
                **dict.fromkeys(("gpu_total", "gpu_min", "gpu_max"), line.gpu_ns),
                self_cpu=np.maximum(line.self_cpu_ns, 0),
                self_gpu=np.maximum(line.self_gpu_ns, 0),
            )
            result.append(merged_groups(groups))
    return result


def compiled_groups(
    view: View, type_name: str, way: int = WITH_PARTS, *, by_thread: bool, **calls: Any
) -> list[OperatorGroups] | None:
    """The groups of `typed_sums` of all threads, or of each thread; None if the loops are not compiled.

    ``calls`` are further arguments of `typed_sums`.
    """
    parts = []
    with EntryTable() as joined:
        table = None if by_thread else joined
        for thread, sums in typed_sums(view, type_name, way, table=table, **calls):
            if sums is None:
                return None
            if len(sums.entries):
                parts.append(_of_entries(view, sums.entries, thread, way))
        entries = joined.entries()
    return [*parts, _of_entries(view, entries, 0, way)] if len(entries) else parts


def _of_entries(view: View, entries: npt.NDArray[Any], thread: int, way: int) -> OperatorGroups:
    path = tuple(np.ascontiguousarray(column) for column in entries["key"].T)
    has_cpu = path[2] == -1
    path = (*path[:2], np.maximum(path[2], -1))
    # Keys are unique, so the first row of each ascending key is an order.
    _, order = combine_keys(*path, has_cpu)
    path, has_cpu = tuple(column[order] for column in path), has_cpu[order]
    is_operator = has_cpu & ((path[1] < 0) | (way == BY_CALL))
    return OperatorGroups(
        thread=np.full(len(order), thread, np.int64),
        path=path,
        has_cpu=has_cpu,
        kind=np.where(is_operator, kind_code(view, "operator"), entries["kind"][order]),
        **{field: entries[name][order] for field, name in _FIGURE_OF_FIELD.items()},
    )


def merged_groups(groups: OperatorGroups) -> OperatorGroups:
    """Equal lines merged. CPU time distinguishes a part from a kernel of the same name."""
    key, first = combine_keys(groups.thread, *groups.path, groups.has_cpu)
    names = list(_FIGURE_OF_FIELD)
    ways = [np.minimum if "_min" in name else np.maximum if "_max" in name else np.add for name in names]
    sums = reduce_groups(key, first, [getattr(groups, name) for name in names], ways)
    return OperatorGroups(
        thread=groups.thread[first],
        path=tuple(column[first] for column in groups.path),
        has_cpu=groups.has_cpu[first],
        kind=groups.kind[first],
        **dict(zip(names, sums, strict=True)),
    )


def joined_groups(parts: list[OperatorGroups]) -> OperatorGroups:
    paths = tuple(np.concatenate([part.path[level] for part in parts]) for level in range(LEVELS))
    columns = {
        item.name: np.concatenate([getattr(part, item.name) for part in parts])
        for item in fields(OperatorGroups)
        if item.name != "path"
    }
    return OperatorGroups(path=paths, **columns)
