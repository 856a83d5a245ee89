"""Turns the events of a piece of a trace into columns, grouped by route. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.framework.columns import (
    Coder,
    Int64Array,
    TextColumn,
    nanoseconds,
    raw_text,
    repeated_text,
    texts,
)
from warpline.interchange.trace_json.events import Event, Scalar

ThreadKey = tuple[Scalar, Scalar]
"""pid and tid as recorded; either may be text or missing."""

Metadata = tuple[str, Scalar, Scalar, bytes]
"""Name, pid, tid and arguments (JSON) of a metadata event."""

Loss = tuple[str, str]
"""What was skipped, and why; both are shown."""


@dataclass(kw_only=True)
class Group:
    """Columns of events of one group, all of the same length.

    ``thread`` holds codes into ``threads``; ``start`` and ``duration`` are int64 ns as recorded.
    """

    threads: list[ThreadKey]
    thread: npt.NDArray[np.uint32]
    start: Int64Array
    duration: Int64Array
    name: TextColumn
    category: TextColumn
    numbers: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    """Further columns; masked arrays where a value may be missing."""
    texts: dict[str, TextColumn] = field(default_factory=dict)
    ids: list[Any] = field(default_factory=list)
    """Ids of flows, asynchronous events, and instants among which are samples; hashable, one per event; else empty."""
    phases: TextColumn | None = None
    """Phase letters, if the group has several phases."""
    places: list[tuple[int | None, int | None, int | None]] = field(default_factory=list)
    """Device, context and stream; the values of ``thread`` index this for GPU events."""

    def __len__(self) -> int:
        return len(self.start)

    def of_phase(self, letters: str) -> npt.NDArray[np.bool_]:
        """Which events have one of these phases."""
        assert self.phases is not None, "a group of several phases"
        return np.array([letter in letters for letter in self.phases.table], bool)[self.phases.codes]

    def take(self, index: Int64Array) -> Group:
        """The events at these indexes."""
        rows = index.tolist()
        return Group(
            threads=self.threads,
            thread=self.thread[index],
            start=self.start[index],
            duration=self.duration[index],
            name=TextColumn(self.name.codes[index], self.name.table),
            category=TextColumn(self.category.codes[index], self.category.table),
            numbers={name: column[index] for name, column in self.numbers.items()},
            texts={
                name: TextColumn(column.codes[index], column.table) for name, column in self.texts.items()
            },
            ids=[self.ids[row] for row in rows] if self.ids else [],
            phases=None if self.phases is None else TextColumn(self.phases.codes[index], self.phases.table),
            places=self.places,
        )


@dataclass
class Piece:
    """A piece of a trace: groups by route, metadata, and what was skipped."""

    groups: dict[str, Group] = field(default_factory=dict)
    metadata: dict[Metadata, int] = field(default_factory=dict)
    """Distinct metadata events, ordered by their last occurrence, with their counts."""
    losses: Counter[Loss] = field(default_factory=Counter)
    events: int = 0
    """Number of events, including metadata and losses."""
    also: Piece | None = None
    """More events of the same text, converted another way."""


def add_metadata(known: dict[Metadata, int], more: Iterable[tuple[Metadata, int]]) -> None:
    """Add metadata events to the known ones. Some traces repeat their metadata for every event."""
    for event, count in more:
        known[event] = known.pop(event, 0) + count


Route = Callable[[str, str], str]
"""Maps phase letter and category to the name of a group; "" skips the event."""
Extractor = Callable[[list[Any], Counter[Loss]], "Group | dict[str, Group]"]
"""Turns the events of a group into columns; may split them into several groups."""

METADATA = "metadata"
SLICES = "slices"
BORDERS = "borders"
INSTANTS = "instants"
COUNTERS = "counters"
ASYNC = "async"
FLOWS = "flows"

_ROUTE_OF_PHASE = {
    "X": SLICES,
    "B": BORDERS,
    "E": BORDERS,
    "i": INSTANTS,
    "I": INSTANTS,
    "R": INSTANTS,
    "P": INSTANTS,
    "C": COUNTERS,
    "M": METADATA,
    "s": FLOWS,
    "t": FLOWS,
    "f": FLOWS,
    **dict.fromkeys("benSTpF", ASYNC),
}
_UNSUPPORTED = {
    "N": english("object creation (N)"),
    "O": english("object snapshot (O)"),
    "D": english("object destruction (D)"),
    "v": english("memory dump (v)"),
    "V": english("memory dump (V)"),
    "c": english("clock synchronisation (c)"),
    "(": english("context enter (()"),
    ")": english("context leave ())"),
    "=": english("linked ids (=)"),
    "a": english("association (a)"),
}


def generic_route(phase: str, _category: str) -> str:
    """The group of an event in plain Chrome JSON."""
    return _ROUTE_OF_PHASE.get(phase, "")


def split_piece(
    events: Sequence[Any],
    route: Route,
    extractors: Mapping[str, Extractor],
    *,
    claimed: frozenset[str] = frozenset(),
) -> Piece:
    """Sorts events into groups and turns each group into columns.

    Groups in ``claimed`` are counted but get no columns, because they repeat other data.
    """
    piece = Piece(events=len(events))
    pairs, codes = _phases_and_categories(events)
    routes = [route(_letter(phase), _text(category)) for phase, category in pairs]
    for code, ((phase, category), name) in enumerate(zip(pairs, routes, strict=True)):
        if name == "" and (phase is not None or category is not None):
            count = int((codes == code).sum())
            subject = _UNSUPPORTED.get(_letter(phase))
            if subject:
                piece.losses[subject, english("has no place on a timeline")] += count
            else:
                subject = english("events of phase {phase!r}", phase=phase)
                piece.losses[subject, english("unknown phase")] += count
        elif name == "":
            piece.events -= _count_empty(events, codes == code, piece.losses)
    for name in dict.fromkeys(routes):
        if name == "" or name in claimed:
            continue
        members = np.isin(codes, [code for code, found in enumerate(routes) if found == name])
        rows = (
            list(events) if members.all() else [events[index] for index in np.flatnonzero(members).tolist()]
        )
        if name == METADATA:
            entries = ((_text(row.name), row.pid, row.tid, bytes(row.args)) for row in rows)
            add_metadata(piece.metadata, zip(entries, repeat(1)))
        else:
            found = extractors[name](rows, piece.losses)
            for group_name, group in ({name: found} if isinstance(found, Group) else found).items():
                if group_name in piece.groups:
                    piece.also = Piece({group_name: group}, also=piece.also)
                else:
                    piece.groups[group_name] = group
    return piece


def _phases_and_categories(events: Sequence[Any]) -> tuple[list[tuple[Scalar, Scalar]], Int64Array]:
    """Distinct (phase, category) pairs, and the index of each event's pair."""
    phases, categories = Coder(), Coder()
    n = len(events)
    phase = np.fromiter(map(phases.__getitem__, [event.ph for event in events]), np.int64, n)
    category = np.fromiter(map(categories.__getitem__, [event.cat for event in events]), np.int64, n)
    used, codes = np.unique(phase * len(categories) + category, return_inverse=True)
    phase_list, category_list = list(phases), list(categories)
    pairs = [divmod(code, len(categories)) for code in used.tolist()]
    return [(phase_list[first], category_list[second]) for first, second in pairs], codes.astype(np.int64)


