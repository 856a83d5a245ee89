"""Flame graphs of nested events: merged by path or in time order, top down or bottom up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nested_events import nested_events
from warpline.analysis.framework.nesting import (
    NestedEvents,
    flat_parents,
    levels,
    places_by_level,
    self_times,
)
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.report import NotRecorded
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import combine_keys
from warpline.analysis.framework.thread_columns import thread_titles
from warpline.analysis.structure.host_events import tracks_by_thread
from warpline.analysis.structure.nested.nested_sums import path_trees
from warpline.analysis.structure.nested.path_tree import Lines, PathTree, joined_tree, thread_tree
from warpline.i18n import translated

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]

SOURCES = {
    "operators": ("phase", "range", "operator"),
    "ranges": ("phase", "range", "other"),
    "python": ("python",),
}
MAX_BOXES = 40_000
"""Limit of a graph, which keeps the longest events or the outer levels; more boxes would be invisible."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Flame:
    """Boxes as columns, parents before children: arrays of equal length.

    ``name`` is a string id, ``parent`` the index of the box below (−1: none), ``depth`` 0 for roots, ``left`` and
    ``value`` position and width in ``unit`` (ns or samples), ``own`` the width without children, ``count`` the number
    of merged events, ``row`` the event of a box that is not merged (−1: merged). Names beyond the capture's strings
    index ``extra``, texts of Warpline's own.
    """

    name: npt.NDArray[np.uint32]
    parent: Int64Array
    depth: Int64Array
    left: Int64Array
    value: Int64Array
    own: Int64Array
    count: Int64Array
    row: Int64Array
    total: int
    unit: str = "ns"
    extra: tuple[str, ...] = ()
    captions: tuple[tuple[int, str], ...] = ()
    """In time order: the free depth above the boxes of each thread, and the thread's title."""

    def text(self, capture: Capture, box: int) -> str:
        """The title of a box: a name of the program, or a translated text."""
        name = int(self.name[box])
        beyond = name - len(capture.strings)
        return translated(self.extra[beyond]) if 0 <= beyond < len(self.extra) else capture.strings[name]

    def __len__(self) -> int:
        return len(self.name)


def flame_graph(
    view: View, source: str, *, bottom_up: bool = False, by_time: bool = False
) -> Flame | NotRecorded:
    """The flame graph of one of `SOURCES` for a selection; ``by_time`` keeps time order and merges nothing."""
    kinds = SOURCES[source]
    if not view.has(*(kind for kind in kinds if kind != "phase" or source != "operators")):
        return missing("operator" if source == "operators" else "range" if source == "ranges" else source)
    if by_time:
        return _in_time(view, kinds)
    tree = _tree_of_events(view, kinds)
    return laid_out(turned(tree) if bottom_up else tree)


class Tree:
    """A tree of names with the own time of each, to be laid out by `laid_out`."""

    def __init__(self, unit: str = "ns") -> None:
        self.unit = unit
        self.name: list[int] = []
        self.parent: list[int] = []
        self.own: list[int] = []
        self.count: list[int] = []
        self.value: list[int] | None = None
        """Time including children, also of dropped ones; None: sum of the nodes below."""
        self._known: dict[tuple[int, int], int] = {}

    def node(self, parent: int, name: int) -> int:
        """The node of a name below ``parent`` (−1: a root), created if needed."""
        key = (parent, name)
        node = self._known.get(key)
        if node is None:
            node = self._known[key] = len(self.name)
            self.name.append(name)
            self.parent.append(parent)
            self.own.append(0)
            self.count.append(0)
        return node

    def add(self, node: int, own: int, count: int) -> None:
        """Add time and events to a node."""
        self.own[node] += own
        self.count[node] += count


def _tree_of_events(view: View, kinds: tuple[str, ...]) -> Tree:
    trees = path_trees(view, kinds, MAX_BOXES, False, _columns)
    joined = joined_tree(_thread_trees(view, kinds) if trees is None else trees, MAX_BOXES)
    value, own, count = joined.lines.sums or (np.empty(0, np.int64),) * 3
    tree = Tree()
    tree.name, tree.parent = joined.lines.name.tolist(), joined.lines.parent.tolist()
    tree.own, tree.count, tree.value = own.tolist(), count.tolist(), value.tolist()
    return tree


def _columns(entries: npt.NDArray[Any]) -> tuple[tuple[Int64Array, ...], ...]:
    """The columns of `_thread_trees`, from sums by path."""
    return ((entries["cpu"], entries["self_cpu"], entries["count"]),)


def _thread_trees(view: View, kinds: tuple[str, ...]) -> list[PathTree]:
    trees: list[PathTree] = []
    for tracks in tracks_by_thread(view).values():
        events = nested_events(view, tracks, kinds)
        if not len(events):
            continue
        start, stop, row = events.start, events.stop, events.row
        parent = flat_parents(events)
        inside = np.maximum(np.minimum(stop, view.stop_ns) - np.maximum(start, view.start_ns), 0)
        own = np.maximum(self_times(inside, parent), 0)
        names = view.names(row).astype(np.int64)
        zeros = np.zeros(len(row), np.int64)
        trees.append(
            thread_tree(
                Lines(root=zeros, name=names, parent=parent, sums=(inside, own, zeros + 1)), MAX_BOXES
            )
        )
    return trees


