"""Paddle's older report: total, computation and framework time, copies, and the event tree."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.cpu_gpu import Sides, side_columns, side_data
from warpline.analysis.event_types import MEMORY_OPERATION
from warpline.analysis.gpus import windows_of
from warpline.analysis.host_events import TREE_KINDS, ThreadEvents, threads_with_events
from warpline.analysis.nesting import levels
from warpline.analysis.options import Options
from warpline.analysis.overlap import combination_times
from warpline.analysis.report import Column, NotRecorded, Table, Targets, Values, unrecorded
from warpline.analysis.selection import GPU_KINDS, View, join_events, matching_names
from warpline.analysis.statistics import group_statistics
from warpline.analysis.tables import missing, scope_text, thread_titles

Int64Array = npt.NDArray[np.int64]
_COMPUTE = re.compile(r"(::|/| )compute$| kernel launch$", re.IGNORECASE)


def events(view: View, options: Options) -> Table | NotRecorded:
    """The tree of host events: every path of names, with CPU and GPU time."""
    if not view.has(*TREE_KINDS):
        return missing("operator")
    merged = _Paths()
    for found in threads_with_events(view):
        merged.add(found, found.thread if options.by_thread else 0)
    order, sides = merged.laid_out()
    strings = view.capture.strings
    titles = thread_titles(view)
    prefix = [f"{titles(merged.threads[i])}::" if options.by_thread else "" for i in order.tolist()]
    names = [prefix[place] + strings[merged.names[i]] for place, i in enumerate(order.tolist())]
    roots = [i for i, above in enumerate(merged.parents) if above < 0]
    cpu_whole = float(sides.cpu.total[roots].sum()) if roots else 0.0
    gpu_whole = float(sides.gpu.total[roots].sum()) if roots else 0.0
    data: dict[str, Values] = {"name": names, **side_data(sides, order, cpu_whole, gpu_whole)}
    total = sides.cpu.total[order] + sides.gpu.total[order]
    data["total_ns"] = total
    data["ratio"] = total / max(cpu_whole + gpu_whole, 1)
    if not view.has(*GPU_KINDS):
        for key in [k for k in data if k.startswith("gpu_")]:
            data[key] = unrecorded(len(order), np.float64)
    of = "the outermost events together"
    return Table(
        (
            Column("name", "Event"),
            *side_columns(of, of),
            Column("total_ns", "Total", "ns"),
            Column("ratio", "Ratio", "ratio", "CPU and GPU time of " + of),
        ),
        data,
        depth=np.array([merged.levels[i] for i in order.tolist()], np.int16),
        targets=Targets(names=np.array([merged.names[i] for i in order.tolist()], np.uint32)),
        scope=scope_text(view, "Host events"),
        notes=tuple(_summary(view)),
    )


class _Paths:
    """Nodes of a tree of names, merged over events and threads."""

    def __init__(self) -> None:
        self.names: list[int] = []
        self.parents: list[int] = []
        self.threads: list[int] = []
        self.levels: list[int] = []
        self._known: dict[tuple[int, int, int], int] = {}
        self._keys: list[Int64Array] = []
        self._cpu: list[Int64Array] = []
        self._gpu: list[Int64Array] = []

    def add(self, found: ThreadEvents, thread: int) -> None:
        """Add the events of a thread: level by level, each distinct (node above, name) is one node."""
        events = found.events
        node = np.full(len(events), -1, np.int64)
        level = levels(events.parent)
        for depth in range(int(level.max(initial=-1)) + 1):
            here = np.flatnonzero(level == depth)
            above = np.where(events.parent[here] >= 0, node[np.maximum(events.parent[here], 0)], -1)
            key = ((above + 1) << 32) | events.name[here].astype(np.int64)
            distinct, inverse = np.unique(key, return_inverse=True)
            nodes = [self._node(thread, (k >> 32) - 1, k & 0xFFFFFFFF, depth) for k in distinct.tolist()]
            node[here] = np.array(nodes, np.int64)[inverse]
        self._keys.append(node)
        self._cpu.append(np.maximum(events.cpu_ns, 0))
        self._gpu.append(events.gpu_ns)

    def _node(self, thread: int, above: int, name: int, depth: int) -> int:
        key = (thread, above, name)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self.names)
            self.names.append(name)
            self.parents.append(above)
            self.threads.append(thread)
            self.levels.append(depth)
        return found

    def laid_out(self) -> tuple[Int64Array, Sides]:
        """Nodes in the order of a printed tree, larger siblings first, and their statistics by node."""
        keys = np.concatenate([np.empty(0, np.int64), *self._keys])
        sides = Sides(
            group_statistics(keys, np.concatenate([np.empty(0, np.int64), *self._cpu])),
            group_statistics(keys, np.concatenate([np.empty(0, np.int64), *self._gpu])),
        )
        children: dict[int, list[int]] = {}
        for node, above in enumerate(self.parents):
            children.setdefault(above, []).append(node)
        weight = (sides.cpu.total + sides.gpu.total).tolist()
        order: list[int] = []
        pending = sorted(children.get(-1, []), key=lambda i: (-self.threads[i], weight[i]))
        while pending:
            node = pending.pop()
            order.append(node)
            pending += sorted(children.get(node, []), key=weight.__getitem__)
        return np.array(order, np.int64), sides


@dataclass(frozen=True)
class OlderTotals:
    """What the head of the older report says, in ns: lengths of unions over all threads."""

    total: int
    computation: int
    copies: int

    @property
    def framework(self) -> int:
        """Everything outside the operators' computation and the copies."""
        return self.total - self.computation - self.copies


