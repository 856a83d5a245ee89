"""Reads the threads and processes of a recording from its spool files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from warpline.recording.session import Session, readable
from warpline.recording.spool import records
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.records import Sighting
from warpline.recording.spool.schedule import Schedule
from warpline.recording.spool.threads import ThreadTable


def read_threads(session: Session, spools: Sequence[SpoolFile], schedule: Schedule) -> ThreadTable:
    """All recorded threads and processes, without those that had ended before a ring."""
    table = ThreadTable(has_all=not session.is_cut)
    # (time, order among equal times, what to do, with what)
    steps: list[tuple[int, int, Callable[..., None], tuple[object, ...]]] = []
    for spool in spools:
        text = spool.text
        forks = spool.records(records.FORK, records.fork).values.tolist()
        steps.extend((row[0], 0, table.add_fork, row) for row in forks)
        for time_ns, pid, tid, name, _cpu, is_exec in spool.records(
            records.COMM, records.comm
        ).values.tolist():
            steps.append((time_ns, 1, table.add_name, (time_ns, pid, tid, text(name), bool(is_exec))))
        for row in spool.records(records.PROCESS_SEEN, records.process_seen).values.tolist():
            time_ns, start_ns, pid, parent, name, command = row
            steps.append((time_ns, 2, table.add_process, (start_ns, pid, parent, text(name), text(command))))
        seen = spool.records(records.THREAD_SEEN, records.thread_seen).values
        for time_ns, start_ns, pid, tid, name, _cpu, _state, event in seen.tolist():
            if event == Sighting.GONE:
                steps.append((time_ns, 4, table.add_exit, (time_ns, pid, tid)))
            else:
                steps.append((time_ns, 3, table.add_thread, (time_ns, start_ns, pid, tid, text(name))))
        snapshot = seen[seen["event"] == Sighting.SNAPSHOT]
        for time_ns in np.unique(snapshot["time_ns"]).tolist():
            tids = {int(tid) for tid in snapshot["tid"][snapshot["time_ns"] == time_ns]}
            before = schedule.pauses[schedule.pauses[:, 1] <= time_ns]
            since = int(before[-1, 0]) if len(before) else time_ns
            steps.append((time_ns, 4, table.keep_only, (time_ns, tids, since)))
        for time_ns, since_ns, cpu_ns, pid, _reserved in spool.records(
            records.PROCESS_ENDED, records.process_ended
        ).values.tolist():
            steps.append((time_ns, 6, table.add_process_end, (time_ns, since_ns, pid, cpu_ns)))
        exits = spool.records(records.EXIT, records.exit_).values.tolist()
        steps.extend((row[0], 5, table.add_exit, row) for row in exits)
    steps.sort(key=lambda step: step[:2])
    for _time, _order, apply, values in steps:
        apply(*values)
    if session.is_cut:
        table.forget_before(schedule.start_ns)
    _complete_target(table, session)
    return table


def _complete_target(table: ThreadTable, session: Session) -> None:
    """Add what is known about the program without records: it started with the recording, unless it was running."""
    if session.was_running:
        return
    for process in table.processes:
        if process.pid == session.target_pid and process.generation == 1:
            process.command = process.command or readable("\0".join(session.command))
            process.parent_pid = session.recorder_pid
            process.start_ns = session.start_monotonic_ns
    for thread in table.threads:
        if thread.tid == session.target_pid and thread.generation == 1:
            thread.birth_ns = session.start_monotonic_ns
