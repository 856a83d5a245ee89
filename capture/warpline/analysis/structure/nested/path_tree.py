"""Nested events merged by the path of their names, in a tree of bounded size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nesting import levels
from warpline.analysis.framework.tables import combine_keys, reduce_groups

Int64Array = npt.NDArray[np.int64]
MAX_PATHS = 50_000
"""Paths of a finished tree: nobody reads more, and names without repetition would make one of every event."""
THREAD_PATHS = 1 << 20


@dataclass(frozen=True, eq=False)
class Lines:
    """Things that nest: arrays of equal length.

    ``root`` keeps equal paths apart (a thread, or 0 for all), ``name`` is a string id, ``parent`` the place of the
    enclosing line (−1: none). ``sums`` are added up by path, the first being the weight; of ``lows`` the smallest
    and of ``highs`` the largest value of a path is kept.
    """

    root: Int64Array
    name: Int64Array
    parent: Int64Array
    sums: tuple[Int64Array, ...]
    lows: tuple[Int64Array, ...] = ()
    highs: tuple[Int64Array, ...] = ()


@dataclass(frozen=True, eq=False)
class PathTree:
    """Each path once, parents before children: ``lines`` by path, the ``level`` of each (0: outermost).

    ``whole`` are the sums over all outermost lines. Of the ``complete`` outer levels every path is there; of the next
    one ``left_out`` paths of the least weight are missing; ``is_cut`` says that paths are missing at all.
    """

    lines: Lines
    level: Int64Array
    whole: tuple[int, ...]
    complete: int
    left_out: int = 0
    is_cut: bool = False


def thread_tree(lines: Lines, enough: int | None = None) -> PathTree:
    """The paths of one thread: as many whole levels as memory should hold, the outermost in any case; none behind the
    one with which they are more than ``enough``, to which the tree of all threads is limited.
    """
    return _merged(lines, THREAD_PATHS, whole_levels=True, enough=enough)


def joined_tree(trees: Sequence[PathTree], limit: int = MAX_PATHS) -> PathTree:
    """The trees of all threads as one of at most ``limit`` paths: outer levels first, then the largest weights."""
    trees = [tree for tree in trees if len(tree.level)]
    if not trees:
        empty = np.empty(0, np.int64)
        return PathTree(Lines(empty, empty, empty, ()), empty, (), 0)
    complete = min((tree.complete for tree in trees if tree.is_cut), default=1 << 30)
    first = np.cumsum([0] + [len(tree.level) for tree in trees])
    joined = Lines(
        np.concatenate([tree.lines.root for tree in trees]),
        np.concatenate([tree.lines.name for tree in trees]),
        np.concatenate(
            [
                np.where(tree.lines.parent >= 0, tree.lines.parent + offset, -1)
                for tree, offset in zip(trees, first.tolist(), strict=False)
            ]
        ),
        *(
            tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))
            for parts in (
                [tree.lines.sums for tree in trees],
                [tree.lines.lows for tree in trees],
                [tree.lines.highs for tree in trees],
            )
        ),
    )
    # A level that one thread lacks would hold the time of the others only.
    result = _merged(joined, limit, whole_levels=False, deepest=complete)
    return replace(result, is_cut=True) if complete < 1 << 30 else result


def _merged(
    lines: Lines, limit: int, whole_levels: bool, deepest: int = 1 << 30, enough: int | None = None
) -> PathTree:
    level = levels(lines.parent)
    count = int(level.max(initial=-1)) + 1
    node = np.full(len(level), -1, np.int64)
    parts: list[Lines] = []
    depths: list[Int64Array] = []
    filled = left_out = depth = 0
    for depth in range(count):
        here = np.flatnonzero(level == depth)
        above = np.where(lines.parent[here] >= 0, node[np.maximum(lines.parent[here], 0)], -1)
        of = lines.root[here] if depth == 0 else above
        found = _grouped(of, here, above, lines)
        if depth >= deepest or (whole_levels and depth and filled + len(found.lines.name) > limit):
            break
        keep = np.arange(len(found.lines.name))
        if not whole_levels and filled + len(keep) > limit:
            weight = found.lines.sums[0]
            keep = np.sort(np.argsort(-weight, kind="stable")[: max(limit - filled, 0)])
            left_out = len(weight) - len(keep)
        place = np.full(len(found.lines.name), -1, np.int64)
        place[keep] = filled + np.arange(len(keep))
        node[here] = place[found.group]
        parts.append(_taken(found.lines, keep))
        depths.append(np.full(len(keep), depth, np.int64))
        filled += len(keep)
        if left_out:
            break
        if enough is not None and filled > enough:
            depth += 1
            break
    else:
        depth = count
    columns = [
        tuple(np.concatenate(column) for column in zip(*(getattr(part, name) for part in parts), strict=True))
        for name in ("sums", "lows", "highs")
    ]
    root, name, parent = (
        np.concatenate([np.empty(0, np.int64), *(getattr(part, of) for part in parts)])
        for of in ("root", "name", "parent")
    )
    joined = Lines(root, name, parent, *columns)
    is_cut = depth < count or left_out > 0
    levels_of = np.concatenate([np.empty(0, np.int64), *depths])
    outermost = level == 0
    whole = tuple(int(column[outermost].sum()) for column in lines.sums)
    return PathTree(joined, levels_of, whole, depth, left_out, is_cut)


@dataclass(frozen=True, eq=False)
class _Grouped:
    lines: Lines
    group: Int64Array


def _grouped(of: Int64Array, here: Int64Array, above: Int64Array, lines: Lines) -> _Grouped:
    """Lines of one level put together by (``of``, name); ``group`` says where each one went."""
    # Keys are dense and ascend, so each is its group's place: what is added up needs no sorting.
    group, first = combine_keys(of, lines.name[here])
    one = here[first]
    parts = ((lines.sums, np.add), (lines.lows, np.minimum), (lines.highs, np.maximum))
    sums, lows, highs = (
        tuple(reduce_groups(group, first, [column[here] for column in columns], [way] * len(columns)))
        for columns, way in parts
    )
    return _Grouped(
        Lines(
            lines.root[one],
            lines.name[one],
            above[first],
            sums,
            lows,
            highs,
        ),
        group,
    )


def _taken(lines: Lines, index: Int64Array) -> Lines:
    return Lines(
        lines.root[index],
        lines.name[index],
        lines.parent[index],
        tuple(column[index] for column in lines.sums),
        tuple(column[index] for column in lines.lows),
        tuple(column[index] for column in lines.highs),
    )


def depth_first(tree: PathTree) -> Int64Array:
    """The places of the tree's lines as it is printed: by root, siblings from the largest weight down."""
    n = len(tree.level)
    parent = tree.lines.parent
    weight = tree.lines.sums[0] if tree.lines.sums else np.zeros(n, np.int64)
    here = [np.flatnonzero(tree.level == level) for level in range(int(tree.level.max(initial=-1)) + 1)]
    size = np.ones(n, np.int64)
    for places in here[:0:-1]:
        np.add.at(size, parent[places], size[places])
    # Of equal weights the later one comes first.
    siblings = np.lexsort((-np.arange(n), -weight, np.where(parent < 0, tree.lines.root, 0), parent))
    before = np.cumsum(size[siblings]) - size[siblings]
    eldest = np.searchsorted(parent[siblings], parent[siblings])
    position = np.empty(n, np.int64)
    position[siblings] = before - before[eldest]
    for places in here[1:]:
        position[places] += position[parent[places]] + 1
    order = np.empty(n, np.int64)
    order[position] = np.arange(n)
    return order
