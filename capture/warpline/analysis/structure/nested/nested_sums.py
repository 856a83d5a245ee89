"""Sums nested host events of each thread in compiled passes, several threads at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.loops.entries import EntryTable
from warpline.analysis.framework.loops.nested import (
    BY_NAME,
    LAUNCHERS,
    WITH_PARTS,
    NestedSums,
    Typed,
    Types,
    Work,
    nested_sums,
)
from warpline.analysis.framework.nesting import library
from warpline.analysis.framework.selected.selected_events import SelectedEvents
from warpline.analysis.framework.selected.spans import LaneSpans, Span
from warpline.analysis.framework.selection import BATCH_EVENTS, View
from warpline.analysis.structure.event_types import event_types, type_code, types_of_names
from warpline.analysis.structure.host_events import TREE_KINDS, neighbours, tracks_by_thread
from warpline.analysis.structure.launches import Launches
from warpline.analysis.structure.nested import path_tree
from warpline.analysis.structure.nested.path_tree import FIGURES, Lines, PathTree
from warpline.analysis.structure.projection import LaunchesByThread, tracks_holding
from warpline.memory_room import require_memory
from warpline.platform.systems import usable_cores

Int64Array = npt.NDArray[np.int64]
Columns = Callable[[npt.NDArray[Any]], tuple[tuple[Int64Array, ...], ...]]
"""Returns ``sums`` and optionally ``lows`` and ``highs`` of `Lines` from entries of `nested_sums`."""
OfThread = Callable[[int, LaneSpans, int], NestedSums | None]
"""Called with a thread, its lanes, and its index among the threads."""
_MOST_THREADS = 2
_NONE, _NO_LAUNCHERS = np.empty(0, np.int64), np.empty(0, LAUNCHERS)
_NO_TYPE = 255


StepsOf = Callable[[int], tuple[Int64Array, Int64Array]]
"""Returns starts and stops, by time, of the steps that a track (index) can lie in."""


def typed_sums(
    view: View,
    type_name: str,
    way: int = WITH_PARTS,
    *,
    table: EntryTable | None = None,
    steps_of: StepsOf = lambda _track: (_NONE, _NONE),
    last: int = 0,
) -> Iterator[tuple[int, NestedSums | None]]:
    """(thread, sums) over the events of a type, grouped as `Typed` describes.

    Entries go into ``table`` if given. Sums are None where a lane is damaged or nothing is compiled.
    """
    if library() is None:
        yield -1, None
        return
    types, code = _types(view), type_code(type_name)
    bounds = None if view.is_whole else (view.start_ns, view.stop_ns)
    launches = LaunchesByThread(view)
    tracks = tracks_by_thread(view)

    def of_thread(thread: int, spans: LaneSpans, order: int) -> NestedSums | None:
        calls = None if way == BY_NAME else _outermost_calls(view, thread)
        work = _work(launches.of_thread(thread))
        typed = Typed(types, code, way, steps_of(tracks[thread][0]), last)
        into = (table, order) if table is not None else None
        return nested_sums(view, spans, TREE_KINDS, work, calls, typed, bounds=bounds, into=into)

    yield from _each_thread(view, TREE_KINDS, of_thread, tracks)


def path_trees(
    view: View, kinds: Sequence[str], enough: int, with_work: bool, columns: Columns, roots: bool = False
) -> list[PathTree] | None:
    """The trees of `thread_tree` of all threads, with ``columns`` of times inside the range and of launched work.

    Returns one tree for all threads, or with ``roots`` one for each. None where a lane is damaged or nothing is
    compiled.
    """
    if library() is None:
        return None
    bounds = None if with_work and view.is_whole else (view.start_ns, view.stop_ns)
    launches = LaunchesByThread(view) if with_work else None
    # A level that one thread lacks is missing from the tree of all threads.
    limits = enough, path_tree.THREAD_PATHS, np.full(1, 1 << 30, np.int64)

    trees: list[PathTree] = []
    levels: list[int] = []
    complete_levels: list[int] = []
    with EntryTable() as joined:

        def of_thread(thread: int, spans: LaneSpans, order: int) -> NestedSums | None:
            work = _work(launches.of_thread(thread)) if launches else None
            into = None if roots else (joined, order)
            return nested_sums(view, spans, kinds, work, paths=limits, bounds=bounds, into=into)

        for thread, sums in _each_thread(view, kinds, of_thread, tracks_by_thread(view)):
            if sums is None:
                return None
            if roots:
                trees.append(_tree(sums, int(limits[2][0]), thread, columns))
                continue
            levels.append(sums.levels)
            if sums.complete < sums.levels:
                complete_levels.append(sums.complete)
        entries = joined.entries()
    if len(entries):
        deepest = max(levels)
        whole = NestedSums(entries, deepest, min(complete_levels, default=deepest), _NO_LAUNCHERS)
        del entries
        trees.append(_tree(whole, int(limits[2][0]), 0, columns))
    return trees


def _tree(sums: NestedSums, max_levels: int, root: int, columns: Columns) -> PathTree:
    is_complete = sums.entries["key"][:, 2] < min(sums.complete, max_levels)
    place = np.cumsum(is_complete) - 1
    entries = sums.entries if is_complete.all() else sums.entries[is_complete]
    above, name, level = entries["key"].T.copy()
    above = np.where(above >= 0, place[above], -1)
    # Copies, so that the entries can be freed.
    figures = (tuple(column.copy() for column in part) for part in columns(entries))
    lines = Lines(
        root=np.full(len(entries), root, np.int64),
        name=name,
        parent=above,
        **dict(zip(FIGURES, figures, strict=False)),
    )
    return PathTree(
        lines=lines, level=level, whole=(), complete=sums.complete, is_cut=sums.complete < sums.levels
    )


def _work(launches: Launches) -> Work:
    return Work(launches.call_start, launches.work_ns, launches.work_start, launches.work)


def launching_events(view: View, kind: str) -> Iterator[npt.NDArray[Any] | None]:
    """Events of a kind in which work was launched (`LAUNCHERS`), thread by thread, by time, outer events first.

    Ends with None where a lane is damaged or nothing is compiled.
    """
    if library() is None:
        yield None
        return
    launches = LaunchesByThread(view)

    def of_thread(thread: int, spans: LaneSpans, _order: int) -> NestedSums | None:
        return nested_sums(view, spans, (kind,), _work(launches.of_thread(thread)))

    for _, sums in _each_thread(view, (kind,), of_thread, tracks_holding(view, (kind,))):
        if sums is None:
            yield None
            return
        launchers = sums.launchers[
            np.lexsort((sums.launchers["place"], sums.launchers["level"], sums.launchers["start"]))
        ]
        # A damaged file may have more events of a kind than the kind's table.
        launchers["index"][launchers["index"] >= len(view.capture.kinds[kind])] = -1
        yield launchers


def _each_thread(
    view: View, kinds: Sequence[str], of_thread: OfThread, tracks_of: Mapping[int, Sequence[int]]
) -> Iterator[tuple[int, NestedSums | None]]:
    chosen = []
    for thread, tracks in tracks_of.items():
        spans = view.nested_spans(tracks)
        spans = spans.take(_holds_any(view, spans, kinds))
        if len(spans):
            chosen.append((thread, spans))

    from concurrent.futures import ThreadPoolExecutor  # slow to import; not needed for the first frame

    threads = min(_MOST_THREADS, usable_cores())
    require_memory(threads)
    with ThreadPoolExecutor(threads, "nested") as pool:
        try:
            each = pool.map(lambda order: of_thread(*chosen[order], order), range(len(chosen)))
            for (thread, _), sums in zip(chosen, each, strict=True):
                yield thread, sums
        finally:
            pool.shutdown(cancel_futures=True)


def _holds_any(view: View, spans: LaneSpans, kinds: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which lanes have events of these kinds."""
    result = np.zeros(len(spans), bool)
    for kind in kinds:
        if kind in view.capture.kinds:
            table = view.capture.kinds[kind]
            result |= table.places_of(spans.stop) > table.places_of(spans.first)
    return result


