"""Blocked time of threads by reason and source line."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Texts
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import group_statistics
from warpline.analysis.framework.tables import (
    combine_keys,
    event_targets,
    scope_text,
    stat_columns,
    stat_data,
)
from warpline.analysis.framework.thread_columns import PID_TID, pid_tid_data, thread_texts
from warpline.analysis.structure.thread_states import STATES, state_codes
from warpline.i18n import english
from warpline.model.waits import OWN_THREAD, WAIT_KINDS

Int64Array = npt.NDArray[np.int64]
_BLOCKED = STATES.index("blocked")


def waits(view: View, _options: Options) -> Table | NotRecorded:
    """Blocked time of each thread by reason and source line. A row's event is its longest wait."""
    if not view.has("thread_state"):
        return missing("thread_state")
    if "wait" not in view.capture.kinds["thread_state"].attributes:
        return missing("wait")
    events = view.events("thread_state")
    events = events.take(state_codes(view, events.row, events.name) == _BLOCKED)
    thread = view.thread_of(events.row)
    own = [i for i, entry in enumerate(view.capture.threads) if entry.name == OWN_THREAD]
    is_program = np.flatnonzero(~np.isin(thread, own))
    events, thread = events.take(is_program), thread[is_program]
    kind = np.ma.filled(view.column("thread_state", "wait", events.index), 0).astype(np.int64)
    place = np.ma.filled(view.column("thread_state", "place", events.index).astype(np.int64), -1)
    key, first = combine_keys(thread, kind, place)
    stats = group_statistics(key, events.inside).by_total()
    rows = first[stats.key]
    return Table(
        (
            *stat_columns(english("Waits"), english("all blocked time")),
            Column("name", "Reason", Role.NAME, key=True, ours=True),
            Column("place", "Place", Role.TEXT, key=True, is_place=True),
            Column("thread", "Thread", Role.TEXT, key=True),
            *PID_TID,
        ),
        {
            **stat_data(stats),
            "name": Texts(kind[rows], lambda code: WAIT_KINDS.get(code, str(code))),
            "place": Texts(place[rows], view.capture.strings.__getitem__),
            "thread": thread_texts(view, thread[rows]),
            **pid_tid_data(view, thread[rows]),
        },
        targets=event_targets(events.row[_longest(key, events.inside)[stats.key]]),
        scope=scope_text(view, english("Blocked time")),
        notes=(
            english("Unknown reasons: blocked outside the traced calls, or for less than the threshold."),
        ),
    )


def _longest(key: Int64Array, duration: Int64Array) -> Int64Array:
    """The index of each key's longest event."""
    order = np.lexsort((duration, key))
    last = np.flatnonzero(np.r_[key[order][1:] != key[order][:-1], True][: len(order)])
    return order[last]


report = ReportSpec("waits", "Waits by reason and line", "cpu", waits, needs=("thread_state",), place=600)
