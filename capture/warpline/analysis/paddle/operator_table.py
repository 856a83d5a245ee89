"""Table of operators and the lines below them as a tree, with CPU and GPU times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NO_NAME, Table, Targets, Texts, Values
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.framework.statistics import GroupStatistics
from warpline.analysis.framework.tables import combine_keys, kind_code, scope_text
from warpline.analysis.framework.thread_columns import thread_titles
from warpline.analysis.paddle.cpu_gpu import FIELDS, side_columns
from warpline.analysis.paddle.operator_groups import (
    LEVELS,
    OperatorGroups,
    OperatorLines,
    joined_groups,
    merged_groups,
)
from warpline.analysis.structure.event_types import type_code
from warpline.analysis.structure.host_events import HostEvents, ThreadEvents, merge_recursion
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]
_EXPLANATION = english(
    "GPU time is the whole time of work launched inside. "
    "Self time excludes the operators, parts and CUDA calls inside."
)
TextOf = Callable[[int], str] | None
"""Text of a code of the last level; None appends the code to the operator's name."""


def operator_lines(
    view: View, events: HostEvents, below: tuple[Int64Array, ...], options: Options
) -> OperatorLines:
    path = [events.name.astype(np.int64), *below]
    while len(path) < LEVELS:
        path.append(np.full(len(events), -1, np.int64))
    return OperatorLines(
        thread=events.thread if options.by_thread else np.zeros(len(events), np.int64),
        path=tuple(path),
        cpu_ns=events.cpu_ns,
        gpu_ns=events.gpu_ns,
        self_cpu_ns=events.self_cpu_ns,
        self_gpu_ns=events.self_gpu_ns,
        kind=np.full(len(events), kind_code(view, "operator"), np.int64),
    )


def merged(events: HostEvents) -> tuple[HostEvents, npt.NDArray[np.bool_]]:
    """The events with recursive calls merged into the outermost call, and which events remain."""
    outer = merge_recursion(events)
    remain = outer == np.arange(len(events))
    if remain.all():
        return events, remain

    def summed(values: Int64Array) -> Int64Array:
        return np.bincount(outer, weights=values, minlength=len(events)).astype(np.int64)

    parent = np.where(events.parent >= 0, outer[np.maximum(events.parent, 0)], -1)
    merged = replace(
        events, parent=parent, self_cpu_ns=summed(events.self_cpu_ns), self_gpu_ns=summed(events.self_gpu_ns)
    )
    return merged, remain


def operators_of(thread_events: ThreadEvents) -> HostEvents:
    """The operators of a thread, with recursive calls merged."""
    events, remain = merged(thread_events.events)
    return events.take(np.flatnonzero(remain & (events.type == type_code("Operator"))))


def operator_table(
    view: View, parts: list[OperatorGroups], options: Options, text: TextOf, scope: str
) -> Table:
    """The groups as a tree, siblings by descending total. Each of ``parts`` has a line at most once."""
    if not parts:
        return _empty(view, options, scope)
    groups = parts[0] if len(parts) == 1 else merged_groups(joined_groups(parts))
    sides = groups.sides()
    tree = _Tree(
        thread=groups.thread,
        path=np.stack(groups.path),
        has_cpu=groups.has_cpu,
        kind=groups.kind,
        cpu=sides.cpu,
        gpu=sides.gpu,
        self_cpu=groups.self_cpu,
        self_gpu=groups.self_gpu,
    )
    return _laid_out(view, tree, options, text, scope)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Tree:
    """The lines of the tree in no order."""

    thread: Int64Array
    path: npt.NDArray[np.int64]
    has_cpu: npt.NDArray[np.bool_]
    kind: Int64Array
    cpu: GroupStatistics
    gpu: GroupStatistics
    self_cpu: Int64Array
    self_gpu: Int64Array