def turned(tree: Tree) -> Tree:
    """The tree bottom up: functions with own time at the bottom, above each its callers with their part of it."""
    name, parent, own, count = (
        np.array(column, np.int64) for column in (tree.name, tree.parent, tree.own, tree.count)
    )
    at = np.flatnonzero(own)
    spends = at
    below = np.full(len(at), -1, np.int64)
    columns: list[tuple[Int64Array, ...]] = []
    filled = 0
    while len(at):
        group, first = combine_keys(below, name[at])
        # Every box of the path is as wide as the time, but only the last owns it, so that own times add up.
        ends = parent[at] < 0
        sums = [np.zeros(len(first), np.int64) for _ in range(2)]
        for total, column in zip(sums, (own, count), strict=True):
            np.add.at(total, group[ends], column[spends[ends]])
        columns.append((name[at[first]], below[first], *sums))
        below, spends, at = (group + filled)[~ends], spends[~ends], parent[at[~ends]]
        filled += len(first)
    result = Tree(tree.unit)
    if columns:
        result.name, result.parent, result.own, result.count = (
            np.concatenate(column).tolist() for column in zip(*columns, strict=True)
        )
    return result


def laid_out(tree: Tree) -> Flame:
    """The tree as boxes: siblings by descending width, left-aligned with the box below."""
    n = len(tree.name)
    parent = np.array(tree.parent, np.int64)
    own = np.array(tree.own, np.int64)
    value = own.copy() if tree.value is None else np.array(tree.value, np.int64)
    depth = levels(parent)
    by_level = places_by_level(depth)
    for here in by_level[:0:-1] if tree.value is None else ():
        np.add.at(value, parent[here], value[here])
    # Each sibling begins where the wider ones end.
    siblings = np.lexsort((-value, parent))
    before = np.cumsum(value[siblings]) - value[siblings]
    eldest = np.searchsorted(parent[siblings], parent[siblings])
    left = np.zeros(n, np.int64)
    left[siblings] = before - before[eldest]
    for here in by_level[1:]:
        left[here] += left[parent[here]]
    order = np.empty(n, np.int64)
    order[siblings] = np.arange(n)
    index = np.lexsort((order, left, depth))
    position = np.empty(n, np.int64)
    position[index] = np.arange(n)
    upper: Int64Array = parent[index] if n else parent
    return Flame(
        name=np.array(tree.name, np.uint32)[index],
        parent=np.where(upper >= 0, position[np.maximum(upper, 0)], -1) if n else upper,
        depth=depth[index],
        left=left[index],
        value=value[index],
        own=own[index],
        count=np.array(tree.count, np.int64)[index],
        row=np.full(n, -1, np.int64),
        total=int(value[parent < 0].sum()) if n else 0,
        unit=tree.unit,
    )


def _in_time(view: View, kinds: tuple[str, ...]) -> Flame:
    """The longest `MAX_BOXES` events in time order, threads below each other."""
    parts: list[tuple[Int64Array, ...]] = []
    ground, filled = 1, 0
    captions: list[tuple[int, str]] = []
    title = thread_titles(view)
    for tracks in tracks_by_thread(view).values():
        events = nested_events(view, tracks, kinds)
        if not len(events):
            continue
        row, parent, level, left, inside, own = _longest(view, events)
        parts.append((row, np.where(parent >= 0, parent + filled, -1), level + ground, left, inside, own))
        track = view.capture.tracks[tracks[0]]
        captions.append((ground - 1, title(-2 - track.index if track.thread is None else track.thread)))
        ground += int(level.max()) + 2
        filled += len(row)
    if not parts:
        return laid_out(Tree())
    joined: list[Int64Array] = [np.concatenate(column) for column in zip(*parts, strict=True)]
    row, parent, depth, left, value, own = joined
    keep = _places_of_longest(value)
    keep = keep[np.lexsort((left[keep], depth[keep]))]
    return Flame(
        name=view.names(row[keep]),
        parent=_renumbered(parent, keep),
        depth=depth[keep],
        left=left[keep],
        value=value[keep],
        own=own[keep],
        count=np.ones(len(keep), np.int64),
        row=row[keep],
        total=view.duration_ns,
        captions=tuple(captions),
    )


def _longest(view: View, events: NestedEvents) -> tuple[Int64Array, ...]:
    """The longest `MAX_BOXES` events of a thread as columns.

    (row, index of the parent among them (−1: none), level, start in the range, time inside the range, own part of it).
    """
    start, inside = events.start, events.stop - events.start
    if not view.is_whole:
        np.minimum(start + inside, view.stop_ns, out=inside)
        inside -= np.maximum(start, view.start_ns)
        np.maximum(inside, 0, out=inside)
    parent = flat_parents(events)
    keep = _places_of_longest(inside)
    row = events.row[keep]
    left = np.maximum(start[keep], view.start_ns) - view.start_ns
    own = np.maximum(self_times(inside, parent)[keep], 0)
    return row, _renumbered(parent, keep), levels(parent)[keep], left, inside[keep], own


def _places_of_longest(value: Int64Array) -> Int64Array:
    if len(value) <= MAX_BOXES:
        return np.arange(len(value))
    return np.argpartition(-value, MAX_BOXES)[:MAX_BOXES]


def _renumbered(parent: Int64Array, keep: Int64Array) -> Int64Array:
    """The parents of the entries ``keep`` as indices into these, −1 for parents that are dropped."""
    position = np.full(len(parent), -1, np.int64)
    position[keep] = np.arange(len(keep))
    above = parent[keep]
    return np.where(above >= 0, position[np.maximum(above, 0)], -1)
