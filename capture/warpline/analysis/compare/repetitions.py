"""Finds the repeated values behind the rows of a report: over the steps, or the events, of a run."""

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
"""How many steps around the compared one measure the step-to-step variation."""
_ANY_KIND, _NOBODY = -1, -1
_SAME, _ROUNDED_NS = 0.01, 2_000
"""A row's events must add up to its value within this share, or this time."""


@dataclass(frozen=True, eq=False)
class _Repeated:
    """The values of a row over ``of``, which is ``steps`` or ``events``; ns."""

    of: str
    values: Int64Array


def around(windows: Windows) -> Windows:
    """At most `STEPS` consecutive windows around the median one."""
    if len(windows) <= STEPS:
        return windows
    first = min(max(windows.median() - STEPS // 2, 0), len(windows) - STEPS)
    return windows.take(np.arange(first, first + STEPS))


@dataclass(frozen=True, eq=False)
class _GroupEvents:
    """Events with their group, and start and stop in capture ns."""

    group: Int64Array
    start: Int64Array
    stop: Int64Array


@dataclass(frozen=True, eq=False)
class ReportOfRun:
    """A report of one run: ``table`` covers the windows ``shown``, a subset of ``windows``."""

    view: View
    windows: Windows
    shown: Windows
    table: Table


def with_repetitions(compared: TableComparison, a: ReportOfRun, b: ReportOfRun) -> TableComparison:
    """Add the noise inside each run to the first rows: over steps if there are any, else over events.

    Rows stay unchanged when their events are unknown or do not add up to the reported value.
    """
    rows = compared.rows[:VARIED_ROWS]
    repeated_a = _repeated(a, compared.keys, [row.names_a for row in rows], [row.a for row in rows])
    repeated_b = _repeated(b, compared.keys, [row.names_b for row in rows], [row.b for row in rows])
    varied = [
        replace(row, variation=_variation(values_a, values_b))
        if values_a is not None and values_b is not None and values_a.of == values_b.of
        else row
        for row, values_a, values_b in zip(rows, repeated_a, repeated_b, strict=True)
    ]
    return replace(compared, rows=(*varied, *compared.rows[VARIED_ROWS:]))


def _variation(a: _Repeated, b: _Repeated) -> Variation:
    return paired_variation(a.values, b.values) if a.of == "events" else variation(a.of, a.values, b.values)


def _repeated(
    run: ReportOfRun, keys: tuple[str, ...], rows: Sequence[tuple[Key, ...]], values: Sequence[float | None]
) -> list[_Repeated | None]:
    """The repeated times behind each row; ``values`` are the reported totals."""
    steps = around(run.windows)
    is_stepped = len(run.windows) >= FEWEST
    reach = steps if is_stepped else run.shown
    events = _events(run.view, _groups(run.table, keys, rows), int(reach.start[0]), int(reach.stop.max()))
    at_shown = _by_window(events, run.shown, len(rows)).sum(axis=1)
    by_step = _by_window(events, steps, len(rows)) if is_stepped else None
    result: list[_Repeated | None] = []
    for index, value in enumerate(values):
        if value is None or abs(int(at_shown[index]) - value) > max(_SAME * value, _ROUNDED_NS):
            result.append(None)
        elif by_step is not None:
            result.append(_Repeated("steps", by_step[index]))
        else:
            mine = np.flatnonzero(events.group == index)
            mine = mine[np.argsort(events.start[mine], kind="stable")]
            stops = np.minimum(events.stop[mine], run.shown.stop.max())
            result.append(_Repeated("events", stops - np.maximum(events.start[mine], run.shown.start[0])))
    return result


def _groups(
    table: Table, keys: tuple[str, ...], rows: Sequence[tuple[Key, ...]]
) -> dict[tuple[int, int], int]:
    """The row of the events of a (kind, name); names of several rows are left out."""
    names, kinds = table.targets.names, table.targets.kinds
    if names is None:
        return {}
    row_of = {key: place for place, its in enumerate(rows) for key in its}
    row_of_events: dict[tuple[int, int], int] = {}
    shared = set()
    for line, key in enumerate(line_keys(table, keys)):
        if key is not None and names[line] != NO_NAME:
            events = _ANY_KIND if kinds is None else int(kinds[line]), int(names[line])
            place = row_of.get(key, _NOBODY)
            if row_of_events.setdefault(events, place) != place:
                shared.add(events)
    return {
        events: place for events, place in row_of_events.items() if place != _NOBODY and events not in shared
    }


def _events(view: View, groups: Mapping[tuple[int, int], int], start_ns: int, stop_ns: int) -> _GroupEvents:
    names = frozenset(name for _kind, name in groups)
    wanted = {kind for kind, _name in groups}
    parts: list[_GroupEvents] = []
    if names:
        chosen = View(view.capture, Selection(start_ns, stop_ns, names=names), view.cancelled)
        for title, kind in view.capture.kinds.items():
            code = kind.code if kind.code in wanted else _ANY_KIND
            if code not in wanted:
                continue
            place = {name: group for (kind_code, name), group in groups.items() if kind_code == code}
            known = np.array(sorted(place), np.int64)
            group_of = np.array([place[name] for name in known.tolist()], np.int64)
            for events in chosen.batches(title):
                at = np.minimum(np.searchsorted(known, events.name), len(known) - 1)
                here = known[at] == events.name
                parts.append(_GroupEvents(group_of[at][here], events.start[here], events.stop[here]))
    if not parts:
        return _GroupEvents(*(np.empty(0, np.int64) for _ in range(3)))
    return _GroupEvents(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("group", "start", "stop"))
    )


def _by_window(events: _GroupEvents, windows: Windows, groups: int) -> Int64Array:
    """The time of each group in each of some disjoint sorted windows, int64 ns (groups, windows)."""
    first = np.searchsorted(windows.stop, events.start, "right")
    last = np.searchsorted(windows.start, events.stop, "left")
    count = np.maximum(last - first, 0)
    event = np.repeat(np.arange(len(count)), count)
    window = np.arange(len(event)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
    inside = np.minimum(events.stop[event], windows.stop[window]) - np.maximum(
        events.start[event], windows.start[window]
    )
    sums = np.bincount(
        events.group[event] * len(windows) + window, np.maximum(inside, 0), groups * len(windows)
    )
    return sums.astype(np.int64).reshape(groups, len(windows))
