"""Turns switch records into thread states, the cores of each thread, and the threads of each core."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from warpline.i18n import english, english_n, joined
from warpline.recording.perf_events.abi import MISC_SWITCH_OUT, MISC_SWITCH_OUT_PREEMPT
from warpline.recording.sources.facts import THREAD_STATES
from warpline.recording.sources.perf import records as perf_records
from warpline.recording.sources.perf.teardown import with_teardown
from warpline.recording.spool import records
from warpline.recording.spool.columns import join
from warpline.recording.spool.reader import SpoolFile, rows_of
from warpline.recording.spool.records import Sighting
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.recording.spool.threads import BEFORE
from warpline.recording.states.refinement import Refinement, overlay
from warpline.recording.states.state import STATE_NAMES, State
from warpline.recording.states.thread_states import NO_CPU, Mark, Marks, States, thread_states
from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]

_NOBODY = (0, 0xFFFF_FFFF)
# By bits 13 (switched out) and 14 (preempted).
_MARK_OF_MISC = np.array([Mark.IN, Mark.OUT, Mark.PREEMPTED, Mark.PREEMPTED], np.uint8)
assert (MISC_SWITCH_OUT, MISC_SWITCH_OUT_PREEMPT) == (1 << 13, 1 << 14)


def translate(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Add ``thread_state`` and ``cpu_slice`` events; nothing when perf was refused."""
    perf = [spool for spool in spools if spool.header.producer == "perf"]
    if not perf:
        return
    translation.provided.add(THREAD_STATES)
    marks = _switch_marks(translation, perf, builder)
    refinements = translation.given(Refinement)
    more = [refinement.read() for refinement in refinements]
    parts = [*_borders(translation, spools, marks), marks, *more, *_ends(translation)]
    states = with_teardown(translation, thread_states(join(Marks, parts)))
    first_id = _add_states(translation, builder, states, refinements)
    for refinement in refinements:
        refinement.add_links(builder, states, first_id)
    _add_cores(translation, builder, states)
    _add_source(perf, builder)


_MOST_CORES = 1 << 16
"""More than any kernel supports (NR_CPUS): larger numbers are damage."""


def _switch_marks(translation: Translation, perf: Sequence[SpoolFile], builder: CaptureBuilder) -> Marks:
    names = ("pid", "tid", "time_ns", "cpu", "misc")
    parts = [spool.columns(perf_records.SWITCH, perf_records.switch, names) for spool in perf]
    pid, tid, stamp, cpu, misc = (
        np.concatenate(column) if len(parts) > 1 else column[0] for column in zip(*parts, strict=True)
    )
    time_ns = stamp.view(np.int64)
    fits = (time_ns >= translation.start_ns) & (time_ns <= translation.stop_ns)
    fits &= cpu < _MOST_CORES
    for nobody in _NOBODY:
        fits &= tid != nobody
    if not fits.all():
        builder.add_skipped(
            english("switch records"),
            int((~fits).sum()),
            english("without a thread or a core, or outside the recording"),
        )
        pid, tid, time_ns, cpu, misc = pid[fits], tid[fits], time_ns[fits], cpu[fits], misc[fits]
    thread = translation.threads.lookup(pid, tid, time_ns)
    mark = _MARK_OF_MISC[misc >> 13 & 3]
    return Marks(thread, time_ns, cpu.view(np.int32), mark)


def _borders(translation: Translation, spools: Sequence[SpoolFile], switches: Marks) -> list[Marks]:
    """Marks of births, of the program's start, and of the threads before and after each pause."""
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
    execs = comms[(comms["is_exec"] == 1) & (comms["time_ns"] >= translation.start_ns)]
    runner = translation.threads.lookup(execs["pid"], execs["tid"], execs["time_ns"])
    for thread, time_ns, cpu in zip(
        runner.tolist(), execs["time_ns"].tolist(), execs["cpu"].tolist(), strict=True
    ):
        # Recording begins with the program's exec, so the calling thread runs.
        if not announced[thread] and time_ns < first[thread]:
            first[thread] = time_ns
            result.append(Marks.of([thread], time_ns, cpu, Mark.IN))
    snapshots = rows_of(spools, records.THREAD_SEEN, records.thread_seen)
    snapshots = snapshots[snapshots["event"] == Sighting.SNAPSHOT]
    unrecorded = (translation.pauses + translation.start_ns).tolist()
    if translation.session.was_running or translation.session.is_cut:
        unrecorded.insert(0, [translation.start_ns] * 2)  # there is a snapshot, as after a pause
    for start, stop in unrecorded:
        if stop > start:
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
    dead = np.flatnonzero((death >= translation.start_ns) & (death <= translation.stop_ns))
    birth = np.array([life.birth_ns for life in translation.threads.threads], np.int64)
    alive = np.flatnonzero((death > translation.stop_ns) & (birth <= translation.stop_ns))
    return [
        Marks.of(dead, death[dead], NO_CPU, Mark.DEATH),
        Marks.of(alive, translation.stop_ns, NO_CPU, Mark.END),
    ]