def _laid_out(view: View, tree: _Tree, options: Options, text: TextOf, scope: str) -> Table:
    n = len(tree.thread)
    level = (tree.path >= 0).sum(0) - 1
    parent = _parents_in_tree(tree, level)
    order = _depth_first(tree, parent)
    position = np.empty(n, np.int64)
    position[order] = np.arange(n)
    is_top = level == 0
    tops = {
        thread: (
            int(tree.cpu.total[(tree.thread == thread) & is_top].sum()),
            int(tree.gpu.total[(tree.thread == thread) & is_top].sum()),
        )
        for thread in np.unique(tree.thread).tolist()
    }
    all_cpu = sum(cpu for cpu, _ in tops.values())
    all_gpu = sum(gpu for _, gpu in tops.values())
    safe = np.maximum(parent, 0)
    cpu_whole = np.where(parent >= 0, tree.cpu.total[safe], all_cpu).astype(np.float64)
    gpu_whole = np.where(parent >= 0, tree.gpu.total[safe], all_gpu).astype(np.float64)
    last = tree.path[level, np.arange(n)]
    strings = view.capture.strings
    if text is None:

        def numbered(i: int) -> str:
            name = strings[int(tree.path[0, i])]
            return f"{name} #{int(last[i])}" if level[i] else name

        names = Texts(order, numbered)
    else:
        names = Texts(last[order], text)
    no_cpu = ~tree.has_cpu[order]
    has_gpu = view.has(*GPU_KINDS)
    data: dict[str, Values] = {"name": names, "count": tree.cpu.count[order]}
    for side, stats, whole, gone in (
        ("cpu", tree.cpu, cpu_whole, no_cpu),
        ("gpu", tree.gpu, gpu_whole, np.full(n, not has_gpu)),
    ):
        for field in FIELDS:
            data[f"{side}_{field}_ns"] = np.ma.MaskedArray(getattr(stats, field)[order], gone)
        share = whole[order]
        data[f"{side}_ratio"] = np.ma.MaskedArray(
            stats.total[order] / np.where(share > 0, share, 1), gone | (share <= 0)
        )
    data["cpu_self_ns"] = np.ma.MaskedArray(tree.self_cpu[order], no_cpu)
    data["gpu_self_ns"] = np.ma.MaskedArray(tree.self_gpu[order], no_cpu | (not has_gpu))
    columns = [
        Column("name", "Name", Role.NAME, key=True),
        *side_columns(
            english("the parent; for operators, of all operators"),
            english("the parent; for operators, of all operators"),
        ),
        Column("cpu_self_ns", "CPU Self", Role.DURATION, lead=6),
        Column("gpu_self_ns", "GPU Self", Role.DURATION, lead=7),
    ]
    if options.by_thread:
        columns.insert(1, Column("thread", "Thread", Role.TEXT, key=True))
        titles = thread_titles(view)
        data["thread"] = [titles(int(thread)) for thread in tree.thread[order].tolist()]
    named = np.where(level == 1, tree.path[1], tree.path[0])
    named = np.where(level == 2, tree.path[2], named)
    if text is None or scope.endswith("shapes"):
        named = tree.path[0]
    return Table(
        tuple(columns),
        data,
        depth=level[order].astype(np.int16),
        targets=Targets(
            names=np.where(named[order] >= 0, named[order], int(NO_NAME)).astype(np.uint32),
            kinds=tree.kind[order].astype(np.int16),
        ),
        scope=scope_text(view, scope),
        notes=(_EXPLANATION,),
    )


def _parents_in_tree(tree: _Tree, level: Int64Array) -> Int64Array:
    """Index of the line above each line, −1 at the top."""
    n = len(level)
    above = tree.path.copy()
    above[np.maximum(level, 0), np.arange(n)] = -1
    columns = [np.concatenate([tree.thread, tree.thread])]
    columns += [np.concatenate([tree.path[i], above[i]]) for i in range(LEVELS)]
    key, first = combine_keys(*columns)
    place = np.full(len(first), -1, np.int64)
    owners = np.flatnonzero(tree.has_cpu)
    place[key[:n][owners]] = owners
    return np.where(level > 0, place[key[n:]], -1)


def _depth_first(tree: _Tree, parent: Int64Array) -> Int64Array:
    """Lines in depth-first order by thread, siblings by descending CPU and GPU total."""
    n = len(parent)
    weight = np.where(tree.has_cpu, tree.cpu.total, 0)
    rank = np.empty(n, np.int64)
    rank[np.lexsort((-tree.gpu.total, -weight, tree.thread))] = np.arange(n)
    # Each line and its ancestors up to the top.
    chain = [np.arange(n)]
    for _ in range(LEVELS - 1):
        last = chain[-1]
        chain.append(np.where(last >= 0, parent[np.maximum(last, 0)], -1))
    depth = sum((link >= 0).astype(np.int64) for link in chain) - 1
    keys = []
    for level in range(LEVELS):
        ancestor = np.full(n, -1, np.int64)
        for up, link in enumerate(chain):
            here = depth - up == level
            ancestor[here] = link[here]
        keys.append(np.where(ancestor >= 0, rank[np.maximum(ancestor, 0)], -1))
    return np.lexsort(tuple(reversed(keys))).astype(np.int64)


def _empty(view: View, options: Options, scope: str) -> Table:
    """A table without rows, for a range without operators."""
    columns: list[Column] = [
        Column("name", "Name", Role.NAME, key=True),
        *side_columns(english("the parent"), english("the parent")),
        Column("cpu_self_ns", "CPU Self", Role.DURATION, lead=6),
        Column("gpu_self_ns", "GPU Self", Role.DURATION, lead=7),
    ]
    if options.by_thread:
        columns.insert(1, Column("thread", "Thread", Role.TEXT, key=True))
    empty: dict[str, Values] = {
        column.name: [] if column.role in {Role.NAME, Role.TEXT} else np.empty(0, np.int64)
        for column in columns
    }
    return Table(tuple(columns), empty, depth=np.empty(0, np.int16), scope=scope_text(view, scope))
