"""What threads and cores did: states, utilization, who ran."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Texts, Values, unrecorded
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import group_totals
from warpline.analysis.framework.tables import masked_below_zero, missing, ratios, scope_text
from warpline.analysis.framework.thread_columns import pid_tid, thread_titles
from warpline.model import Flag, Track

Int64Array = npt.NDArray[np.int64]
_TOLD_BY_SOME = (1, 2)
"""Runnable and blocked: not every source tells them from each other."""
STATES = ("running", "runnable", "blocked", "uninterruptible", "other")


def state_codes(view: View, rows: Int64Array, names: npt.NDArray[np.uint32]) -> Int64Array:
    """Index into `STATES` of thread-state events: flags tell running, waiting and idle, names the rest."""
    strings = view.capture.strings
    flags = view.capture.events.flags[rows]
    code = np.zeros(len(rows), np.int64)
    code[(flags & Flag.WAITING) != 0] = 1
    idle = (flags & Flag.IDLE) != 0
    code[idle] = 4
    for state in (2, 3):
        code[idle & (names == (strings.id(STATES[state]) or 0xFFFFFFFF))] = state
    return code


def thread_state(view: View, _options: Options) -> Table | NotRecorded:
    """Time of each thread by state, and how often it was scheduled away."""
    if not view.has("thread_state"):
        return missing("thread_state")
    tracks = view.tracks_of_role("state")
    totals = np.zeros((len(tracks), len(STATES)), np.int64)
    counts = np.zeros((len(tracks), len(STATES)), np.int64)
    longest = np.zeros(len(tracks), np.int64)
    estimated = np.zeros(len(tracks), bool)
    for place, track in enumerate(tracks):
        for events in view.batches("thread_state", frozenset([track.index])):
            code = state_codes(view, events.row, events.name)
            count, total = group_totals(code, events.inside, len(STATES))
            counts[place] += count
            totals[place] += total
            waiting = events.inside[code == 1]
            longest[place] = max(int(longest[place]), int(waiting.max(initial=0)))
            estimated[place] |= bool((view.capture.events.flags[events.row] & Flag.ESTIMATED).any())
    keep = np.flatnonzero(totals.sum(1) > 0)
    order = keep[np.argsort(-totals[keep, 0], kind="stable")]
    threads = np.array([-2 - t.index if t.thread is None else t.thread for t in tracks] or [-2], np.int64)[
        order
    ]
    pids, tids = pid_tid(view, threads)
    recorded = totals[order].sum(1)
    data: dict[str, Values] = {
        "name": Texts(threads + len(view.capture.tracks) + 2, _shifted(view)),
        "pid": masked_below_zero(pids),
        "tid": masked_below_zero(tids),
        "recorded_ns": recorded,
    }
    columns = [
        Column("name", "Thread", Role.NAME, key=True),
        Column("pid", "PID", Role.ID, key=True),
        Column("tid", "TID", Role.ID, key=True),
        Column("recorded_ns", "Recorded", Role.DURATION),
    ]
    for place, state in enumerate(STATES):
        if not totals[:, place].any() and place > 2:
            continue
        # A state that no thread was ever in was not told apart by what recorded: it is unknown, not 0.
        unknown = place in _TOLD_BY_SOME and not counts[:, place].any()
        data[f"{state}_ns"] = np.ma.MaskedArray(totals[order, place], np.full(len(order), unknown))
        share = ratios(totals[order, place], recorded)
        data[f"{state}_ratio"] = unrecorded(len(order), np.float64) if unknown else share
        columns.append(Column(f"{state}_ns", state.capitalize(), Role.DURATION))
        columns.append(Column(f"{state}_ratio", state.capitalize(), Role.RATIO, "the thread's recorded time"))
    data["switches"] = counts[order, 0]
    data["longest_runnable_ns"] = longest[order]
    columns += [
        Column("switches", "Times run", Role.COUNT),
        Column("longest_runnable_ns", "Longest runnable", Role.DURATION),
    ]
    notes = []
    if estimated[order].any():
        notes.append(
            "Sampled, not traced: states marked as estimated count as what was seen most of each interval."
        )
    if not counts[:, 1].any():
        notes.append("Runnable was not recorded: blocked and other include the wait for a core.")
    if not counts[:, 2].any():
        notes.append("Blocked was not recorded: what kept threads off the cores is not known.")
    return Table(
        tuple(columns),
        data,
        targets=Targets(tracks=np.array([tracks[i].index for i in order.tolist()], np.int32)),
        scope=scope_text(view, "Thread states"),
        notes=tuple(notes),
    )


def _shifted(view: View):  # type: ignore[no-untyped-def]
    title = thread_titles(view)
    shift = len(view.capture.tracks) + 2
    return lambda code: title(code - shift)


def _core_title(track: Track) -> str:
    title = track.title or track.uri
    return title if track.rank is None else f"Rank {track.rank} · {title}"


def core_utilization(view: View, _options: Options) -> Table | NotRecorded:
    """Busy time of each core, how often it switched, and the thread that used it most."""
    if not view.has("cpu_slice"):
        return missing("cpu_slice")
    tracks = view.tracks_of_role("core")
    if not tracks:
        return missing("cpu_slice")
    busy, switches, top, top_ns = [], [], [], []
    for track in tracks:
        total = np.zeros(max(len(view.capture.strings), 1), np.int64)
        count = 0
        for events in view.batches("cpu_slice", frozenset([track.index])):
            total += group_totals(events.name, events.inside, len(total))[1]
            count += len(events)
        busy.append(int(total.sum()))
        switches.append(count)
        best = int(total.argmax())
        top.append(best if total[best] else -1)
        top_ns.append(int(total[best]))
    busy_ns = np.array(busy, np.int64)
    duration = np.full(len(tracks), view.duration_ns)
    return Table(
        (
            Column("name", "Core", Role.NAME, key=True),
            Column("busy_ns", "Busy", Role.DURATION),
            Column("ratio", "Utilization", Role.SHARE, "the selected range", heat=True, lead=1),
            Column("count", "Slices", Role.COUNT),
            Column("top_thread", "Most by", Role.TEXT),
            Column("top_ns", "Its time", Role.DURATION),
            Column("top_ratio", "Its share", Role.RATIO, "the core's busy time"),
        ),
        {
            "name": [_core_title(t) for t in tracks],
            "busy_ns": busy_ns,
            "ratio": ratios(busy_ns, duration),
            "count": np.array(switches, np.int64),
            "top_thread": Texts(np.array(top, np.int64), view.capture.strings.__getitem__),
            "top_ns": np.array(top_ns, np.int64),
            "top_ratio": ratios(np.array(top_ns), busy_ns),
        },
        targets=Targets(tracks=np.array([t.index for t in tracks], np.int32)),
        scope=scope_text(view, "Cores"),
        notes=(
            "Only what was recorded counts: other programs are missing unless the whole machine was traced.",
        ),
    )
