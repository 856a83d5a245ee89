"""Switch records become thread states, the core each thread ran on, and what each core ran."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import tr
from warpline.storage import CaptureBuilder

from . import records
from .lives import rows_of
from .perf_abi import MISC_SWITCH_OUT, MISC_SWITCH_OUT_PREEMPT
from .sampler import SNAPSHOT
from .spool import SpoolFile
from .thread_states import NO_CPU, STATE_NAMES, Mark, Marks, State, States, thread_states
from .threads import BEFORE
from .translate_wakeups import Wakeups, add_links, read_wakeups, waker_column
from .translation import Translation

Int64Array = npt.NDArray[np.int64]

_NOBODY = (0, 0xFFFF_FFFF)
# By bits 13 (went out) and 14 (was preempted).
_MARK_OF_MISC = np.array([Mark.IN, Mark.OUT, Mark.PREEMPTED, Mark.PREEMPTED], np.uint8)
assert (MISC_SWITCH_OUT, MISC_SWITCH_OUT_PREEMPT) == (1 << 13, 1 << 14)


def translate(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Adds ``thread_state`` and ``cpu_slice`` events; nothing when perf was refused."""
    perf = [spool for spool in spools if spool.header.producer == "perf"]
    if not perf:
        return
    marks = _switch_marks(translation, perf, builder)
    wakeups = read_wakeups(translation, spools)
    parts = [*_borders(translation, spools, marks), marks, wakeups.marks, *_ends(translation)]
    states = thread_states(Marks.join(parts))
    ids = _add_states(translation, builder, states, wakeups)
    add_links(builder, states, wakeups, ids)
    _add_cores(translation, builder, states)
    _add_source(perf, builder)


def _switch_marks(translation: Translation, perf: Sequence[SpoolFile], builder: CaptureBuilder) -> Marks:
    names = ("pid", "tid", "time_ns", "cpu", "misc")
    parts = [spool.columns(records.SWITCH, records.switch, names) for spool in perf]
    pid, tid, stamp, cpu, misc = (
        np.concatenate(column) if len(parts) > 1 else column[0] for column in zip(*parts, strict=True)
    )
    time_ns = stamp.view(np.int64)
    fits = (time_ns >= translation.start_ns) & (time_ns <= translation.stop_ns)
    for nobody in _NOBODY:
        fits &= tid != nobody
    if not fits.all():
        builder.add_skipped(
            tr("switch records"), int((~fits).sum()), tr("without a thread, or outside the recording")
        )
        pid, tid, time_ns, cpu, misc = pid[fits], tid[fits], time_ns[fits], cpu[fits], misc[fits]
    thread = translation.threads.lookup(pid, tid, time_ns)
    mark = _MARK_OF_MISC[misc >> 13 & 3]
    return Marks(thread, time_ns, cpu.view(np.int32), mark)


def _borders(translation: Translation, spools: Sequence[SpoolFile], switches: Marks) -> list[Marks]:
    """Births, the program's first step, and for each pause who was there before and after."""
    lives = translation.threads.threads
    index = np.arange(len(lives))
    birth = np.array([life.birth_ns for life in lives], np.int64)
    death = _deaths(translation)
    announced = np.array([life.announced for life in lives], bool)
    first = np.full(len(lives), np.iinfo(np.int64).max)
    np.minimum.at(first, switches.thread, switches.time_ns)
    born = np.flatnonzero(announced & (birth >= translation.start_ns) & (birth <= translation.stop_ns))
    result = [Marks.of(born, birth[born], NO_CPU, Mark.BIRTH)]
    comms = rows_of(spools, records.COMM, records.comm)
    execs = comms[comms["is_exec"] == 1]
    runner = translation.threads.lookup(execs["pid"], execs["tid"], execs["time_ns"])
    for thread, time_ns, cpu in zip(
        runner.tolist(), execs["time_ns"].tolist(), execs["cpu"].tolist(), strict=True
    ):
        # Recording begins with the program's exec: whoever calls it runs.
        if not announced[thread] and time_ns < first[thread]:
            first[thread] = time_ns
            result.append(Marks.of([thread], time_ns, cpu, Mark.IN))
    snapshots = rows_of(spools, records.THREAD_SEEN, records.thread_seen)
    snapshots = snapshots[snapshots["event"] == SNAPSHOT]
    for start, stop in (translation.pauses + translation.start_ns).tolist():
        before = np.flatnonzero((birth <= start) & (death > start))
        result.append(Marks.of(before, start, NO_CPU, Mark.PAUSE))
        if stop >= translation.stop_ns:
            continue
        after = np.flatnonzero((np.where(birth == BEFORE, first, birth) <= stop) & (death > stop))
        mark = np.full(len(index), Mark.RESUME_UNKNOWN, np.uint8)
        cpu = np.full(len(index), NO_CPU, np.int32)
        later = snapshots["time_ns"][snapshots["time_ns"] >= stop]
        rows = snapshots[snapshots["time_ns"] == later.min()] if len(later) else snapshots[:0]
        seen = translation.threads.lookup(rows["pid"], rows["tid"], rows["time_ns"])
        ready = rows["state"] == ord("R")
        mark[seen] = np.where(ready, Mark.RESUME_READY, Mark.RESUME_BLOCKED)
        cpu[seen] = np.where(ready, rows["cpu"].astype(np.int32), NO_CPU)
        result.append(Marks.of(after, stop, cpu[after], mark[after]))
    return result


