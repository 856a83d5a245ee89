"""Merges nested events by the path of their names into a tree of bounded size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nesting import levels, places_by_level
from warpline.analysis.framework.tables import combine_keys, reduce_groups

Int64Array = npt.NDArray[np.int64]
MAX_PATHS = 50_000
"""Limit of a finished tree; without it, unique names would make a path of every event."""
THREAD_PATHS = 1 << 20
FIGURES = ("sums", "lows", "highs")


@dataclass(frozen=True, eq=False, kw_only=True)
class Lines:
    """Nested events or paths as arrays of equal length.

    ``root`` separates equal paths (a thread, or 0 for all), ``name`` is a string id, ``parent`` the index of the
    enclosing line (−1: none). Merging adds ``sums`` (the first is the weight) and takes the minimum of ``lows`` and the
    maximum of ``highs``.
    """

    root: Int64Array
    name: Int64Array
    parent: Int64Array
    sums: tuple[Int64Array, ...]
    lows: tuple[Int64Array, ...] = ()
    highs: tuple[Int64Array, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class PathTree:
    """Each path once, parents before children: ``lines`` and the ``level`` of each (0: outermost).

    ``whole`` are the sums over all outermost lines. The ``complete`` outer levels have every path; the next one lacks
    the ``left_out`` paths of least weight. ``is_cut`` says whether any path is missing.
    """

    lines: Lines
    level: Int64Array
    whole: tuple[int, ...]
    complete: int
    left_out: int = 0
    is_cut: bool = False


def thread_tree(lines: Lines, enough: int | None = None) -> PathTree:
    """The paths of one thread, in whole levels up to `THREAD_PATHS` paths, at least the outermost.

    Stops after the level that makes them more than ``enough``, the limit of the tree of all threads.
    """
    return _merged(lines, THREAD_PATHS, whole_levels=True, enough=enough)


def joined_tree(trees: Sequence[PathTree], limit: int = MAX_PATHS) -> PathTree:
    """One tree of at most ``limit`` paths from those of all threads: outer levels first, then by weight."""
    trees = [tree for tree in trees if len(tree.level)]
    if not trees:
        empty = np.empty(0, np.int64)
        return PathTree(
            lines=Lines(root=empty, name=empty, parent=empty, sums=()), level=empty, whole=(), complete=0
        )
    complete = min((tree.complete for tree in trees if tree.is_cut), default=1 << 30)
    first = np.cumsum([0] + [len(tree.level) for tree in trees]).tolist()
    moved = [
        replace(tree.lines, parent=np.where(tree.lines.parent >= 0, tree.lines.parent + offset, -1))
        for tree, offset in zip(trees, first, strict=False)
    ]
    joined = _concatenated(moved)
    # A level that one thread lacks would hold only the time of the others.
    result = _merged(joined, limit, whole_levels=False, deepest=complete)
    return replace(result, is_cut=True) if complete < 1 << 30 else result


def _merged(
    lines: Lines, limit: int, whole_levels: bool, deepest: int = 1 << 30, enough: int | None = None
) -> PathTree:
    level = levels(lines.parent)
    by_level = places_by_level(level)
    count = len(by_level)
    node = np.full(len(level), -1, np.int64)
    parts: list[Lines] = []
    depths: list[Int64Array] = []
    filled = left_out = depth = 0
    for depth in range(count):
        here = by_level[depth]
        above = np.where(lines.parent[here] >= 0, node[np.maximum(lines.parent[here], 0)], -1)
        owner = lines.root[here] if depth == 0 else above
        merged, group = _merge_level(owner, here, above, lines)
        if depth >= deepest or (whole_levels and depth and filled + len(merged.name) > limit):
            break
        keep = np.arange(len(merged.name))
        if not whole_levels and filled + len(keep) > limit:
            weight = merged.sums[0]
            keep = np.sort(np.argsort(-weight, kind="stable")[: max(limit - filled, 0)])
            left_out = len(weight) - len(keep)
        place = np.full(len(merged.name), -1, np.int64)
        place[keep] = filled + np.arange(len(keep))
        node[here] = place[group]
        parts.append(_take(merged, keep))
        depths.append(np.full(len(keep), depth, np.int64))
        filled += len(keep)
        if left_out:
            break
        if enough is not None and filled > enough:
            depth += 1
            break
    else:
        depth = count
    joined = _concatenated(parts)
    is_cut = depth < count or left_out > 0
    path_levels = np.concatenate([np.empty(0, np.int64), *depths])
    outermost = level == 0
    whole = tuple(int(column[outermost].sum()) for column in lines.sums)
    return PathTree(
        lines=joined, level=path_levels, whole=whole, complete=depth, left_out=left_out, is_cut=is_cut
    )


def _concatenated(parts: Sequence[Lines]) -> Lines:
    """The lines of all parts; ``parent`` is unchanged."""

    def column(name: str) -> Int64Array:
        return np.concatenate([np.empty(0, np.int64), *(getattr(part, name) for part in parts)])

    def figures(name: str) -> tuple[Int64Array, ...]:
        return tuple(
            np.concatenate(rows) for rows in zip(*(getattr(part, name) for part in parts), strict=True)
        )

    return Lines(
        root=column("root"),
        name=column("name"),
        parent=column("parent"),
        sums=figures("sums"),
        lows=figures("lows"),
        highs=figures("highs"),
    )


def _merge_level(
    owner: Int64Array, here: Int64Array, above: Int64Array, lines: Lines
) -> tuple[Lines, Int64Array]:
    """The lines ``here`` of one level merged by (``owner``, name), and the merged line of each."""
    group, first = combine_keys(owner, lines.name[here])
    parts = ((lines.sums, np.add), (lines.lows, np.minimum), (lines.highs, np.maximum))
    sums, lows, highs = (
        tuple(reduce_groups(group, first, [column[here] for column in columns], [way] * len(columns)))
        for columns, way in parts
    )
    row = here[first]
    return Lines(
        root=lines.root[row], name=lines.name[row], parent=above[first], sums=sums, lows=lows, highs=highs
    ), group


def _take(lines: Lines, index: Int64Array) -> Lines:
    return Lines(
        root=lines.root[index],
        name=lines.name[index],
        parent=lines.parent[index],
        sums=tuple(column[index] for column in lines.sums),
        lows=tuple(column[index] for column in lines.lows),
        highs=tuple(column[index] for column in lines.highs),
    )


def depth_first(tree: PathTree) -> Int64Array:
    """Indices of the tree's lines in printing order: by root, siblings by descending weight."""
    n = len(tree.level)
    parent = tree.lines.parent
    weight = tree.lines.sums[0] if tree.lines.sums else np.zeros(n, np.int64)
    here = places_by_level(tree.level)
    size = np.ones(n, np.int64)
    for places in here[:0:-1]:
        np.add.at(size, parent[places], size[places])
    # Among equal weights, the later line comes first.
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
