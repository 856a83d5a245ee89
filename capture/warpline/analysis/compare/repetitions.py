"""What was repeated on one side: the values of its parts and rows from run to run, step to step, or event to event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.compare.alignment import Windows
from warpline.analysis.compare.names import Key
from warpline.analysis.compare.tables import VARIED_ROWS, TableComparison, line_keys
from warpline.analysis.compare.variation import FEWEST, Variation, paired_variation, variation
from warpline.analysis.framework.report import NO_NAME, Table
from warpline.analysis.framework.selection import Selection, View

Int64Array = npt.NDArray[np.int64]
STEPS = 30
"""So many steps around the one that is compared tell how things vary from step to step."""
_ANY_KIND, _NOBODY = -1, -1
_SAME, _ROUNDED_NS = 0.01, 2_000
"""A row's events are found when they add up to its value, but for this."""


@dataclass(frozen=True, eq=False)
class _Repeated:
    """Times of one thing, ns; ``of`` what there are several: ``steps`` or ``events``."""

    of: str
    values: Int64Array


def around(windows: Windows) -> Windows:
    """At most `STEPS` windows that follow each other, with the median one among them."""
    if len(windows) <= STEPS:
        return windows
    first = min(max(windows.median() - STEPS // 2, 0), len(windows) - STEPS)
    return windows.take(np.arange(first, first + STEPS))


@dataclass(frozen=True, eq=False)
class _Found:
    """Events of some groups: which, and from when to when (capture ns)."""

    group: Int64Array
    start: Int64Array
    stop: Int64Array


@dataclass(frozen=True, eq=False)
class ReportOfRun:
    """A report of one run: ``table`` over the windows ``shown``, which are some of ``windows``."""

    view: View
    windows: Windows
    shown: Windows
    table: Table


def with_repetitions(compared: TableComparison, a: ReportOfRun, b: ReportOfRun) -> TableComparison:
    """The rows that explain most, with how they vary inside each run: from step to step where there are steps, else
    from event to event.

    Rows stay as they are where the events behind them are not known, or do not add up to what the report says.
    """
    rows = compared.rows[:VARIED_ROWS]
    repeated_a = _repeated(a, compared.keys, [row.names_a for row in rows], [row.a for row in rows])
    repeated_b = _repeated(b, compared.keys, [row.names_b for row in rows], [row.b for row in rows])
    found = [
        replace(row, variation=_variation(one, other))
        if one is not None and other is not None and one.of == other.of
        else row
        for row, one, other in zip(rows, repeated_a, repeated_b, strict=True)
    ]
    return replace(compared, rows=(*found, *compared.rows[VARIED_ROWS:]))


def _variation(a: _Repeated, b: _Repeated) -> Variation:
    return paired_variation(a.values, b.values) if a.of == "events" else variation(a.of, a.values, b.values)


def _repeated(
    run: ReportOfRun, keys: tuple[str, ...], rows: Sequence[tuple[Key, ...]], values: Sequence[float | None]
) -> list[_Repeated | None]:
    """The repeated times behind each of some rows, which ``values`` are what the report says of."""
    steps = around(run.windows)
    is_stepped = len(run.windows) >= FEWEST
    reach = steps if is_stepped else run.shown
    found = _events(run.view, _groups(run.table, keys, rows), int(reach.start[0]), int(reach.stop.max()))
    at_shown = _by_window(found, run.shown, len(rows)).sum(axis=1)
    by_step = _by_window(found, steps, len(rows)) if is_stepped else None
    result: list[_Repeated | None] = []
    for place, value in enumerate(values):
        if value is None or abs(int(at_shown[place]) - value) > max(_SAME * value, _ROUNDED_NS):
            result.append(None)
        elif by_step is not None:
            result.append(_Repeated("steps", by_step[place]))
        else:
            mine = np.flatnonzero(found.group == place)
            mine = mine[np.argsort(found.start[mine], kind="stable")]
            stops = np.minimum(found.stop[mine], run.shown.stop.max())
            result.append(_Repeated("events", stops - np.maximum(found.start[mine], run.shown.start[0])))
    return result


def _groups(
    table: Table, keys: tuple[str, ...], rows: Sequence[tuple[Key, ...]]
) -> dict[tuple[int, int], int]:
    """Which row the events of a kind and name belong to; those of several rows belong to none."""
    names, kinds = table.targets.names, table.targets.kinds
    if names is None:
        return {}
    row_of = {key: place for place, its in enumerate(rows) for key in its}
    found: dict[tuple[int, int], int] = {}
    shared = set()
    for line, key in enumerate(line_keys(table, keys)):
        if key is not None and names[line] != NO_NAME:
            events = _ANY_KIND if kinds is None else int(kinds[line]), int(names[line])
            place = row_of.get(key, _NOBODY)
            if found.setdefault(events, place) != place:
                shared.add(events)
    return {events: place for events, place in found.items() if place != _NOBODY and events not in shared}


def _events(view: View, groups: Mapping[tuple[int, int], int], start_ns: int, stop_ns: int) -> _Found:
    names = frozenset(name for _kind, name in groups)
    wanted = {kind for kind, _name in groups}
    parts: list[_Found] = []
    if names:
        chosen = View(view.capture, Selection(start_ns, stop_ns, names=names), view.cancelled)
        for title, kind in view.capture.kinds.items():
            code = kind.code if kind.code in wanted else _ANY_KIND
            if code not in wanted:
                continue
            place = {name: group for (of, name), group in groups.items() if of == code}
            known = np.array(sorted(place), np.int64)
            group_of = np.array([place[name] for name in known.tolist()], np.int64)
            for events in chosen.batches(title):
                at = np.minimum(np.searchsorted(known, events.name), len(known) - 1)
                here = known[at] == events.name
                parts.append(_Found(group_of[at][here], events.start[here], events.stop[here]))
    if not parts:
        return _Found(*(np.empty(0, np.int64) for _ in range(3)))
    return _Found(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("group", "start", "stop"))
    )


def _by_window(found: _Found, windows: Windows, groups: int) -> Int64Array:
    """The time of each group in each of disjoint sorted windows, shape (groups, windows), ns."""
    first = np.searchsorted(windows.stop, found.start, "right")
    last = np.searchsorted(windows.start, found.stop, "left")
    count = np.maximum(last - first, 0)
    event = np.repeat(np.arange(len(count)), count)
    window = np.arange(len(event)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
    inside = np.minimum(found.stop[event], windows.stop[window]) - np.maximum(
        found.start[event], windows.start[window]
    )
    sums = np.bincount(
        found.group[event] * len(windows) + window, np.maximum(inside, 0), groups * len(windows)
    )
    return sums.astype(np.int64).reshape(groups, len(windows))
