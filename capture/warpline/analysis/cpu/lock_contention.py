"""Waits for locks by lock, waiting line and releasing line."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Texts
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selected.selected_events import SelectedEvents
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import group_statistics
from warpline.analysis.framework.tables import (
    combine_keys,
    event_targets,
    scope_text,
    stat_columns,
    stat_data,
)
from warpline.i18n import english
from warpline.model.frames import parse_frame
from warpline.model.waits import WAIT_KINDS, WaitKind

Int64Array = npt.NDArray[np.int64]

LOCKS = (WaitKind.LOCK, WaitKind.CONDITION, WaitKind.BARRIER)


def lock_contention(view: View, _options: Options) -> Table | NotRecorded:
    """Waits for locks, conditions and barriers by lock, waiting line and line of the holder; longest total first."""
    if not view.has("osrt") or "wait" not in view.capture.kinds["osrt"].attributes:
        return missing("wait")
    events = view.events("osrt")
    kind = np.ma.filled(view.column("osrt", "wait", events.index), 0).astype(np.int64)
    is_lock = np.flatnonzero(np.isin(kind, LOCKS))
    events, kind = events.take(is_lock), kind[is_lock]
    place, holder_place = (_filled(view, name, events) for name in ("place", "holder_place"))
    places, at = _program_lines(view, place, _filled(view, "stack", events))
    # Addresses are 64 bits wide, too wide for a key: use their index among the distinct ones.
    addresses, address = np.unique(
        np.ma.filled(view.column("osrt", "address", events.index), 0).astype(np.uint64), return_inverse=True
    )
    track = view.track_of(events.row) if len(events) else np.empty(0, np.int64)
    owner = view.track_values("process")[track]
    key, first = combine_keys(owner, address.reshape(-1), at, holder_place)
    stats = group_statistics(key, events.inside).by_total()
    rows = first[stats.key]
    pids = [view.capture.processes[index].pid if index >= 0 else 0 for index in owner[rows].tolist()]
    return Table(
        (
            *stat_columns(english("Waits"), english("all waiting time for locks")),
            Column("name", "Waits at", Role.NAME, key=True, is_place=True),
            Column("holder_place", "Holder at", Role.TEXT, key=True, is_place=True),
            Column("lock", "Lock", Role.TEXT, key=True),
            Column("wait", "Kind", Role.TEXT, ours=True),
            Column("pid", "PID", Role.ID, key=True),
        ),
        {
            **stat_data(stats),
            "name": Texts(at[rows], places.__getitem__),
            "holder_place": Texts(holder_place[rows], view.capture.strings.__getitem__),
            "lock": [f"{int(value):#x}" for value in addresses[address.reshape(-1)[rows]]],
            "wait": Texts(kind[rows], lambda code: WAIT_KINDS.get(code, str(code))),
            "pid": np.array(pids, np.int64),
        },
        targets=event_targets(events.row[rows]),
        scope=scope_text(view, english("Waits for locks")),
        notes=(
            english(
                "Full waits of all threads. A time budget shows less: only waits that delay its target, without the "
                "time in which the holder itself waited, which is a separate cause."
            ),
        ),
    )


def _filled(view: View, name: str, events: SelectedEvents) -> Int64Array:
    """A column of ids, −1 for none."""
    if name not in view.capture.kinds["osrt"].attributes:
        return np.full(len(events), -1, np.int64)
    return np.ma.filled(view.column("osrt", name, events.index).astype(np.int64), -1)


def _program_lines(view: View, place: Int64Array, stack: Int64Array) -> tuple[list[str], Int64Array]:
    """The innermost line of the program itself in each stack, or the place: texts, and the index of each call's [n].

    Conditions and queues wait inside the standard library; only their callers identify them.
    """
    key, first = combine_keys(place, stack)
    texts: dict[str, int] = {}
    line_of_key = np.full(len(first), -1, np.int64)
    for number, row in enumerate(first.tolist()):
        frames = view.capture.stack_frames(int(stack[row]))
        own = next((frame for frame in frames if parse_frame(frame).is_own), None)
        if own is None and place[row] >= 0:
            own = view.capture.strings[int(place[row])]
        if own is not None:
            line_of_key[number] = texts.setdefault(own, len(texts))
    return list(texts), line_of_key[key]


report = ReportSpec("lock_contention", "Lock contention", "cpu", lock_contention, needs=("osrt",), place=604)
