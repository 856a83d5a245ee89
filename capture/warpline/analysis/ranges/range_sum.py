"""Summaries of ranges: NVTX ranges and user annotations of frameworks (record_function, RecordEvent)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.nested_events import nested_events
from warpline.analysis.framework.nesting import flat_parents, uncovered_times
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.report import NotRecorded, Table, Values
from warpline.analysis.framework.selection import BATCH_EVENTS, View
from warpline.analysis.framework.statistics import KeyArray, batch_statistics
from warpline.analysis.framework.tables import (
    Groups,
    combine_keys,
    group_sums,
    ratio,
    scope_text,
    stat_columns,
    stat_data,
)
from warpline.analysis.ranges.range_names import (
    MARK,
    PUSH_POP,
    START_END,
    RangeNames,
    range_targets,
    style_texts,
    styles,
    tracks_without_thread,
)
from warpline.analysis.structure.launches import threads_of_tracks
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]
OF_WALL = english("the selected range")
_OF_EACH_OTHER = english(
    "Nested ranges also count in the ranges around them, and threads add up: totals may exceed the selected range."
)


OWN = english("the self time of all nested ranges")


def range_sum(view: View, wanted: tuple[int, ...], with_style: bool) -> Table | NotRecorded:
    """Ranges of some styles by name.

    Totals of nested ranges overlap, so ratios refer to the selected range; own times are in columns of their own.
    """
    if not view.has("range"):
        return missing("range")
    names = RangeNames(view)
    groups = Groups()
    is_wanted = np.isin((PUSH_POP, START_END, MARK), wanted)

    def batches() -> Iterator[tuple[KeyArray, Int64Array]]:
        for events in view.batches("range"):
            style = styles(view, events.index, events.row)
            keep = is_wanted[style]
            domain = names.domains(events.index)
            yield groups.codes(domain[keep], events.name[keep], style[keep]), events.inside[keep]

    stats = batch_statistics(batches).by_total()
    domain, name, style = (np.ma.getdata(column) for column in groups.columns(stats.key, 3))
    code = (domain << 32) | name
    ratio_column, total_column, *figures = stat_columns(english("Instances"), OF_WALL)
    # Not a share: the ratios do not add up to 1.
    columns = [replace(ratio_column, role=Role.RATIO), total_column]
    data: dict[str, Values] = stat_data(stats, whole=view.duration_ns)
    if PUSH_POP in wanted:
        nested = np.flatnonzero(style == PUSH_POP)
        own = np.ma.array(np.zeros(len(code), np.int64), mask=style != PUSH_POP)
        own[nested] = _own_times(view, names, code[nested])
        columns += [
            Column("self_ratio", "Self", Role.SHARE, of=OWN, heat=True, lead=2),
            Column("self_ns", "Self Time", Role.DURATION),
        ]
        data["self_ratio"] = np.ma.masked_where(
            np.ma.getmaskarray(own), ratio(own.filled(0), own.filled(0).sum())
        )
        data["self_ns"] = own
    columns += figures
    if with_style:
        columns.append(Column("style", "Style", Role.TEXT, key=True))
        data["style"] = style_texts(style)
    columns.append(Column("name", "Range", Role.NAME, key=True))
    data["name"] = names.texts(code)
    return Table(
        tuple(columns),
        data,
        targets=range_targets(view, code),
        scope=scope_text(view, english("Ranges")),
        notes=(_OF_EACH_OTHER,),
    )


def _own_times(view: View, names: RangeNames, code: Int64Array) -> Int64Array:
    """Self time of nested ranges by name inside the selection, without ranges inside them on their thread (int64 ns).

    ``code`` holds each name of nested ranges once.
    """
    threads = threads_of_tracks(view)
    tracks_of: dict[int, list[int]] = {}
    for track in view.tracks:
        tracks_of.setdefault(int(threads[track]), []).append(track)
    order = np.argsort(code, kind="stable")
    totals = np.zeros(len(code), np.int64)
    without_thread = tracks_without_thread(view)
    for tracks in tracks_of.values():
        if not len(code):
            continue
        events = nested_events(view, tracks, ("range",))
        parent = flat_parents(events)
        row, start = events.row, np.maximum(events.start, view.start_ns)
        stop = np.minimum(events.stop, view.stop_ns)
        del events
        own = uncovered_times(start, stop, parent)
        del start, stop, parent
        for first in range(0, len(row), BATCH_EVENTS):
            rows = row[first : first + BATCH_EVENTS]
            index = view.capture.kinds["range"].indices_of(rows)
            nested = np.flatnonzero(styles(view, index, rows, without_thread) == PUSH_POP)
            mine = names.codes(index[nested], view.capture.events.name[rows[nested]])
            key, rows_of_key = combine_keys(mine >> 32, mine & 0xFFFFFFFF)
            [sums] = group_sums(key, len(rows_of_key), [own[first + nested]])
            mine = mine[rows_of_key]
            place = order[np.minimum(np.searchsorted(code, mine, sorter=order), len(code) - 1)]
            listed = code[place] == mine
            np.add.at(totals, place[listed], sums[listed])
    return totals
