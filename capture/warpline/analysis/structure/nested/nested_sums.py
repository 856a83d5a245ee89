"""Nested host events of each thread added up in compiled passes, several threads at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.loops.entries import EntryTable
from warpline.analysis.framework.loops.nested import (
    BY_NAME,
    FELT,
    WITH_PARTS,
    NestedSums,
    Typed,
    Types,
    Work,
    nested_sums,
)
from warpline.analysis.framework.nesting import library
from warpline.analysis.framework.selection import BATCH_EVENTS, SelectedEvents, Span, View
from warpline.analysis.structure.event_types import event_types, type_code, types_of_names
from warpline.analysis.structure.host_events import TREE_KINDS, neighbours, tracks_by_thread
from warpline.analysis.structure.launches import Launches
from warpline.analysis.structure.nested import path_tree
from warpline.analysis.structure.nested.path_tree import Lines, PathTree
from warpline.analysis.structure.projection import LaunchesByThread, tracks_holding
from warpline.compiled import usable_cores
from warpline.memory_room import require_memory

Int64Array = npt.NDArray[np.int64]
Columns = Callable[[npt.NDArray[Any]], tuple[tuple[Int64Array, ...], ...]]
"""``sums`` of `Lines`, and ``lows`` and ``highs`` where there are any, from entries of `nested_sums`."""
OfThread = Callable[[int, Sequence[Span], int], NestedSums | None]
"""Called with a thread, its lanes, and its number in the order of threads."""
_MOST_THREADS = 2
_NONE, _NO_FELT = np.empty(0, np.int64), np.empty(0, FELT)
_NO_TYPE = 255


StepsOf = Callable[[int], tuple[Int64Array, Int64Array]]
"""Starts and stops of the steps that a track (its index) can lie in, in the order of time."""


def typed_sums(
    view: View,
    type_name: str,
    way: int = WITH_PARTS,
    *,
    table: EntryTable | None = None,
    steps_of: StepsOf = lambda _track: (_NONE, _NONE),
    last: int = 0,
) -> Iterator[tuple[int, NestedSums | None]]:
    """Sums over the events of a type of each thread, added up as `Typed` tells, put into the ``table`` if there is one;
    None where a lane is damaged, or nothing compiled.
    """
    if library() is None:
        yield -1, None
        return
    types, code = _types(view), type_code(type_name)
    bounds = None if view.is_whole else (view.start_ns, view.stop_ns)
    launches = LaunchesByThread(view)
    tracks = tracks_by_thread(view)

    def of_thread(thread: int, spans: Sequence[Span], order: int) -> NestedSums | None:
        around = () if way == BY_NAME else view.nested_spans(neighbours(view, thread))
        calls = next((span for span in around if _any(view, span, ("cuda_api",))), None)
        work = _work(launches.of_thread(thread))
        typed = Typed(types, code, way, steps_of(tracks[thread][0]), last)
        into = (table, order) if table is not None else None
        return nested_sums(view, spans, TREE_KINDS, work, calls, typed, bounds=bounds, into=into)

    yield from _each_thread(view, TREE_KINDS, of_thread, tracks)


def path_trees(
    view: View, kinds: Sequence[str], enough: int, with_work: bool, columns: Columns, roots: bool = False
) -> list[PathTree] | None:
    """What `thread_tree` makes of all threads together, in no order, with ``columns`` of times inside the range and of
    the work launched; ``roots`` keeps threads apart. None where that is not compiled, or a lane is damaged.
    """
    if library() is None:
        return None
    bounds = None if with_work and view.is_whole else (view.start_ns, view.stop_ns)
    launches = LaunchesByThread(view) if with_work else None
    # The tree of all threads has no level that one thread lacks.
    limits = enough, path_tree.THREAD_PATHS, np.full(1, 1 << 30, np.int64)

    found: list[PathTree] = []
    levels: list[int] = []
    cut: list[int] = []
    with EntryTable() as joined:

        def of_thread(thread: int, spans: Sequence[Span], order: int) -> NestedSums | None:
            work = _work(launches.of_thread(thread)) if launches else None
            into = None if roots else (joined, order)
            return nested_sums(view, spans, kinds, work, paths=limits, bounds=bounds, into=into)

        for thread, sums in _each_thread(view, kinds, of_thread, tracks_by_thread(view)):
            if sums is None:
                return None
            if roots:
                found.append(_tree(sums, int(limits[2][0]), thread, columns))
                continue
            levels.append(sums.levels)
            if sums.complete < sums.levels:
                cut.append(sums.complete)
        entries = joined.entries()
    if len(entries):
        deepest = max(levels)
        whole = NestedSums(entries, deepest, min(cut, default=deepest), _NO_FELT)
        del entries
        found.append(_tree(whole, int(limits[2][0]), 0, columns))
    return found


def _tree(found: NestedSums, most: int, root: int, columns: Columns) -> PathTree:
    is_kept = found.entries["key"][:, 2] < min(found.complete, most)
    place = np.cumsum(is_kept) - 1
    kept = found.entries if is_kept.all() else found.entries[is_kept]
    above, name, level = kept["key"].T.copy()
    above = np.where(above >= 0, place[above], -1)
    # Copies, so that the entries are gone.
    figures = (tuple(column.copy() for column in part) for part in columns(kept))
    lines = Lines(np.full(len(kept), root, np.int64), name, above, *figures)
    return PathTree(lines, level, (), found.complete, is_cut=found.complete < found.levels)


def _work(launches: Launches) -> Work:
    return Work(launches.call_start, launches.work_ns, launches.work_start, launches.work)


def felt_events(view: View, kind: str) -> Iterator[npt.NDArray[Any] | None]:
    """Events of a kind in which work was launched (`FELT`), of each thread in the order of time, outer ones first;
    None where that is not compiled, or a lane is damaged, and nothing behind it.
    """
    if library() is None:
        yield None
        return
    launches = LaunchesByThread(view)

    def of_thread(thread: int, spans: Sequence[Span], _order: int) -> NestedSums | None:
        return nested_sums(view, spans, (kind,), _work(launches.of_thread(thread)))

    for _, sums in _each_thread(view, (kind,), of_thread, tracks_holding(view, (kind,))):
        if sums is None:
            yield None
            return
        felt = sums.felt[np.lexsort((sums.felt["place"], sums.felt["level"], sums.felt["start"]))]
        # A damaged file may have more events of a kind than there are in the kind's table.
        felt["index"][felt["index"] >= len(view.capture.kinds[kind])] = -1
        yield felt


def _each_thread(
    view: View, kinds: Sequence[str], of_thread: OfThread, tracks_of: Mapping[int, Sequence[int]]
) -> Iterator[tuple[int, NestedSums | None]]:
    chosen = []
    for thread, tracks in tracks_of.items():
        spans = [span for span in view.nested_spans(tracks) if _any(view, span, kinds)]
        if spans:
            chosen.append((thread, spans))

    from concurrent.futures import ThreadPoolExecutor  # nobody waits for it at the first frame

    threads = min(_MOST_THREADS, usable_cores())
    require_memory(threads)
    with ThreadPoolExecutor(threads, "nested") as pool:
        try:
            each = pool.map(lambda order: of_thread(*chosen[order], order), range(len(chosen)))
            for (thread, _), sums in zip(chosen, each, strict=True):
                yield thread, sums
        finally:
            pool.shutdown(cancel_futures=True)


def _any(view: View, span: Span, kinds: Sequence[str]) -> bool:
    """Whether a lane has events of these kinds at all."""
    tables = (view.capture.kinds[kind] for kind in kinds if kind in view.capture.kinds)
    return any(table.count_between(span.first, span.stop) for table in tables)


def _types(view: View) -> list[Types]:
    """The types of the events of each kind that nests; events of other names than the selected ones have none."""
    return [_types_of_kind(view, kind) for kind in TREE_KINDS if view.has(kind)]


def _types_of_kind(view: View, kind: str) -> Types:
    table, wanted = view.capture.kinds[kind], view.selection.names
    ids = max(len(view.capture.strings), 1)
    rows = len(table)
    parts = [(at, min(at + BATCH_EVENTS, rows)) for at in range(0, rows, BATCH_EVENTS)]
    used = np.zeros(ids, bool)
    for first, stop in parts:
        view.check_cancelled()
        used[view.names(view.places(kind, first, stop))] = True
    others = np.ones(ids, bool)
    others[[name for name in wanted if name < ids] if wanted is not None else slice(None)] = False
    names = np.flatnonzero(used & ~others)
    found = types_of_names(view, kind, names)
    if found is not None:
        codes = np.full(ids, _NO_TYPE, np.uint8)
        codes[names] = found
        return Types(kind, codes, by_place=False)
    codes = np.full(rows, _NO_TYPE, np.uint8)
    for first, stop in parts:
        view.check_cancelled()
        name, index = view.names(view.places(kind, first, stop)), np.arange(first, stop)
        zeros = np.zeros(len(index), np.int64)
        found = event_types(view, kind, SelectedEvents(zeros, index, zeros, zeros, zeros, name))
        codes[first:stop] = np.where(others[name], _NO_TYPE, found)
    return Types(kind, codes, by_place=True)
