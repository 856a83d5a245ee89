"""Recorded calls of the C library: where they are made, how many there are, and on what."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.finding import Where
from warpline.analysis.findings.segments import IntArray, distinct, in_order

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
_MOVES_BYTES = re.compile(r"read|write|send|recv")
"""Functions whose result is a number of bytes; that of open is a descriptor."""
POLLS = ("poll", "select", "epoll_wait")
"""Calls that wait for descriptors, and return 0 when their timeout ends the wait."""
_SHOWN = 3
"""How many kinds of calls a sentence names."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LibraryCalls:
    """Calls [n], sorted by thread, then start.

    ``name`` and ``object`` are string ids (object −1: none), ``thread`` an index in the capture, ``start``/``stop``
    capture ns, ``result`` what the call returned (−1 when unknown), ``stack`` an id (−1: none).
    """

    name: Int64Array
    thread: Int64Array
    start: Int64Array
    stop: Int64Array
    result: Int64Array
    stack: Int64Array
    object: Int64Array
    row: Int64Array

    def __len__(self) -> int:
        return len(self.start)

    def take(self, index: npt.NDArray[np.generic] | slice) -> LibraryCalls:
        """A subset, by index, mask or slice."""
        return LibraryCalls(**{name: column[index] for name, column in vars(self).items()})

    def of_thread(self, thread: int) -> LibraryCalls:
        """The calls of one thread, by start."""
        first, last = np.searchsorted(self.thread, (thread, thread + 1)).tolist()
        return self.take(slice(first, last))


def read_calls(case: Case) -> LibraryCalls:
    """All recorded calls of the range; none when they were not recorded."""
    view, capture = case.view, case.view.capture
    table = capture.kinds.get("osrt")
    needed = {"stack", "object", "return_value"}
    if table is None or not needed <= set(table.attributes):
        none = np.empty(0, np.int64)
        return LibraryCalls(
            name=none, thread=none, start=none, stop=none, result=none, stack=none, object=none, row=none
        )
    events = view.events("osrt")
    thread_of_track = np.array(
        [-1 if t.thread is None else t.thread for t in capture.tracks] or [-1], np.int64
    )
    thread = thread_of_track[view.track_of(events.row)] if len(events) else np.empty(0, np.int64)

    def column(name: str) -> Int64Array:
        return np.ma.filled(view.column("osrt", name, events.index).astype(np.int64), -1)

    stack = column("stack")
    calls = LibraryCalls(
        name=events.name.astype(np.int64),
        thread=thread,
        start=events.start,
        stop=events.stop,
        result=column("return_value"),
        stack=np.where(stack < len(capture.stacks[0]), stack, -1),
        object=column("object"),
        row=events.row,
    )
    order = in_order(calls.thread, calls.start)
    return calls if order is None else calls.take(order)


def named(case: Case, calls: LibraryCalls, names: Iterable[str]) -> BoolArray:
    """Which calls have one of the names."""
    wanted = frozenset(names)
    strings = case.view.capture.strings
    ids = [code for code in np.unique(calls.name).tolist() if strings[code] in wanted]
    return np.isin(calls.name, ids)


def call_place(case: Case, stack: int, thread: int) -> Where:
    """The program's own line of a call; an empty place when it has no stack or belongs to an import."""
    if stack < 0:
        return Where()
    where = case.threads.where(stack, thread)
    return Where() if where.file.startswith("<frozen importlib") else where


def usual_call_place(case: Case, calls: LibraryCalls) -> Where:
    """The line that makes most of some calls, among those with a line."""
    pairs = Counter(zip(calls.stack.tolist(), calls.thread.tolist(), strict=True))
    totals: Counter[Where] = Counter()
    for (stack, thread), count in pairs.items():
        where = call_place(case, stack, thread)
        if where.file:
            totals[where] += count
    return totals.most_common(1)[0][0] if totals else Where()