def _ends(translation: Translation) -> list[Marks]:
    death = _deaths(translation)
    dead = np.flatnonzero(death <= translation.stop_ns)
    birth = np.array([life.birth_ns for life in translation.threads.threads], np.int64)
    alive = np.flatnonzero((death > translation.stop_ns) & (birth <= translation.stop_ns))
    return [
        Marks.of(dead, death[dead], NO_CPU, Mark.DEATH),
        Marks.of(alive, translation.stop_ns, NO_CPU, Mark.END),
    ]


def _deaths(translation: Translation) -> Int64Array:
    forever = np.iinfo(np.int64).max
    return np.array(
        [forever if life.death_ns is None else life.death_ns for life in translation.threads.threads],
        np.int64,
    )


def _add_states(
    translation: Translation, builder: CaptureBuilder, states: States, wakeups: Wakeups
) -> Int64Array:
    """Adds states and the cores they ran on; returns the event id of each state, int64 [n]."""
    names = builder.strings(STATE_NAMES)
    start = translation.capture_time(states.start_ns)
    duration = states.stop_ns - states.start_ns
    on_core = (states.state == State.RUNNING) & (states.cpu != NO_CPU)
    name = names[states.state]
    ids = np.empty(len(start), np.int64)
    columns: dict[str, np.ma.MaskedArray[Any, Any]] = {"cpu": np.ma.MaskedArray(states.cpu, ~on_core)}
    if len(wakeups):
        columns["woken_by"] = waker_column(states, wakeups)
    else:
        reason = builder.string(tr("includes the wait for a core; wake-ups were not traced"))
        columns["reason"] = np.ma.MaskedArray(np.full(len(start), reason), states.state != State.BLOCKED)
    for thread, part in _runs(states.thread):
        track = translation.thread_child(thread, "state", title=tr("State"), role="state", sort_key=0)
        first = builder.add_events(
            track,
            "thread_state",
            start[part],
            duration[part],
            name[part],
            flags=states.flags[part],
            attributes={key: column[part] for key, column in columns.items()},
        )
        ids[part] = first + np.arange(part.stop - part.start)
    cores = np.unique(states.cpu[on_core])
    core_names = np.zeros(int(cores.max()) + 1 if len(cores) else 0, np.uint32)
    core_names[cores] = builder.strings([f"core {cpu}" for cpu in cores.tolist()])
    ran = np.flatnonzero(on_core)
    for thread, part in _runs(states.thread[ran]):
        rows = ran[part]
        track = translation.thread_child(thread, "cpu", title=tr("Core"), role="thread_cpu", sort_key=1)
        builder.add_events(
            track,
            "cpu_slice",
            start[rows],
            duration[rows],
            core_names[states.cpu[rows]],
            flags=states.flags[rows],
        )
    return ids


def _add_cores(translation: Translation, builder: CaptureBuilder, states: States) -> None:
    ran = np.flatnonzero((states.state == State.RUNNING) & (states.cpu != NO_CPU))
    texts, number = translation.threads.names_at(states.thread[ran], states.start_ns[ran])
    name = builder.strings(texts)[number] if texts else np.empty(0, np.uint32)
    lives = translation.threads.threads
    thread_index, process_index = np.zeros(len(lives), np.int64), np.zeros(len(lives), np.int64)
    for thread in np.unique(states.thread[ran]).tolist():
        thread_index[thread] = translation.thread_index(thread)
        process_index[thread] = translation.process_index(lives[thread].process)
    start, duration = translation.capture_time(states.start_ns), states.stop_ns - states.start_ns
    order = np.argsort(states.cpu[ran].astype(np.uint16), kind="stable")
    rows, name = ran[order], name[order]
    for cpu, part in _runs(states.cpu[rows]):
        chosen = rows[part]
        who = states.thread[chosen]
        builder.add_events(
            translation.core_track(cpu),
            "cpu_slice",
            start[chosen],
            duration[chosen],
            name[part],
            flags=states.flags[chosen],
            attributes={"process": process_index[who], "thread": thread_index[who]},
        )


def _add_source(perf: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    dropped = int(rows_of(perf, records.LOST, records.lost)["count"].sum())
    unwritten = sum(spool.header.lost for spool in perf)
    reasons = []
    if dropped:
        reasons.append(
            tr("the kernel dropped {count} records: the recorder did not get a core in time", count=dropped)
        )
    if unwritten:
        why = os.strerror(next((spool.header.error for spool in perf if spool.header.error), errno.ENOSPC))
        reasons.append(tr("the spool could not take {count} records: {why}", count=unwritten, why=why))
    if not all(spool.header.finished for spool in perf):
        reasons.append(tr("the recorder was killed before the end"))
    builder.add_source("perf", True, "; ".join(reasons), dropped + unwritten)


def _runs(column: npt.NDArray[np.integer]) -> list[tuple[int, slice]]:
    """Each value of a sorted column, and where it stands."""
    if not len(column):
        return []
    borders = (np.flatnonzero(np.diff(column)) + 1).tolist()
    starts = [0, *borders]
    return [
        (int(column[start]), slice(start, stop))
        for start, stop in zip(starts, [*borders, len(column)], strict=True)
    ]
