"""Converts scheduler rows into thread states and core slices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.nsys.context import Context
from warpline.interchange.nsys.tables.access import NULL, Int64Array, groups, read_all
from warpline.model import Flag

_PID_AND_TID = (1 << 48) - 1

# threadState of a thread that left its core → name and flag of its state. Other values are unknown.
_RUNNABLE, _BLOCKED, _UNINTERRUPTIBLE, _STOPPED, _TERMINATED = 6, 2, 3, 4, 5
_STATES: dict[int, tuple[str, Flag]] = {
    _BLOCKED: (english("blocked"), Flag.IDLE),
    _UNINTERRUPTIBLE: (english("uninterruptible"), Flag.IDLE),
    _STOPPED: (english("stopped"), Flag.IDLE),
    _RUNNABLE: (english("runnable"), Flag.WAITING),
    7: (english("blocked"), Flag.IDLE),
    8: (english("blocked"), Flag.IDLE),
    9: (english("runnable"), Flag.WAITING),
}
UNKNOWN_STATE = english("not running")
"""Not on a core; the export does not say whether blocked or waiting for a core."""


@dataclass(frozen=True, kw_only=True)
class Slices:
    """Intervals between scheduler rows of the same thread. Arrays of equal length, ordered by thread and start."""

    tid: Int64Array
    start: Int64Array
    stop: Int64Array
    cpu: Int64Array
    is_running: npt.NDArray[np.bool_]
    state: Int64Array
    block: Int64Array
    flags: npt.NDArray[np.uint8]


def slices_of(
    tid: Int64Array,
    start: Int64Array,
    cpu: Int64Array,
    is_in: npt.NDArray[np.bool_],
    state: Int64Array,
    block: Int64Array,
    window: tuple[int, int],
) -> Slices:
    """The rows of SCHED_EVENTS as intervals, each until the next row of its thread.

    A thread whose first row leaves a core has run since the start of ``window``. A thread that runs at its last row
    runs until the end. Both are flagged as cut. A last row that leaves a core gives an interval only if the thread
    blocked. On rows that enter a core, ``state`` and ``block`` are stale.
    """
    order = np.lexsort((start, tid))
    tid, start, cpu, state, block = (column[order] for column in (tid, start, cpu, state, block))
    is_in = is_in[order]
    state, block = np.where(is_in, NULL, state), np.where(is_in, NULL, block)
    n = len(tid)
    is_last = np.r_[tid[1:] != tid[:-1], True] if n else np.empty(0, bool)
    stop = np.where(is_last, np.maximum(window[1], start), np.r_[start[1:], 0] if n else start)
    flags = np.where(is_last, np.uint8(Flag.CUT_END), np.uint8(0))
    blocked = np.isin(state, [number for number in _STATES if number != 0])
    keep = ~is_last | is_in | blocked
    # A terminated thread has no state. A later row is a new thread with the same id.
    keep &= is_in | (state != _TERMINATED)
    is_first = np.r_[True, tid[1:] != tid[:-1]] if n else np.empty(0, bool)
    early = np.flatnonzero(is_first & ~is_in & (start > window[0]))
    parts = [
        (tid[early], np.full(len(early), window[0]), start[early], cpu[early], np.ones(len(early), bool)),
        (tid[keep], start[keep], stop[keep], cpu[keep], is_in[keep]),
    ]
    missing = np.full(len(early), NULL)
    cut_start = np.full(len(early), Flag.CUT_START, np.uint8)
    tids, starts, stops, cpus, is_running = (np.concatenate(pair) for pair in zip(*parts, strict=True))
    order = np.lexsort((starts, tids))
    return Slices(
        tid=tids[order],
        start=starts[order],
        stop=stops[order],
        cpu=cpus[order],
        is_running=is_running[order],
        state=np.concatenate((missing, state[keep]))[order],
        block=np.concatenate((missing, block[keep]))[order],
        flags=np.concatenate((cut_start, flags[keep]))[order],
    )


def convert_sched(context: Context, table: str) -> None:
    """Thread states, the core each thread ran on, and the threads each core ran."""
    rows = read_all(
        context.tables, table, ints=("start", "cpu", "isSchedIn", "globalTid", "threadState", "threadBlock")
    )
    context.report_rows(rows.rows)
    is_thread = (rows["globalTid"] != NULL) & (rows["start"] != NULL)
    context.builder.add_skipped(
        table, int((~is_thread).sum()), english("scheduler rows without a thread or a time")
    )
    is_idle = is_thread & (rows["globalTid"] & _PID_AND_TID == 0)
    context.builder.add_skipped(
        table, int(is_idle.sum()), english("rows of the idle thread, when a core had nothing to run")
    )
    keep = is_thread & ~is_idle
    names = ("globalTid", "start", "cpu", "isSchedIn", "threadState", "threadBlock")
    tid, start, cpu, is_in, state, block = (rows[name][keep] for name in names)
    if not len(tid):
        return
    first = context.window.start_ns if context.window.stop_ns is not None else int(start.min())
    last = context.window.stop_ns if context.window.stop_ns is not None else int(start.max())
    slices = slices_of(tid, start, cpu, is_in == 1, state, block, (first, last))
    if (slices.state[~slices.is_running] <= 0).any():
        context.builder.add_warning(
            english(
                "Some scheduler rows do not say why a thread left its core. These times are shown as “{state}”: the "
                "thread may be blocked or waiting for a core",
                state=UNKNOWN_STATE,
            )
        )
    _add_states(context, slices)
    _add_cores(context, slices)


def _add_states(context: Context, slices: Slices) -> None:
    builder = context.builder
    name = np.full(len(slices.tid), builder.string(UNKNOWN_STATE), np.uint32)
    flags = np.where(slices.is_running, slices.flags, slices.flags | np.uint8(Flag.IDLE))
    name[slices.is_running] = builder.string(english("running"))
    for number, (text, flag) in _STATES.items():
        of_state = ~slices.is_running & (slices.state == number)
        name[of_state] = builder.string(text)
        flags[of_state] = (flags[of_state] & ~np.uint8(Flag.IDLE)) | np.uint8(flag)
    labels = _labels(context, "ENUM_SCHEDULING_THREAD_BLOCK")
    reason = np.zeros(len(slices.tid), np.uint32)
    for number, text in labels.items():
        if number > 1:
            reason[slices.block == number] = builder.string(text)
    for (tid,), index in groups(slices.tid):
        running = slices.is_running[index]
        attributes: dict[str, object] = {
            "cpu": np.ma.MaskedArray(slices.cpu[index], ~running | (slices.cpu[index] == NULL))
        }
        if reason[index].any():
            attributes["reason"] = np.ma.MaskedArray(reason[index], reason[index] == 0)
        context.add(
            context.thread_track(tid, "state"),
            "thread_state",
            slices.start[index],
            slices.stop[index],
            name[index],
            flags=flags[index],
            attributes=attributes,
            label="SCHED_EVENTS",
        )


def _add_cores(context: Context, slices: Slices) -> None:
    builder = context.builder
    running = slices.is_running & (slices.cpu != NULL)
    tid, start, stop, cpu, flags = (
        column[running] for column in (slices.tid, slices.start, slices.stop, slices.cpu, slices.flags)
    )
    tids, inverse = np.unique(tid, return_inverse=True)
    inverse = inverse.reshape(-1)
    thread = np.array([context.thread(number) for number in tids.tolist()], np.int64)[inverse]
    process = np.array([context.process(context.process_of(number)) for number in tids.tolist()], np.int64)[
        inverse
    ]
    title = builder.strings(context.thread_label(number) for number in tids.tolist())[inverse]
    owner = {"process": process, "thread": thread}
    group = context.track(context.specs.cores())
    for (core,), index in groups(cpu):
        context.add(
            context.track(context.specs.core(core), group),
            "cpu_slice",
            start[index],
            stop[index],
            title[index],
            flags=flags[index],
            attributes={key: values[index] for key, values in owner.items()},
            label="SCHED_EVENTS",
        )
    cores, core_index = np.unique(cpu, return_inverse=True)
    core_name = builder.strings(f"core {number}" for number in cores.tolist())[core_index.reshape(-1)]
    for (number,), index in groups(tid):
        context.add(
            context.thread_track(number, "cpu"),
            "cpu_slice",
            start[index],
            stop[index],
            core_name[index],
            flags=flags[index],
            attributes={key: values[index] for key, values in owner.items()},
            label="SCHED_EVENTS",
        )


def _labels(context: Context, table: str) -> dict[int, str]:
    rows = read_all(context.tables, table, ints=("id",), texts=("label", "name"))
    labels: dict[int, str] = {}
    for number, label, name in zip(rows["id"].tolist(), rows.texts["label"], rows.texts["name"], strict=True):
        labels[number] = (label or name or b"").decode("utf-8", "replace")
    return labels
