"""Estimates what a thread does between its recorded exit and its end, while it frees the process's memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.model.flags import Flag
from warpline.recording.spool.columns import take
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.recording.states.state import State
from warpline.recording.states.thread_states import NO_CPU, States

Int64Array = npt.NDArray[np.int64]


def with_teardown(translation: Translation, states: States) -> States:
    """The states, extended for the last thread of each process from its exit until the process is gone.

    The thread runs for the CPU time by which the kernel's total exceeds the recorded one, and waits for a core for the
    rest: it does not sleep then. Both are estimates, because switches are not recorded at that time. If the total is
    unknown (the process had been waited for) or part of its life was not recorded, the thread gets the same share of a
    core as before.
    """
    table = translation.threads
    n = len(table.threads)
    running = states.state == State.RUNNING
    duration = states.stop_ns - states.start_ns
    spent = np.bincount(states.thread[running], duration[running], n)
    runnable = states.state == State.RUNNABLE
    queued = np.bincount(states.thread[runnable], duration[runnable], n)
    by_process = np.bincount([life.process for life in table.threads], spent, len(table.processes))
    rows: list[tuple[int, int, int, State, int]] = []
    for index, life in enumerate(table.threads):
        death = min(life.death_ns or 0, translation.stop_ns)
        if life.exit_ns is None or life.exit_ns < translation.start_ns or death <= life.exit_ns:
            continue
        process = table.processes[life.process]
        is_whole = not len(translation.pauses) and (process.start_ns or 0) >= translation.start_ns
        cpu_ns = death - life.exit_ns
        if process.cpu_ns and is_whole:
            cpu_ns = min(max(process.cpu_ns - int(by_process[life.process]), 0), cpu_ns)
        elif spent[index]:
            cpu_ns = int(cpu_ns * spent[index] / (spent[index] + queued[index]))
        ran_until = life.exit_ns + cpu_ns
        if cpu_ns:
            rows.append((index, life.exit_ns, ran_until, State.RUNNING, Flag.ESTIMATED))
        if ran_until < death:
            rows.append((index, ran_until, death, State.RUNNABLE, Flag.ESTIMATED | Flag.WAITING))
    if not rows:
        return states
    thread, start, stop, state, flags = (np.array(column) for column in zip(*rows, strict=True))
    joined = States(
        thread=np.r_[states.thread, thread],
        start_ns=np.r_[states.start_ns, start],
        stop_ns=np.r_[states.stop_ns, stop],
        state=np.r_[states.state, state.astype(np.uint8)],
        cpu=np.r_[states.cpu, np.full(len(rows), NO_CPU, np.int32)],
        flags=np.r_[states.flags, flags.astype(np.uint8)],
    )
    return take(joined, np.lexsort((joined.start_ns, joined.thread)))