def usual_object(case: Case, calls: LibraryCalls) -> tuple[str, int]:
    """The most frequent object of some calls (a path, a peer) and its count; empty and 0 for none."""
    ids, counts = np.unique(calls.object[calls.object >= 0], return_counts=True)
    if not len(ids):
        return "", 0
    best = int(np.argmax(counts))
    return case.view.capture.strings[int(ids[best])], int(counts[best])


def calls_during(case: Case, pieces: Int64Array) -> LibraryCalls:
    """The calls around the segments that explain some pieces, each once."""
    return calls_around(case, np.unique(case.pieces.leaf[pieces]))


def calls_around(case: Case, chosen: IntArray) -> LibraryCalls:
    """The calls around some segments, given by distinct indices, each once."""
    calls, timeline = case.once(read_calls), case.once(_timeline)
    if not len(calls) or not len(chosen):
        return calls.take(slice(0, 0))
    segments = case.segments
    actor = segments.actor[chosen].astype(np.int64)
    middle = (segments.start[chosen] + segments.stop[chosen]) // 2
    at = np.searchsorted(timeline, _moments(case, actor, middle), "right") - 1
    known = at >= 0
    known[known] = (calls.thread[at[known]] == actor[known]) & (calls.stop[at[known]] >= middle[known])
    return calls.take(np.unique(at[known]))


def _timeline(case: Case) -> Int64Array:
    """The start of each call on one axis for all threads, ascending."""
    calls = case.once(read_calls)
    return _moments(case, calls.thread, calls.start)


def _moments(case: Case, thread: Int64Array, time: Int64Array) -> Int64Array:
    """Times of threads on one axis, where threads are far apart."""
    span = 2 * (case.view.duration_ns + (1 << 32))
    return thread * span + np.clip(time - case.view.start_ns + (1 << 32), 0, span - 1)


def _places(case: Case) -> tuple[Int64Array, list[Where]]:
    """The stacks of all calls, ascending, and the own line of each, without its thread."""
    stacks = np.unique(case.once(read_calls).stack)
    return stacks, [call_place(case, stack, 0) for stack in stacks.tolist()]


def counted_names(case: Case, calls: LibraryCalls) -> list[tuple[str, int]]:
    """How many calls there are of each name, most first."""
    ids, counts = np.unique(calls.name, return_counts=True)
    names = [case.view.capture.strings[int(code)] for code in ids.tolist()]
    return sorted(zip(names, counts.tolist(), strict=True), key=lambda pair: -pair[1])


def is_inside(calls: LibraryCalls, moments: Int64Array) -> BoolArray:
    """Which moments lie in one of some calls."""
    start, stop = np.sort(calls.start), np.sort(calls.stop)
    at = np.searchsorted(start, moments, "right") - 1
    inside: BoolArray = (at >= 0) & (moments < stop[np.maximum(at, 0)])
    return inside