def older_totals(view: View) -> OlderTotals:
    """Total, computation and copy time of the host side of a selection.

    Computation is the compute (or kernel launch) part of operators, and whole operators where no parts were recorded.
    """
    compute = matching_names(view.capture, _COMPUTE)
    copy = matching_names(view.capture, MEMORY_OPERATION)
    tracks = frozenset(t.index for t in view.capture.tracks if t.device is None)
    kinds = tuple(kind for kind in TREE_KINDS if kind in view.capture.kinds)
    has_parts = any(bool(compute[part.name].any()) for kind in kinds for part in view.batches(kind, tracks))
    times = np.zeros(8, np.int64)
    for window in windows_of(view, tracks, kinds=kinds):
        parts = [(kind, window.events(kind, tracks)) for kind in kinds]
        everything = join_events([part for _, part in parts if len(part)])
        operators = join_events([part for kind, part in parts if kind == "operator" and len(part)])
        chosen = everything.take(compute[everything.name]) if has_parts else operators
        copies = everything.take(copy[everything.name])
        sets = [(e.start, e.stop) for e in (everything, chosen, copies)]
        times += combination_times(sets, window.start_ns, window.stop_ns)
    mask = np.arange(8)
    total = int(times[(mask & 1) != 0].sum())
    copies_ns = int(times[(mask & 4) != 0].sum())
    computation = int(times[((mask & 2) != 0) & ((mask & 4) == 0)].sum())
    return OlderTotals(total, computation, copies_ns)


def _summary(view: View) -> list[str]:
    totals = older_totals(view)

    def share(part: int) -> str:
        return f"{part / 1e6:,.3f} ms ({part / totals.total:.1%} of it)" if totals.total else "0"

    place = "All" if view.has(*GPU_KINDS) else "CPU"
    computation, framework = share(totals.computation), share(totals.framework)
    return [
        f"Place: {place}. Total time, the union of all host events: {totals.total / 1e6:,.3f} ms.",
        f"Computation time: {computation}.",
        f"Framework overhead, all outside computation and copies: {framework}.",
        f"Copies and sets: {share(totals.copies)}.",
    ]