def _outermost_calls(view: View, thread: int) -> Span | None:
    """The outermost lane of a thread that has API calls."""
    lanes = view.nested_spans(neighbours(view, thread))
    return next(iter(lanes.take(np.flatnonzero(_holds_any(view, lanes, ("cuda_api",)))[:1])), None)


def _types(view: View) -> list[Types]:
    """The types of events of each nesting kind; events that the name filter excludes have none."""
    return [_types_of_kind(view, kind) for kind in TREE_KINDS if view.has(kind)]


def _types_of_kind(view: View, kind: str) -> Types:
    table = view.capture.kinds[kind]
    ids = max(len(view.capture.strings), 1)
    rows = len(table)
    parts = [(at, min(at + BATCH_EVENTS, rows)) for at in range(0, rows, BATCH_EVENTS)]
    used = np.zeros(ids, bool)
    for first, stop in parts:
        view.check_cancelled()
        used[view.names(view.places(kind, first, stop))] = True
    is_selected = view.selected_names(ids)
    names = np.flatnonzero(used & is_selected)
    types = types_of_names(view, kind, names)
    if types is not None:
        codes = np.full(ids, _NO_TYPE, np.uint8)
        codes[names] = types
        return Types(kind, codes, by_place=False)
    codes = np.full(rows, _NO_TYPE, np.uint8)
    for first, stop in parts:
        view.check_cancelled()
        name, index = view.names(view.places(kind, first, stop)), np.arange(first, stop)
        zeros = np.zeros(len(index), np.int64)
        types = event_types(
            view,
            kind,
            SelectedEvents(row=zeros, index=index, start=zeros, duration=zeros, inside=zeros, name=name),
        )
        codes[first:stop] = np.where(is_selected[name], types, _NO_TYPE)
    return Types(kind, codes, by_place=True)