def pieces_during(case: Case, calls: LibraryCalls) -> Int64Array:
    """The waiting pieces of the target that lie in some calls, or are explained by a wait in one of their threads."""
    inside = is_inside(calls, (case.pieces.start + case.pieces.stop) // 2)
    threads = np.unique(calls.thread)
    path = case.pieces.path
    concerned = np.zeros(len(path), bool)
    for column in range(path.shape[1]):
        segment = path[:, column]
        concerned |= (segment >= 0) & np.isin(case.segments.actor[np.maximum(segment, 0)], threads)
    return np.flatnonzero(inside & concerned)


def calls_of_waits(case: Case, pieces: Int64Array) -> LibraryCalls:
    """All calls of the lines and functions that some waits go to, whether or not each of them had to wait."""
    around = calls_during(case, pieces)
    waiting = around.take(around.stack >= 0)
    if not len(waiting):
        return around
    calls = case.once(read_calls)
    stacks, places = case.once(_places)
    wanted = {places[at] for at in np.searchsorted(stacks, np.unique(waiting.stack)).tolist()}
    same_place = [stack for stack, place in zip(stacks.tolist(), places, strict=True) if place in wanted]
    return calls.take(
        np.isin(calls.stack, same_place)
        & np.isin(calls.name, np.unique(waiting.name))
        & np.isin(calls.thread, np.unique(waiting.thread))
    )


def calls_text(counts: list[tuple[str, int]]) -> str:
    """``600 fsync, 1,200 write``: the most frequent calls; empty for none."""
    return ", ".join(f"{count:,} {name}" for name, count in counts[:_SHOWN])


@dataclass(frozen=True)
class CallCount:
    """How many calls of a function a line makes, and the bytes they move in total: 0 for one that moves none."""

    name: str
    count: int
    bytes: int

    @property
    def mean_bytes(self) -> float:
        """Bytes of one call."""
        return self.bytes / max(self.count, 1)


def stacks_of_calls(case: Case) -> list[list[str]]:
    """The frames (leaf first) of each stack with which library calls were recorded or counted."""
    view = case.view
    stacks = [case.once(read_calls).stack]
    if "call_count" in view.capture.kinds:
        column = view.column("call_count", "stack", view.events("call_count").index)
        stacks.append(np.ma.filled(column.astype(np.int64), -1))
    known = np.unique(np.concatenate(stacks))
    return [
        view.capture.stack_frames(stack)
        for stack in known[(known >= 0) & (known < len(view.capture.stacks[0]))].tolist()
    ]


def counted_calls(case: Case) -> dict[tuple[str, int | None, str], CallCount]:
    """The most frequent function of each own line (file, line, function), short calls included."""
    totals: Counter[tuple[str, int | None, str, str]] = Counter()
    moved: Counter[tuple[str, int | None, str, str]] = Counter()
    calls = case.once(read_calls)
    recorded = calls.take((calls.stack >= 0) & np.isin(calls.name, _counted_names(case)))
    ones = np.ones(len(recorded), np.int64)
    _add_counts(case, recorded, ((ones, totals), (np.maximum(recorded.result, 0), moved)))
    view = case.view
    table = view.capture.kinds.get("call_count")
    if table is not None:
        events = view.events("call_count")
        stack, count, size = (
            np.ma.filled(view.column("call_count", name, events.index).astype(np.int64), -1)
            for name in ("stack", "count", "bytes")
        )
        stack = np.where(stack < len(view.capture.stacks[0]), stack, -1)
        none = np.full(len(events), -1, np.int64)
        counted = LibraryCalls(
            name=events.name.astype(np.int64), thread=none, start=events.start, stop=events.stop, result=size,
            stack=stack, object=none, row=events.row,
        )  # fmt: skip
        _add_counts(case, counted, ((np.maximum(count, 0), totals), (np.maximum(size, 0), moved)))
    most: dict[tuple[str, int | None, str], CallCount] = {}
    for (file, line, function, name), total in totals.items():
        place = file, line, function
        if place not in most or most[place].count < total:
            has_size = _MOVES_BYTES.search(name) is not None
            most[place] = CallCount(name, total, moved[file, line, function, name] if has_size else 0)
    return most


def _counted_names(case: Case) -> Int64Array:
    """String ids of the functions whose short calls are counted, if any are."""
    view = case.view
    if "call_count" not in view.capture.kinds:
        return np.unique(case.once(read_calls).name)
    return np.unique(view.events("call_count").name).astype(np.int64)


def _add_counts(
    case: Case,
    calls: LibraryCalls,
    sums: tuple[tuple[Int64Array, Counter[tuple[str, int | None, str, str]]], ...],
) -> None:
    """Add values of calls [n] to counters by line and name of the function."""
    known = calls.stack >= 0
    stacks = len(case.view.capture.stacks[0])
    keys, inverse = distinct((calls.name * stacks + calls.stack)[known])
    strings = case.view.capture.strings
    places = {key: call_place(case, key % stacks, 0) for key in keys.tolist()}
    for values, totals in sums:
        added = np.bincount(inverse, values[known], len(keys))
        for key, total in zip(keys.tolist(), added.tolist(), strict=True):
            place = places[key]
            if place.file:
                totals[place.file, place.line, place.function, strings[key // stacks]] += int(total)