def _deaths(translation: Translation) -> Int64Array:
    forever = np.iinfo(np.int64).max
    return np.array(
        [
            forever if life.death_ns is None else life.death_ns if life.exit_ns is None else life.exit_ns
            for life in translation.threads.threads
        ],
        np.int64,
    )


def _add_states(
    translation: Translation, builder: CaptureBuilder, states: States, refinements: Sequence[Refinement]
) -> int:
    """Add the states and their cores; returns the first of the states' consecutive event ids."""
    names = builder.strings(STATE_NAMES)
    start = translation.capture_time(states.start_ns)
    duration = states.stop_ns - states.start_ns
    on_core = states.cpu != NO_CPU
    columns: dict[str, npt.ArrayLike] = {"cpu": np.ma.MaskedArray(states.cpu, ~on_core)}
    is_split = any(refinement.splits_blocked for refinement in refinements)
    for refinement in refinements:
        for name, column in refinement.columns(states).items():
            if not (is_split and name == "core_wait_ns"):
                columns[name] = overlay(columns.get(name), column)
    if not is_split:
        note = builder.string(english("includes the wait for a core; wake-ups were not traced"))
        reason = np.where(states.state == State.BLOCKED, np.uint32(note), np.uint32(0))
        if "reason" in columns:
            known = np.ma.MaskedArray(columns["reason"])
            reason = np.where(np.ma.getmaskarray(known), reason, known.data)
        columns["reason"] = np.ma.MaskedArray(reason, reason == 0)
    threads = np.flatnonzero(np.bincount(states.thread)).tolist()
    track = np.zeros(threads[-1] + 1 if threads else 0, np.int64)
    for thread in threads:
        track[thread] = translation.below_thread(thread, "state")
    first_id = builder.add_events(
        track[states.thread],
        "thread_state",
        start,
        duration,
        names[states.state],
        flags=states.flags,
        attributes=columns,
    )
    ran = np.flatnonzero(on_core)
    thread_of, cpu = states.thread[ran], states.cpu[ran]
    for thread in np.flatnonzero(np.bincount(thread_of)).tolist():
        track[thread] = translation.below_thread(thread, "cpu")
    cores = np.flatnonzero(np.bincount(cpu))
    core_names = np.zeros(int(cores[-1]) + 1 if len(cores) else 0, np.uint32)
    core_names[cores] = builder.strings([f"core {number}" for number in cores.tolist()])
    builder.add_events(
        track[thread_of], "cpu_slice", start[ran], duration[ran], core_names[cpu], flags=states.flags[ran]
    )
    return first_id


def _add_cores(translation: Translation, builder: CaptureBuilder, states: States) -> None:
    order = states.by_core
    ran = np.sort(order)
    texts, number = translation.threads.names_at(states.thread[ran], states.start_ns[ran])
    name = np.zeros(len(states.thread), np.uint32)
    if texts:
        name[ran] = builder.strings(texts)[number]
    lives = translation.threads.threads
    thread_index, process_index = np.zeros(len(lives), np.int32), np.zeros(len(lives), np.int32)
    owner, cpu = states.thread[order], states.cpu[order]
    for thread in np.flatnonzero(np.bincount(owner)).tolist():
        thread_index[thread] = translation.thread_index(thread)
        process_index[thread] = translation.process_index(lives[thread].process)
    cores = np.flatnonzero(np.bincount(cpu)).tolist()
    track = np.zeros(cores[-1] + 1 if cores else 0, np.int64)
    for core in cores:
        track[core] = translation.core_track(core)
    builder.add_events(
        track[cpu],
        "cpu_slice",
        translation.capture_time(states.start_ns[order]),
        states.stop_ns[order] - states.start_ns[order],
        name[order],
        flags=states.flags[order],
        attributes={"process": process_index[owner], "thread": thread_index[owner]},
    )


def _add_source(perf: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    dropped = int(rows_of(perf, perf_records.LOST, perf_records.lost)["count"].sum())
    unwritten = sum(spool.header.lost for spool in perf)
    reasons = []
    if dropped:
        reasons.append(
            english_n(
                "the kernel dropped {count} record because the recorder did not get a core in time",
                "the kernel dropped {count} records because the recorder did not get a core in time",
                dropped,
            )
        )
    if unwritten:
        why = os.strerror(next((spool.header.error for spool in perf if spool.header.error), errno.ENOSPC))
        reasons.append(
            english_n(
                "{count} record could not be written to the spool: {why}",
                "{count} records could not be written to the spool: {why}",
                unwritten,
                why=why,
            )
        )
    if not all(spool.header.finished for spool in perf):
        reasons.append(english("the recorder was killed before the end"))
    builder.add_source("perf", True, joined("; ", reasons), dropped + unwritten)
