"""Describes one wait: its reason, source line, holder, the thread that ended it, and how often it occurs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.report import NotRecorded
from warpline.i18n import english
from warpline.model.flags import Flag
from warpline.model.frames import StackFrame, parse_frame, telling_frame
from warpline.model.links import DATA, RELEASE

if TYPE_CHECKING:
    from warpline.storage import Capture
    from warpline.storage.columns.kind_table import KindTable

Int64Array = npt.NDArray[np.int64]
_RANGES_LOOKED_AT = 10_000
_NEAR_NS = 5_000_000
"""A sample within this distance of a wait's start or end shows the holder's line."""


@dataclass(frozen=True)
class Someone:
    """A thread involved in a wait.

    ``row`` is the event that shows it: when it ended the wait, or what it did when the wait began (None: not recorded).
    ``place`` is its source line, if known.
    """

    name: str
    tid: int
    row: int | None = None
    place: StackFrame | None = None


@dataclass(frozen=True)
class Occurrences:
    """Number and total time of the waits of the same kind from the same stack."""

    count: int
    total_ns: int


@dataclass(frozen=True, kw_only=True)
class WaitStory:
    """The known facts about a wait.

    ``kind`` is a `WaitKind`, ``what`` the stored text of the awaited object (to be translated), ``place`` the source
    line, ``call`` the row of the OS runtime call around it. ``in_capture`` is None if it was not counted.
    """

    row: int
    kind: int
    what: str
    place: StackFrame | None
    call: int | None
    holder: Someone | None
    ended_by: Someone | None
    on_thread: Occurrences
    in_capture: Occurrences | None


def is_blocked(capture: Capture, row: int) -> bool:
    """Whether a row is a blocked thread state."""
    kind = capture.kind_of_code.get(int(capture.events.kind[row]))
    flags = int(capture.events.flags[row])
    return kind == "thread_state" and flags & (Flag.IDLE | Flag.WAITING) == Flag.IDLE


def wait_story(capture: Capture, row: int, *, counted_up_to: int = sys.maxsize) -> WaitStory | None:
    """The facts about the wait in a row (a blocked thread state or an OS runtime call); None without a reason.

    Counts equal waits of the whole capture if it has at most ``counted_up_to`` events of the kind.
    """
    name = capture.kind_of_code.get(int(capture.events.kind[row]), "")
    if name not in {"thread_state", "osrt"}:
        return None
    values = capture.kinds[name].at(row)
    kind = values.get("wait")
    if not kind:
        return None
    call = row if name == "osrt" else _call_around(capture, row)
    call_values = capture.kinds["osrt"].at(call) if call is not None else {}
    text = values.get("reason") or call_values.get("object")
    ended_by = _ended_by(capture, call, call_values)
    on_thread, in_capture = _occurrences(capture, name, row, values, counted_up_to)
    return WaitStory(
        row=row,
        kind=int(kind),
        what=capture.strings[text] if text else "",
        place=line_of(capture, values),
        call=call,
        holder=_holder(capture, row if call is None else call, call_values, ended_by),
        ended_by=ended_by,
        on_thread=on_thread,
        in_capture=in_capture,
    )


def why_unknown(capture: Capture) -> NotRecorded:
    """Why a blocked state has no reason, and how to record one."""
    sources = {source.name: source for source in capture.sources}
    osrt = sources.get("osrt")
    if osrt is None:
        return missing("wait")
    if not osrt.enabled:
        return NotRecorded(osrt.reason or missing("wait").reason, osrt.remedy or missing("wait").remedy)
    wakeups = sources.get("wakeups")
    return NotRecorded(
        english("blocked outside the traced calls, or for less than the threshold"),
        english("a lower --osrt-threshold records shorter waits")
        if wakeups is not None and wakeups.enabled
        else english(
            "a lower --osrt-threshold records shorter waits; wake-ups, recorded as root or with CAP_PERFMON, "
            "show which thread ended it"
        ),
    )


def line_of(capture: Capture, values: dict[str, Any]) -> StackFrame | None:
    """The source line in an event's attributes ``stack`` or ``place``, None without any."""
    stack, place = values.get("stack"), values.get("place")
    frame = telling_frame(capture.stack_frames(int(stack))) if stack is not None else None
    return parse_frame(capture.strings[place]) if frame is None and place else frame


def event_of_thread(capture: Capture, thread: int, role: str, time_ns: int) -> int | None:
    """The innermost event at a moment on a thread's tracks of a role."""
    best: tuple[int, int] | None = None
    for track in capture.tracks:
        if track.thread == thread and track.role == role:
            for lane in capture.track_lanes(track.index):
                row = capture.event_at(lane, time_ns)
                if row is not None:
                    start = capture.event_span(row)[0]
                    best = max(best or (start, row), (start, row))
    return None if best is None else best[1]


