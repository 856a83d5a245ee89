"""The event tree of Paddle's older report."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Values
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.framework.tables import ratio, scope_text
from warpline.analysis.framework.thread_columns import thread_titles
from warpline.analysis.paddle.cpu_gpu import Sides, plain_statistics, side_columns, side_data
from warpline.analysis.paddle.framework_overhead import framework_overhead
from warpline.analysis.structure.host_events import TREE_KINDS, ThreadEvents, threads_with_events
from warpline.analysis.structure.nested.nested_sums import path_trees
from warpline.analysis.structure.nested.path_tree import (
    MAX_PATHS,
    Lines,
    PathTree,
    depth_first,
    joined_tree,
    thread_tree,
)
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]


def events(view: View, options: Options) -> Table | NotRecorded:
    """The tree of host events by path of names, with CPU and GPU time."""
    if not view.has(*TREE_KINDS):
        return missing("operator")
    trees = path_trees(view, TREE_KINDS, MAX_PATHS, True, _columns, options.by_thread)
    if trees is None:
        trees = [_thread_tree(thread_events, options) for thread_events in threads_with_events(view)]
    tree = joined_tree(trees)
    order = depth_first(tree)
    texts = view.capture.strings.get(tree.lines.name[order].tolist())
    titles = thread_titles(view)
    names = [
        (f"{titles(root)}::" if options.by_thread else "") + text
        for root, text in zip(tree.lines.root[order].tolist(), texts, strict=True)
    ]
    _, count, cpu, gpu = tree.lines.sums or (np.empty(0, np.int64),) * 4
    lows = tree.lines.lows or (np.empty(0, np.int64),) * 2
    highs = tree.lines.highs or (np.empty(0, np.int64),) * 2
    sides = Sides(
        plain_statistics(count, cpu, lows[0], highs[0]), plain_statistics(count, gpu, lows[1], highs[1])
    )
    whole = tree.whole or (0, 0, 0, 0)
    data: dict[str, Values] = {
        "name": names,
        **side_data(sides, order, float(whole[2]), float(whole[3]), has_gpu=view.has(*GPU_KINDS)),
    }
    total = (cpu + gpu)[order]
    data["total_ns"] = total
    data["ratio"] = ratio(total, whole[2] + whole[3])
    outermost = english("all outermost events")
    return Table(
        (
            Column("name", "Event", Role.NAME, key=True),
            *side_columns(outermost, outermost),
            Column("total_ns", "Total", Role.DURATION),
            Column(
                "ratio",
                "Ratio",
                Role.SHARE,
                of=english("CPU and GPU time of {what}", what=outermost),
                heat=True,
            ),
        ),
        data,
        depth=tree.level[order].astype(np.int32),
        targets=Targets(names=tree.lines.name[order].astype(np.uint32)),
        scope=scope_text(view, english("Host events")),
        notes=(*_cut_note(tree), *_head_notes(view)),
    )


def _columns(entries: npt.NDArray[Any]) -> tuple[tuple[Int64Array, ...], ...]:
    """The columns of `_thread_tree`, from sums by path."""
    count, cpu, gpu = entries["count"], entries["cpu"], entries["gpu"]
    return (
        (cpu + gpu, count, cpu, gpu),
        (entries["cpu_min"], entries["gpu_min"]),
        (entries["cpu_max"], entries["gpu_max"]),
    )


def _thread_tree(thread_events: ThreadEvents, options: Options) -> PathTree:
    events = thread_events.events
    cpu = np.maximum(events.cpu_ns, 0)
    return thread_tree(
        Lines(
            root=np.full(len(events), thread_events.thread if options.by_thread else 0, np.int64),
            name=events.name.astype(np.int64),
            parent=events.parent,
            sums=(cpu + events.gpu_ns, np.ones(len(events), np.int64), cpu, events.gpu_ns),
            lows=(cpu, events.gpu_ns),
            highs=(cpu, events.gpu_ns),
        ),
        MAX_PATHS,
    )


def _cut_note(tree: PathTree) -> list[str]:
    if not tree.is_cut:
        return []
    note = english(
        "Limited to {count} lines in {levels} levels; deeper events count in the lines above them.",
        count=f"{len(tree.level):,}",
        levels=int(tree.level.max(initial=0)) + 1,
    )
    if tree.left_out:
        left_out = f"{tree.left_out:,}"
        note += " " + english("The last level lacks the {left_out} shortest.", left_out=left_out)
    return [note + " " + english("Select a time range or a thread to see more.")]


def _head_notes(view: View) -> list[str]:
    """The header of the older report, from the rows of `framework_overhead`."""
    table = framework_overhead(view, Options())
    if isinstance(table, NotRecorded):
        return []
    notes = []
    for row in table.rows():
        if row["total_ns"] is None:
            continue
        calls = "" if row["count"] is None else english("{count} calls, ", count=f"{row['count']:,}")
        share = "" if row["ratio"] is None else f" ({row['ratio']:.1%})"
        notes.append(f"{row['name']}: {calls}{row['total_ns'] / 1e6:,.3f} ms{share}")
    return [
        english("Place: {place}.", place="All" if view.has(*GPU_KINDS) else "CPU")
        + " "
        + "; ".join(notes)
        + "."
    ]


report = ReportSpec("events", "Event tree", "framework", events, needs=TREE_KINDS, place=214)
