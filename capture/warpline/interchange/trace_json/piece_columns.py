"""Events of one piece of a trace as columns, grouped by what they are. Pure functions: text in, columns out."""

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
"""What was left out, and why; both for people."""


@dataclass
class Group:
    """Columns of events of one sort: as many entries each as there are events.

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
    """Ids of flows and asynchronous events, hashable, one per event; empty where there are none."""
    phases: TextColumn | None = None
    """Their letters, where a group has events of several phases."""
    places: list[tuple[int | None, int | None, int | None]] = field(default_factory=list)
    """Device, context and stream; what ``thread`` numbers where events belong to a GPU."""

    def __len__(self) -> int:
        return len(self.start)

    def of_phase(self, letters: str) -> npt.NDArray[np.bool_]:
        """Which events are of one of these phases."""
        assert self.phases is not None, "a group of several phases"
        return np.array([letter in letters for letter in self.phases.table], bool)[self.phases.codes]

    def take(self, index: Int64Array) -> Group:
        """The events at these places only."""
        rows = index.tolist()
        return Group(
            self.threads,
            self.thread[index],
            self.start[index],
            self.duration[index],
            TextColumn(self.name.codes[index], self.name.table),
            TextColumn(self.category.codes[index], self.category.table),
            {name: column[index] for name, column in self.numbers.items()},
            {name: TextColumn(column.codes[index], column.table) for name, column in self.texts.items()},
            [self.ids[row] for row in rows] if self.ids else [],
            None if self.phases is None else TextColumn(self.phases.codes[index], self.phases.table),
            self.places,
        )


@dataclass
class Piece:
    """Everything in one piece of a trace: groups by route, metadata, and what was left out."""

    groups: dict[str, Group] = field(default_factory=dict)
    metadata: dict[Metadata, int] = field(default_factory=dict)
    """The distinct metadata events by when they last came, and how often each did."""
    losses: Counter[Loss] = field(default_factory=Counter)
    events: int = 0
    """How many events there were, metadata and losses included."""
    also: Piece | None = None
    """Further events of the same text, made into columns another way."""


def add_metadata(known: dict[Metadata, int], more: Iterable[tuple[Metadata, int]]) -> None:
    """Count metadata events that come after the known ones; some traces repeat each of theirs for every event."""
    for event, count in more:
        known[event] = known.pop(event, 0) + count


Route = Callable[[str, str], str]
"""Maps a phase letter and a category to the name of a group; "" leaves events out."""
Extractor = Callable[[list[Any], Counter[Loss]], "Group | dict[str, Group]"]
"""Makes columns of the events of one group; of several, when it tells them apart more finely."""

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
    "N": english("object created (N)"),
    "O": english("object snapshot (O)"),
    "D": english("object destroyed (D)"),
    "v": english("memory dump (v)"),
    "V": english("memory dump (V)"),
    "c": english("clock synchronisation (c)"),
    "(": english("context entered (()"),
    ")": english("context left ())"),
    "=": english("linked ids (=)"),
    "a": english("association (a)"),
}


def generic_route(phase: str, _category: str) -> str:
    """The group of events that no format claims for itself."""
    return _ROUTE_OF_PHASE.get(phase, "")


def split_piece(
    events: Sequence[Any],
    route: Route,
    extractors: Mapping[str, Extractor],
    *,
    claimed: frozenset[str] = frozenset(),
) -> Piece:
    """Sort events into groups and turn each group into columns.

    ``extractors`` make columns of groups; groups named in ``claimed`` need no column and are only counted as read
    (what they say is recorded elsewhere).
    """
    piece = Piece(events=len(events))
    pairs, codes = _phases_and_categories(events)
    routes = [route(_letter(phase), _text(category)) for phase, category in pairs]
    for code, ((phase, category), name) in enumerate(zip(pairs, routes, strict=True)):
        if name == "" and (phase is not None or category is not None):
            count = int((codes == code).sum())
            what = _UNSUPPORTED.get(_letter(phase))
            if what:
                piece.losses[what, english("nothing on a timeline corresponds to it")] += count
            else:
                what = english("events of phase {phase!r}", phase=phase)
                piece.losses[what, english("not a phase of the format")] += count
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
            told = ((_text(row.name), row.pid, row.tid, bytes(row.args)) for row in rows)
            add_metadata(piece.metadata, zip(told, repeat(1)))
        else:
            found = extractors[name](rows, piece.losses)
            for made, group in ({name: found} if isinstance(found, Group) else found).items():
                if made in piece.groups:
                    piece.also = Piece({made: group}, also=piece.also)
                else:
                    piece.groups[made] = group
    return piece


def _phases_and_categories(events: Sequence[Any]) -> tuple[list[tuple[Scalar, Scalar]], Int64Array]:
    """Distinct (phase, category) pairs and which one each event has."""
    phases, categories = Coder(), Coder()
    n = len(events)
    phase = np.fromiter(map(phases.__getitem__, [event.ph for event in events]), np.int64, n)
    category = np.fromiter(map(categories.__getitem__, [event.cat for event in events]), np.int64, n)
    used, codes = np.unique(phase * len(categories) + category, return_inverse=True)
    phase_list, category_list = list(phases), list(categories)
    pairs = [divmod(code, len(categories)) for code in used.tolist()]
    return [(phase_list[first], category_list[second]) for first, second in pairs], codes.astype(np.int64)


def _count_empty(events: Sequence[Any], members: npt.NDArray[np.bool_], losses: Counter[Loss]) -> int:
    """Objects without phase and category: empty ones end some lists and mean nothing, others are counted."""
    empty = 0
    for index in np.flatnonzero(members).tolist():
        event = events[index]
        if event.name is None and event.ts is None:
            empty += 1
        else:
            losses[english("events without a phase"), english("what they are is not recorded")] += 1
    return empty


def _letter(value: Scalar) -> str:
    return value if isinstance(value, str) else ""


def _text(value: Scalar) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def thread_codes(rows: Sequence[Event]) -> tuple[list[ThreadKey], npt.NDArray[np.uint32]]:
    """Distinct (pid, tid) of events and a code for each event."""
    coder = Coder()
    keys = zip([row.pid for row in rows], [row.tid for row in rows], strict=True)
    codes = np.fromiter(map(coder.__getitem__, keys), np.uint32, len(rows))
    return list(coder), codes


def timed(rows: list[Any], losses: Counter[Loss]) -> tuple[list[Any], Int64Array]:
    """The events that have a time, and their starts in ns; the others are counted."""
    start, missing = nanoseconds([row.ts for row in rows])
    if missing.any():
        losses[english("events without a time"), english("ts is missing or no number")] += int(missing.sum())
        rows = [rows[index] for index in np.flatnonzero(~missing).tolist()]
        start = start[~missing]
    return rows, start


def points(rows: list[Any], losses: Counter[Loss], *, bare: bool = False) -> tuple[list[Any], Group]:
    """Events that have a time but no duration, without further columns.

    ``bare`` leaves out thread and category, for events that belong to something else than a thread.
    """
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
    return rows, Group(threads, codes, start, np.zeros(count, np.int64), names, categories)


def spans(rows: list[Any], losses: Counter[Loss], *, bare: bool = False) -> tuple[list[Any], Group]:
    """Events with time and duration, without further columns; ``bare`` as in `points`.

    ``numbers["no_duration"]`` marks those whose duration is missing; they get the thread clock's, or 0.
    """
    rows, group = points(rows, losses, bare=bare)
    duration, missing = nanoseconds([row.dur for row in rows])
    negative = duration < 0
    if negative.any():
        losses[english("events with a negative duration"), english("they would end before they begin")] += (
            int(negative.sum())
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
    """The arguments of events as recorded JSON text; "" where there are none."""
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
    """Events of a moment: instants, and both borders of B/E pairs."""
    rows, group = points(rows, losses)
    group.texts["payload"] = payloads(rows)
    group.phases = texts([row.ph for row in rows])
    group.texts["scope"] = texts([row.s for row in rows])
    group.texts["frame"] = texts([row.sf for row in rows])
    return group


def extract_identified(rows: list[Any], losses: Counter[Loss]) -> Group:
    """Events that an id holds together: flows and asynchronous events."""
    rows, group = points(rows, losses)
    group.phases = texts([row.ph for row in rows])
    group.texts["payload"] = payloads(rows)
    group.texts["bind"] = texts([row.bp for row in rows])
    group.ids = [_identity(row) for row in rows]
    return group


def _identity(row: Event) -> Any:
    """What must be equal for two events to belong together: id with its scope, or the two-part id."""
    if row.id is not None or not row.id2:
        return (row.id, row.scope)
    # A local id is unique in its process only.
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
