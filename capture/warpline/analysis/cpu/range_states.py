"""Thread states during ranges, phases and operators."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Texts, Values, unrecorded
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import Groups, group_sums, kind_code, name_texts, ratios, scope_text
from warpline.analysis.structure.thread_states import REASONED_STATE_TITLES, REASONED_STATES, StateTimes
from warpline.i18n import english
from warpline.model import Flag

Int64Array = npt.NDArray[np.int64]
KINDS = ("range", "phase", "operator")
_BATCH = 1 << 18
"""Events whose state times are in memory at once."""
_RUNNABLE = REASONED_STATES.index("runnable")
_REASONS = {
    "wait_lock": english("Lock"),
    "wait_gil": english("GIL"),
    "wait_condition": english("Condition"),
    "wait_sleep": english("Sleep"),
    "wait_file": english("File"),
    "wait_network": english("Network"),
    "wait_child": english("Child"),
    "wait_gpu": english("GPU"),
}
"""Short column titles, explained in a note."""


def range_states(view: View, _options: Options) -> Table | NotRecorded:
    """Time of each state of the own thread during ranges, phases and operators, by name; nested events count again."""
    if not view.has(*KINDS):
        return missing("range")
    if not view.has("thread_state"):
        return missing("thread_state")
    groups, states = Groups(), StateTimes(view.everything())
    sums = np.zeros((len(REASONED_STATES) + 2, 0), np.int64)
    for thread, tracks in _tracks_by_thread(view).items():
        for index, kind in enumerate(KINDS):
            for events in view.batches(kind, tracks, _BATCH):
                events = events.take(events.inside > 0)
                code = groups.codes(np.full(len(events), index), events.name).astype(np.int64)
                missing_rows = len(groups) - sums.shape[1]
                sums = np.pad(sums, ((0, 0), (0, missing_rows)))
                start = np.maximum(events.start, view.start_ns)
                state_times = states.times_in(thread, start, start + events.inside)
                counts = np.ones(len(code), np.int64)
                sums += group_sums(code, sums.shape[1], [*state_times.T, events.inside, counts])
    order = np.argsort(-sums[-2], kind="stable")
    *times, total, count = sums[:, order]
    return _table(view, groups, order, np.stack(times, 1), total, count)


def _tracks_by_thread(view: View) -> dict[int, frozenset[int]]:
    tracks_of: dict[int, set[int]] = {}
    for track in view.capture.tracks:
        if track.thread is not None and track.index in view.tracks and track.device is None:
            tracks_of.setdefault(track.thread, set()).add(track.index)
    return {thread: frozenset(tracks) for thread, tracks in tracks_of.items()}


def _table(
    view: View, groups: Groups, order: Int64Array, times: Int64Array, total: Int64Array, count: Int64Array
) -> Table:
    place, name = (np.ma.getdata(column).astype(np.int64) for column in groups.columns(order, 2))
    kinds = [view.capture.kinds[kind].spec.title if view.has(kind) else kind for kind in KINDS]
    columns = [
        Column(
            "running_ratio", "Running", Role.RATIO, of=english("the time of the range"), heat=True, lead=1
        ),
        Column("total_ns", "Total Time", Role.DURATION),
        Column("count", "Instances", Role.COUNT),
    ]
    data: dict[str, Values] = {
        "running_ratio": ratios(times[:, 0], total),
        "total_ns": total,
        "count": count,
    }
    unknown = _unknown_states(view)
    for state, title in zip(REASONED_STATES, REASONED_STATE_TITLES, strict=True):
        column = times[:, REASONED_STATES.index(state)]
        if state in unknown:
            data[f"{state}_ns"] = unrecorded(len(order), np.int64)
        elif column.any() or state in {"running", "runnable", "blocked"}:
            data[f"{state}_ns"] = column
        else:
            continue
        columns.append(Column(f"{state}_ns", _REASONS.get(state, title), Role.DURATION))
    rest = total - times.sum(1)
    if rest.any():
        data["unrecorded_ns"] = rest
        columns.append(Column("unrecorded_ns", "Not recorded", Role.DURATION))
    data["kind"], data["name"] = Texts(place, kinds.__getitem__), name_texts(view, name)
    columns += [
        Column("kind", "Kind", Role.TEXT, key=True, ours=True),
        Column("name", "Range", Role.NAME, key=True),
    ]
    codes = np.array([kind_code(view, kind) if view.has(kind) else -1 for kind in KINDS], np.int16)
    return Table(
        tuple(columns),
        data,
        targets=Targets(names=name.astype(np.uint32), kinds=codes[place]),
        scope=scope_text(view, english("Ranges, phases and operators")),
        notes=_notes(view, unknown),
    )


def _unknown_states(view: View) -> frozenset[str]:
    """States that the recorder cannot distinguish; their times are unknown."""
    for events in view.everything().batches("thread_state"):
        if np.any(view.capture.events.flags[events.row] & Flag.WAITING):
            return frozenset()
    return frozenset((REASONED_STATES[_RUNNABLE],))


def _notes(view: View, unknown: frozenset[str]) -> tuple[str, ...]:
    notes = [english("Each event counts the states of its own thread; nested events count in both.")]
    if REASONED_STATES[_RUNNABLE] in unknown:
        notes.append(english("Runnable was not recorded: blocked and other include the wait for a core."))
    if "wait" in view.capture.kinds["thread_state"].attributes:
        notes.append(
            english(
                "The columns from Lock to GPU split blocked time by reason. Condition includes barriers, signals and "
                "futexes; File includes terminals; Network includes pipes; Child includes joining threads."
            )
        )
    else:
        why = missing("wait")
        notes.append(
            english("Blocked time has no reasons: {reason}; {remedy}.", reason=why.reason, remedy=why.remedy)
        )
    return tuple(notes)


report = ReportSpec(
    "range_states",
    "Thread states in ranges",
    "ranges",
    range_states,
    needs=("range", "phase", "operator"),
    place=216,
)
