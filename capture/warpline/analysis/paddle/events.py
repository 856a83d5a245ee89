"""Paddle's older report: the event tree, and where the time of the host goes."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Values, unrecorded
from warpline.analysis.framework.selection import GPU_KINDS, View, join_events
from warpline.analysis.framework.tables import masked_below_zero, missing, ratio, scope_text
from warpline.analysis.framework.thread_columns import thread_titles
from warpline.analysis.paddle.cpu_gpu import Sides, plain_statistics, side_columns, side_data
from warpline.analysis.structure.event_types import MEMORY_OPERATION
from warpline.analysis.structure.gpus import windows_of
from warpline.analysis.structure.host_events import TREE_KINDS, ThreadEvents, threads_with_events
from warpline.analysis.structure.overlap import combination_times, time_of
from warpline.analysis.structure.path_tree import Lines, PathTree, depth_first, joined_tree, thread_tree
from warpline.i18n import tr

Int64Array = npt.NDArray[np.int64]
_COMPUTE = re.compile(r"(::|/| )compute$| kernel launch$", re.IGNORECASE)
_EVENT, _COMPUTING, _ASYNC, _SYNC = 1, 2, 4, 8
"""Bits of what the host does at a moment, in combinations of `warpline.analysis.structure.overlap`."""
_ASYNCHRONOUS = re.compile("async", re.IGNORECASE)


def events(view: View, options: Options) -> Table | NotRecorded:
    """The tree of host events: paths of names, with CPU and GPU time."""
    if not view.has(*TREE_KINDS):
        return missing("operator")
    tree = joined_tree([_thread_tree(found, options) for found in threads_with_events(view)])
    order = depth_first(tree)
    strings = view.capture.strings
    titles = thread_titles(view)
    names = [
        (f"{titles(root)}::" if options.by_thread else "") + strings[name]
        for root, name in zip(tree.lines.root[order].tolist(), tree.lines.name[order].tolist(), strict=True)
    ]
    _, count, cpu, gpu = tree.lines.sums or (np.empty(0, np.int64),) * 4
    lows = tree.lines.lows or (np.empty(0, np.int64),) * 2
    highs = tree.lines.highs or (np.empty(0, np.int64),) * 2
    sides = Sides(
        plain_statistics(count, cpu, lows[0], highs[0]), plain_statistics(count, gpu, lows[1], highs[1])
    )
    whole = tree.whole or (0, 0, 0, 0)
    data: dict[str, Values] = {"name": names, **side_data(sides, order, float(whole[2]), float(whole[3]))}
    total = (cpu + gpu)[order]
    data["total_ns"] = total
    data["ratio"] = ratio(total, whole[2] + whole[3])
    if not view.has(*GPU_KINDS):
        for key in [k for k in data if k.startswith("gpu_")]:
            data[key] = unrecorded(len(order), np.float64)
    of = "the outermost events together"
    return Table(
        (
            Column("name", "Event", Role.NAME, key=True),
            *side_columns(of, of),
            Column("total_ns", "Total", Role.DURATION),
            Column("ratio", "Ratio", Role.SHARE, "CPU and GPU time of " + of, heat=True),
        ),
        data,
        depth=tree.level[order].astype(np.int16),
        targets=Targets(names=tree.lines.name[order].astype(np.uint32)),
        scope=scope_text(view, "Host events"),
        notes=(*_cut_note(tree), *_head_notes(view)),
    )


def _thread_tree(found: ThreadEvents, options: Options) -> PathTree:
    events = found.events
    cpu = np.maximum(events.cpu_ns, 0)
    return thread_tree(
        Lines(
            np.full(len(events), found.thread if options.by_thread else 0, np.int64),
            events.name.astype(np.int64),
            events.parent,
            (cpu + events.gpu_ns, np.ones(len(events), np.int64), cpu, events.gpu_ns),
            (cpu, events.gpu_ns),
            (cpu, events.gpu_ns),
        )
    )


def _cut_note(tree: PathTree) -> list[str]:
    if not tree.is_cut:
        return []
    note = tr(
        "Cut to {count} lines, {levels} levels deep; the time of what lies deeper is in the lines above it.",
        count=f"{len(tree.level):,}",
        levels=int(tree.level.max(initial=0)) + 1,
    )
    if tree.left_out:
        left_out = f"{tree.left_out:,}"
        note += " " + tr("Of the last level the shortest {left_out} are missing.", left_out=left_out)
    return [note + " " + tr("A time range or a thread shows more.")]


def _head_notes(view: View) -> list[str]:
    """The head of the older report, one sentence per row of `framework_overhead`."""
    table = framework_overhead(view, Options())
    if isinstance(table, NotRecorded):
        return []
    notes = []
    for row in table.rows():
        if row["total_ns"] is None:
            continue
        calls = "" if row["count"] is None else tr("{count} calls, ", count=f"{row['count']:,}")
        share = "" if row["ratio"] is None else f" ({row['ratio']:.1%})"
        notes.append(f"{row['name']}: {calls}{row['total_ns'] / 1e6:,.3f} ms{share}")
    return [
        tr("Place: {place}.", place="All" if view.has(*GPU_KINDS) else "CPU") + " " + "; ".join(notes) + "."
    ]


def framework_overhead(view: View, _options: Options) -> Table | NotRecorded:
    """The head of the older report: computation, framework overhead and copies, as unions over all threads.

    Computation is the compute (or kernel launch) part of operators, and whole operators where no parts were recorded.
    Copies are ranges that say so, else CUDA calls that copy or set memory. The overhead is all outside both.
    """
    if not view.has(*TREE_KINDS):
        return missing("operator")
    host = _HostTimes(view)
    if not (host.has_parts or view.has("operator")):
        return missing("operator")
    times, copying = host.times, _ASYNC | _SYNC
    names = ["Total", "Computation", "Framework overhead", "Copies and sets", "Asynchronous", "Synchronous"]
    total = np.array(
        [
            time_of(times, _EVENT),
            time_of(times, _COMPUTING, copying),
            time_of(times, _EVENT, _COMPUTING | copying),
            *(time_of(times, bits) for bits in (copying, _ASYNC, _SYNC)),
        ],
        np.int64,
    )
    count = np.array([-1, -1, -1, sum(host.copies), *host.copies], np.int64)
    has_copies = any(host.copies)
    absent = np.array([False] * 3 + [not has_copies] * 3)
    notes = [
        "Lengths of unions over all threads; synchronous and asynchronous copies of two threads may overlap."
    ]
    if not has_copies:
        notes.append("Copies: not recorded, because no range and no CUDA call copies or sets memory.")
    return Table(
        (
            Column("name", "Name", Role.NAME, key=True),
            Column("count", "Calls", Role.COUNT),
            Column("total_ns", "Total Time", Role.DURATION),
            Column("ratio", "Ratio", Role.SHARE, "the union of all host events", heat=True, lead=1),
        ),
        {
            "name": names,
            "count": masked_below_zero(np.where(absent, -1, count)),
            "total_ns": np.ma.MaskedArray(total, absent),
            "ratio": np.ma.MaskedArray(ratio(total, int(total[0])), absent | (total[0] == 0)),
        },
        depth=np.array([0, 1, 1, 1, 2, 2], np.int16),
        scope=scope_text(view, "Host events"),
        notes=tuple(notes),
    )


class _HostTimes:
    """When the host did what: ``times`` by combination of the bits above, ``copies`` calls (asynchronous, synchronous).

    Copies are ranges, or CUDA calls where no range says that it copies.
    """

    def __init__(self, view: View) -> None:
        self._tracks = frozenset(t.index for t in view.capture.tracks if t.device is None)
        self._kinds = tuple(kind for kind in TREE_KINDS if kind in view.capture.kinds)
        self._compute = matching_names(view.capture, _COMPUTE)
        self._copy = matching_names(view.capture, MEMORY_OPERATION)
        self._asynchronous = matching_names(view.capture, _ASYNCHRONOUS)
        self.has_parts = any(self._count(view, kind, self._compute) for kind in self._kinds)
        self._copying = self._kinds
        if not any(self._count(view, kind, self._copy) for kind in self._kinds):
            self._copying = tuple(kind for kind in ("cuda_api",) if kind in view.capture.kinds)
        found = sum(self._count(view, kind, self._copy) for kind in self._copying)
        asynchronous = sum(self._count(view, kind, self._copy & self._asynchronous) for kind in self._copying)
        self.copies = (asynchronous, found - asynchronous)
        self.times = np.zeros(16, np.int64)
        for window in windows_of(view, self._tracks, kinds=(*self._kinds, *self._copying)):
            self.times += self._in_window(window)

    def _count(self, view: View, kind: str, wanted: npt.NDArray[np.bool_]) -> int:
        """How many selected events of a kind have one of the wanted names."""
        return sum(int(wanted[part.name].sum()) for part in view.batches(kind, self._tracks))

    def _in_window(self, window: View) -> Int64Array:
        kinds = {kind: window.events(kind, self._tracks) for kind in {*self._kinds, *self._copying}}
        nested = join_events([kinds[kind] for kind in self._kinds])
        copying = join_events([kinds[kind] for kind in self._copying])
        copies = copying.take(self._copy[copying.name])
        whole = kinds.get("operator", join_events([]))
        computing = nested.take(self._compute[nested.name]) if self.has_parts else whole
        is_async = self._asynchronous[copies.name]
        sets = (join_events([nested, copies]), computing, copies.take(is_async), copies.take(~is_async))
        return combination_times([(part.start, part.stop) for part in sets], window.start_ns, window.stop_ns)