def _call_around(capture: Capture, row: int) -> int | None:
    """The OS runtime call around a blocked state."""
    thread = capture.tracks[capture.track_of_row(row)].thread
    start, stop = capture.event_span(row)
    if thread is None or "osrt" not in capture.kinds:
        return None
    event = event_of_thread(capture, thread, "osrt", (start + stop) // 2)
    is_call = event is not None and int(capture.events.kind[event]) == capture.kinds["osrt"].code
    return event if is_call else None


def _holder(
    capture: Capture, row: int, call_values: dict[str, Any], ended_by: Someone | None
) -> Someone | None:
    tid = call_values.get("holder")
    if tid is None:
        return None
    start, stop = capture.event_span(row)
    if ended_by is not None and ended_by.row is not None:
        stop = min(stop, max(capture.event_span(ended_by.row)[0], start + 1))
    thread = _thread_of(capture, row, int(tid), start)
    if thread is None:
        return Someone("", int(tid))
    # The call lasts until the lock is acquired, even if its thread woke up in between. The thread that released the
    # lock
    # held it at the end; others are known to have held it when the wait began.
    had_it_last = ended_by is not None and ended_by.tid == tid
    doing = _range_during(capture, thread, start, stop)
    if doing is None:
        doing = event_of_thread(capture, thread, "state", stop - 1 if had_it_last else start)
    about = (stop - _NEAR_NS, stop) if had_it_last else (start - _NEAR_NS, start + _NEAR_NS)
    place = _sampled_line(capture, thread, *about, near_ns=stop if had_it_last else start)
    return Someone(capture.threads[thread].name, int(tid), doing, place)


def _range_during(capture: Capture, thread: int, start_ns: int, stop_ns: int) -> int | None:
    """The range that covers most of a time range on a thread; of equal ones, the innermost."""
    lanes = [
        lane
        for track in capture.tracks
        if track.thread == thread and track.role == "ranges"
        for lane in capture.track_lanes(track.index)
    ]
    if not lanes or capture.count_in(lanes, start_ns, stop_ns) > _RANGES_LOOKED_AT:
        return None
    rows = capture.rows_in(lanes, start_ns, stop_ns)
    begin, end = capture.event_times(rows)
    covered = np.minimum(end, stop_ns) - np.maximum(begin, start_ns)
    order = np.lexsort((capture.lanes_of_rows(rows), covered))
    return int(rows[order[-1]]) if len(rows) and covered[order[-1]] > 0 else None


def _ended_by(capture: Capture, call: int | None, call_values: dict[str, Any]) -> Someone | None:
    tid = call_values.get("ended_by")
    if call is None or tid is None:
        return None
    rows, codes = capture.links_to(call)
    for other, code in zip(rows.tolist(), codes.tolist(), strict=True):
        if other >= 0 and capture.links.kind_name(code) in {RELEASE, DATA}:
            thread = capture.tracks[capture.track_of_row(other)].thread
            kind = capture.kind_of_code.get(int(capture.events.kind[other]), "")
            place = line_of(capture, capture.kinds[kind].at(other)) if kind in capture.kinds else None
            return Someone(capture.threads[thread].name if thread is not None else "", int(tid), other, place)
    given = call_values.get("holder_place")
    thread = _thread_of(capture, call, int(tid), capture.event_span(call)[1])
    name = capture.threads[thread].name if thread is not None else ""
    return Someone(name, int(tid), None, parse_frame(capture.strings[given]) if given else None)


def _thread_of(capture: Capture, row: int, tid: int, time_ns: int) -> int | None:
    """The thread with an id in the process of an event, preferring the one alive at ``time_ns``."""
    process = capture.tracks[capture.track_of_row(row)].process
    same_id = [i for i, t in enumerate(capture.threads) if t.tid == tid and t.process == process]
    alive = [
        index
        for index in same_id
        if (capture.threads[index].start_ns or -(1 << 62))
        <= time_ns
        <= (capture.threads[index].stop_ns or 1 << 62)
    ]
    return next(iter(alive or same_id), None)


def _sampled_line(
    capture: Capture, thread: int, start_ns: int, stop_ns: int, near_ns: int
) -> StackFrame | None:
    """The source line in the sample of a thread nearest to a moment, within a range."""
    if "sample" not in capture.kinds:
        return None
    for track in capture.tracks:
        if track.thread == thread and track.role == "samples":
            rows = capture.rows_in(capture.track_lanes(track.index), start_ns, stop_ns)
            if len(rows):
                nearest = rows[np.argmin(np.abs(capture.event_times(rows)[0] - near_ns))]
                return line_of(capture, capture.kinds["sample"].at(int(nearest)))
    return None


def _occurrences(
    capture: Capture, kind: str, row: int, values: dict[str, Any], counted_up_to: int
) -> tuple[Occurrences, Occurrences | None]:
    """The waits like this one on its thread and in the whole capture: same kind and stack, or same place."""
    table = capture.kinds[kind]
    own = capture.rows_of_track(capture.track_of_row(row))
    first, stop = table.places_of((own.start, own.stop)).tolist()
    everywhere = slice(0, len(table)) if len(table) <= counted_up_to else None
    return (
        _counted(capture, table, values, slice(first, stop)),
        None if everywhere is None else _counted(capture, table, values, everywhere),
    )


def _counted(capture: Capture, table: KindTable, values: dict[str, Any], part: slice) -> Occurrences:
    """The waits like the one with attributes ``values`` in a part of a kind's table."""
    waits, is_wait = table.column("wait")
    same = is_wait[part] & (waits[part] == values["wait"])
    attribute = next((name for name in ("stack", "place") if values.get(name) is not None), None)
    if attribute is not None:
        column, known = table.column(attribute)
        same &= known[part] & (column[part] == values[attribute])
    rows = np.minimum(table.stored_rows[part][same], max(len(capture.events) - 1, 0))
    return Occurrences(len(rows), int(capture.events.duration[rows].sum()))