def _count_empty(events: Sequence[Any], members: npt.NDArray[np.bool_], losses: Counter[Loss]) -> int:
    """The number of empty objects, which end some lists; counts other objects without a phase as losses."""
    empty = 0
    for index in np.flatnonzero(members).tolist():
        event = events[index]
        if event.name is None and event.ts is None:
            empty += 1
        else:
            losses[english("events without a phase"), english("their type is not recorded")] += 1
    return empty


def _letter(value: Scalar) -> str:
    return value if isinstance(value, str) else ""


def _text(value: Scalar) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def thread_codes(rows: Sequence[Event]) -> tuple[list[ThreadKey], npt.NDArray[np.uint32]]:
    """Distinct (pid, tid) pairs, and the index of each event's pair."""
    coder = Coder()
    keys = zip([row.pid for row in rows], [row.tid for row in rows], strict=True)
    codes = np.fromiter(map(coder.__getitem__, keys), np.uint32, len(rows))
    return list(coder), codes


def timed(rows: list[Any], losses: Counter[Loss]) -> tuple[list[Any], Int64Array]:
    """The events with a time, and their starts in ns; counts the others as losses."""
    start, missing = nanoseconds([row.ts for row in rows])
    if missing.any():
        losses[english("events without a time"), english("ts is missing or not a number")] += int(
            missing.sum()
        )
        rows = [rows[index] for index in np.flatnonzero(~missing).tolist()]
        start = start[~missing]
    return rows, start


