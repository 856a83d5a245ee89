"""Time of each thread by state."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Values, unrecorded
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import group_totals
from warpline.analysis.framework.tables import masked_below_zero, ratios, scope_text
from warpline.analysis.framework.thread_columns import PID_TID, pid_tid_data, thread_texts
from warpline.analysis.structure.thread_states import STATES, state_codes
from warpline.i18n import english
from warpline.model import Flag

Int64Array = npt.NDArray[np.int64]
_OPTIONAL = (1, 2)
"""Runnable and blocked, which not every source can distinguish."""
_BLOCKED = STATES.index("blocked")
_TITLES = (
    english("Running"),
    english("Runnable"),
    english("Blocked"),
    english("Uninterruptible"),
    english("Other"),
)


def thread_state(view: View, _options: Options) -> Table | NotRecorded:
    """Time of each thread by state, and how often it ran."""
    if not view.has("thread_state"):
        return missing("thread_state")
    tracks = view.tracks_of_role("state")
    totals = np.zeros((len(tracks), len(STATES)), np.int64)
    counts = np.zeros((len(tracks), len(STATES)), np.int64)
    longest = np.zeros(len(tracks), np.int64)
    estimated = np.zeros(len(tracks), bool)
    has_core_waits = "core_wait_ns" in view.capture.kinds["thread_state"].attributes
    core_waits = np.full(len(tracks), -1, np.int64)
    for index, track in enumerate(tracks):
        for events in view.batches("thread_state", frozenset([track.index])):
            code = state_codes(view, events.row, events.name)
            count, total = group_totals(code, events.inside, len(STATES))
            counts[index] += count
            totals[index] += total
            waiting = events.inside[code == 1]
            longest[index] = max(int(longest[index]), int(waiting.max(initial=0)))
            if has_core_waits:
                waits = view.column("thread_state", "core_wait_ns", events.index)
                known = np.flatnonzero(~np.ma.getmaskarray(waits))
                part = np.minimum(np.ma.getdata(waits)[known], events.inside[known])
                if len(known):
                    core_waits[index] = max(0, core_waits[index]) + int(part.sum())
            estimated[index] |= bool((view.capture.events.flags[events.row] & Flag.ESTIMATED).any())
    keep = np.flatnonzero(totals.sum(1) > 0)
    order = keep[np.argsort(-totals[keep, 0], kind="stable")]
    threads = np.array([-2 - t.index if t.thread is None else t.thread for t in tracks] or [-2], np.int64)[
        order
    ]
    recorded = totals[order].sum(1)
    data: dict[str, Values] = {
        "name": thread_texts(view, threads),
        **pid_tid_data(view, threads),
        "recorded_ns": recorded,
    }
    columns = [
        Column("name", "Thread", Role.NAME, key=True),
        *PID_TID,
        Column("recorded_ns", "Recorded", Role.DURATION),
    ]
    for index, state in enumerate(STATES):
        if not totals[:, index].any() and index > 2:
            continue
        # The recorder does not distinguish a state that no thread was in: it is unknown, not 0.
        unknown = index in _OPTIONAL and not counts[:, index].any()
        data[f"{state}_ns"] = np.ma.MaskedArray(totals[order, index], np.full(len(order), unknown))
        share = ratios(totals[order, index], recorded)
        data[f"{state}_ratio"] = unrecorded(len(order), np.float64) if unknown else share
        columns.append(Column(f"{state}_ns", _TITLES[index], Role.DURATION))
        columns.append(
            Column(f"{state}_ratio", _TITLES[index], Role.RATIO, of=english("the thread's recorded time"))
        )
        if index == _BLOCKED and has_core_waits:
            data["core_wait_ns"] = masked_below_zero(core_waits[order])
            title = english("Blocked, waiting for a core (estimated)")
            columns.append(Column("core_wait_ns", title, Role.DURATION))
    queued = _run_queue_totals(view)
    if queued:
        totals_of = [queued.get(thread, -1) for thread in threads.tolist()]
        data["run_queue_ns"] = masked_below_zero(np.array(totals_of, np.int64))
        columns.append(Column("run_queue_ns", english("Run queue total"), Role.DURATION))
    data["switches"] = counts[order, 0]
    waited = np.full(len(order), not counts[:, 1].any())
    data["longest_runnable_ns"] = np.ma.MaskedArray(longest[order], waited)
    columns += [
        Column("switches", "Times run", Role.COUNT),
        Column("longest_runnable_ns", "Longest runnable", Role.DURATION),
    ]
    notes = []
    if estimated[order].any():
        notes.append(
            english(
                "States marked as estimated were sampled: each interval counts as its most frequent state."
            )
        )
    if has_core_waits:
        notes.append(
            english(
                "Blocked includes the time from the wake-up until the thread gets a core. That wait is estimated from"
                " the kernel's totals, sampled about ten times a second."
            )
        )
    if queued:
        notes.append(
            english(
                "Run queue total: how long the thread has waited for a core since it started, counted by the kernel."
                " It is read about ten times a second; waits after the last reading are missing."
            )
        )
    if not counts[:, 1].any():
        notes.append(english("Runnable was not recorded: blocked and other include the wait for a core."))
    if not counts[:, 2].any():
        notes.append(english("Blocked was not recorded: other includes it."))
    return Table(
        tuple(columns),
        data,
        targets=Targets(tracks=np.array([tracks[i].index for i in order.tolist()], np.int32)),
        scope=scope_text(view, english("Thread states")),
        notes=tuple(notes),
    )


def _run_queue_totals(view: View) -> dict[int, int]:
    """Time of each thread (index) in run queues: the last reading of the kernel's total (ns)."""
    rows = view.capture.meta.get("thread_accounting")
    totals: dict[int, int] = {}
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict):
            thread, waited = row.get("thread"), row.get("run_queue_ns")
            if isinstance(thread, int) and isinstance(waited, int):
                totals[thread] = waited
    return totals


report = ReportSpec(
    "thread_state", "Thread states", "cpu", thread_state, needs=("thread_state",), place=601, of_tracks=True
)
