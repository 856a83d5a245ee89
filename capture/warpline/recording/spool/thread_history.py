"""Reads from the spool files when the recording ran, and which threads and processes there were."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.recording.control_page import RecordingState
from warpline.recording.session import Session, readable
from warpline.recording.spool import records
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.records import Sighting
from warpline.recording.spool.threads import ThreadTable

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Schedule:
    """When was recorded, CLOCK_MONOTONIC ns: from ``start_ns`` to ``stop_ns`` without ``pauses`` (int64 [n, 2])."""

    start_ns: int
    stop_ns: int
    pauses: Int64Array


def rows_of(spools: Sequence[SpoolFile], record_type: int, dtype: np.dtype[np.void]) -> npt.NDArray[np.void]:
    """All records of a type in all files: structured [n], files one after the other."""
    parts = [spool.records(record_type, dtype).values for spool in spools]
    parts = [part for part in parts if len(part)]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def read_schedule(
    session: Session, spools: Sequence[SpoolFile], timed_records: Mapping[int, int]
) -> Schedule:
    """Start, end and pauses; without a proper end, the last moment anything was recorded ends it.

    ``timed_records`` says at which byte of records of a type their CLOCK_MONOTONIC ns stands.
    """
    start = session.start_monotonic_ns
    stop = session.stop_monotonic_ns
    pauses: list[tuple[int, int]] = []
    paused_since: int | None = None
    for time_ns, state, _reason in np.sort(
        rows_of(spools, records.RECORDING_STATE, records.recording_state)
    ).tolist():
        if state == RecordingState.PAUSED and paused_since is None:
            paused_since = time_ns
        elif state == RecordingState.RECORDING and paused_since is not None:
            pauses.append((paused_since, time_ns))
            paused_since = None
        elif state == RecordingState.STOPPED and stop is None:
            stop = time_ns
    if stop is None:
        stop = max(last_time(spools, start, timed_records), start)
    if paused_since is not None and paused_since < stop:
        pauses.append((paused_since, stop))
    return Schedule(start, stop, np.array(pauses, np.int64).reshape(-1, 2))


def last_time(spools: Sequence[SpoolFile], start_ns: int, timed_records: Mapping[int, int]) -> int:
    """The latest CLOCK_MONOTONIC ns of any record of the collectors, ``start_ns`` when there is none."""
    latest = start_ns
    for spool in spools:
        for chunk in spool.chunks:
            offset = timed_records.get(chunk.record_type)
            count = len(chunk.payload) // chunk.record_bytes if chunk.record_bytes else 0
            if offset is not None and count and offset + 8 <= chunk.record_bytes:
                last = (count - 1) * chunk.record_bytes + offset
                time_ns = int(chunk.payload[last : last + 8].view("<u8")[0])
                # A day beyond the header's time can only be garbage.
                if time_ns < spool.header.monotonic_ns + 366 * 86_400_000_000_000:
                    latest = max(latest, time_ns)
    return latest


def read_threads(session: Session, spools: Sequence[SpoolFile], schedule: Schedule) -> ThreadTable:
    """Every thread and process that the collectors told of."""
    table = ThreadTable()
    # (time, order among equal times, what to do, with what)
    steps: list[tuple[int, int, Callable[..., None], tuple[object, ...]]] = []
    for spool in spools:
        text = spool.text
        forks = spool.records(records.FORK, records.fork).values.tolist()
        steps.extend((row[0], 0, table.forked, row) for row in forks)
        for time_ns, pid, tid, name, _cpu, is_exec in spool.records(
            records.COMM, records.comm
        ).values.tolist():
            steps.append((time_ns, 1, table.named, (time_ns, pid, tid, text(name), bool(is_exec))))
        for row in spool.records(records.PROCESS_SEEN, records.process_seen).values.tolist():
            time_ns, start_ns, pid, parent, name, command = row
            steps.append((time_ns, 2, table.process_seen, (start_ns, pid, parent, text(name), text(command))))
        seen = spool.records(records.THREAD_SEEN, records.thread_seen).values
        for time_ns, start_ns, pid, tid, name, _cpu, _state, event in seen.tolist():
            if event == Sighting.GONE:
                steps.append((time_ns, 4, table.exited, (time_ns, pid, tid)))
            else:
                steps.append((time_ns, 3, table.thread_seen, (time_ns, start_ns, pid, tid, text(name))))
        snapshot = seen[seen["event"] == Sighting.SNAPSHOT]
        for time_ns in np.unique(snapshot["time_ns"]).tolist():
            there = {int(tid) for tid in snapshot["tid"][snapshot["time_ns"] == time_ns]}
            before = schedule.pauses[schedule.pauses[:, 1] <= time_ns]
            since = int(before[-1, 0]) if len(before) else time_ns
            steps.append((time_ns, 4, table.alone, (time_ns, there, since)))
        exits = spool.records(records.EXIT, records.exit_).values.tolist()
        steps.extend((row[0], 5, table.exited, row) for row in exits)
    steps.sort(key=lambda step: step[:2])
    for _time, _order, apply, values in steps:
        apply(*values)
    _complete_target(table, session)
    return table


def _complete_target(table: ThreadTable, session: Session) -> None:
    """What is known of the program without any record: it began when the recording did."""
    for process in table.processes:
        if process.pid == session.target_pid and process.generation == 1:
            process.command = process.command or readable("\0".join(session.command))
            process.parent_pid = session.recorder_pid
            process.start_ns = session.start_monotonic_ns
    for thread in table.threads:
        if thread.tid == session.target_pid and thread.generation == 1:
            thread.birth_ns = session.start_monotonic_ns