def points(rows: list[Any], losses: Counter[Loss], *, bare: bool = False) -> tuple[list[Any], Group]:
    """Columns of events with a time but no duration. ``bare`` omits thread and category, for GPU events."""
    rows, start = timed(rows, losses)
    count = len(rows)
    if bare:
        threads: list[ThreadKey] = [(None, None)]
        codes = np.zeros(count, np.uint32)
        categories = repeated_text("", count)
    else:
        threads, codes = thread_codes(rows)
        categories = texts([row.cat for row in rows])
    names = texts([row.name for row in rows])
    return rows, Group(
        threads=threads,
        thread=codes,
        start=start,
        duration=np.zeros(count, np.int64),
        name=names,
        category=categories,
    )


def spans(rows: list[Any], losses: Counter[Loss], *, bare: bool = False) -> tuple[list[Any], Group]:
    """Columns of events with time and duration; ``bare`` as in `points`.

    ``numbers["no_duration"]`` marks events without a duration, which get that of the thread clock, or 0.
    """
    rows, group = points(rows, losses, bare=bare)
    duration, missing = nanoseconds([row.dur for row in rows])
    negative = duration < 0
    if negative.any():
        losses[english("events with a negative duration"), english("they end before they begin")] += int(
            negative.sum()
        )
        keep = np.flatnonzero(~negative)
        rows = [rows[index] for index in keep.tolist()]
        group = group.take(keep)
        duration, missing = duration[keep], missing[keep]
    if missing.any():
        by_thread_clock, unknown = nanoseconds([row.tdur for row in rows])
        usable = missing & ~unknown & (by_thread_clock >= 0)
        duration = np.where(usable, by_thread_clock, duration)
    group.duration = duration
    group.numbers["no_duration"] = missing
    return rows, group


def payloads(rows: Sequence[Event]) -> TextColumn:
    """The arguments of events as JSON text; "" for none."""
    return texts([bytes(row.args) for row in rows], _payload)


def _payload(args: bytes) -> str:
    text = raw_text(args).strip()
    return "" if text in ("{}", "null", '""') else text


def extract_slices(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Complete events (X) with their arguments as text."""
    rows, group = spans(rows, losses)
    group.texts["payload"] = payloads(rows)
    by_thread_clock = [row.tdur for row in rows]
    if any(value is not None for value in by_thread_clock):
        duration, missing = nanoseconds(by_thread_clock)
        group.numbers["thread_duration"] = np.ma.MaskedArray(duration, missing)
    return group


def extract_points(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Instants, counters, and the borders of B/E pairs."""
    rows, group = points(rows, losses)
    group.texts["payload"] = payloads(rows)
    group.phases = texts([row.ph for row in rows])
    group.texts["scope"] = texts([row.s for row in rows])
    group.texts["frame"] = texts([row.sf for row in rows])
    if "P" in group.phases.table:
        group.ids = [_identity(row) for row in rows]
    return group


def extract_identified(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Events with ids: flows and asynchronous events."""
    rows, group = points(rows, losses)
    group.phases = texts([row.ph for row in rows])
    group.texts["payload"] = payloads(rows)
    group.texts["bind"] = texts([row.bp for row in rows])
    group.ids = [_identity(row) for row in rows]
    return group


def _identity(row: Event) -> Any:
    """The key that related events share: the id with its scope, or the two-part id."""
    if row.id is not None or not row.id2:
        return (row.id, row.scope)
    # A local id is unique within its process.
    text = bytes(row.id2)
    return (text, row.pid) if b'"local"' in text else (text, row.scope)


GENERIC_EXTRACTORS: dict[str, Extractor] = {
    SLICES: extract_slices,
    BORDERS: extract_points,
    INSTANTS: extract_points,
    COUNTERS: extract_points,
    ASYNC: extract_identified,
    FLOWS: extract_identified,
}
