"""What the tasks of an NPU's streams are, by what the profiler says of them."""

from __future__ import annotations

import re

import msgspec
import numpy as np
import numpy.typing as npt

from warpline.interchange.framework.columns import NO_INTEGER, TextColumn

KERNEL, COPY, WAIT, OTHER = "kernel", "memcpy", "sync", "other"
_KERNEL_TASKS = re.compile(r"(AI_|AIV|AIC|MIX_|KERNEL|DSA|DVPP|DSS)", re.IGNORECASE)
"""Kinds of tasks that compute: on cube and vector cores, the NPU's own CPUs, random numbers, pictures."""
_WAITS = re.compile(r"(EVENT|NOTIFY)[_ ]?WAIT", re.IGNORECASE)
_COPIES = re.compile(r"MEMCPY", re.IGNORECASE)


class TaskArgs(msgspec.Struct, rename={"task_type": "Task Type"}):
    """Arguments of tasks and calls that matter for where they belong; all of them stay as text."""

    task_type: str = ""
    connection_id: int = NO_INTEGER


def decoded(payload: TextColumn) -> tuple[list[TaskArgs], npt.NDArray[np.int64]]:
    """The arguments of each distinct payload, and the connection id of each event (`NO_INTEGER` without one)."""
    table = [_decode(text) for text in payload.table]
    ids = np.array([args.connection_id for args in table], np.int64)
    return table, ids[payload.codes]


def _decode(text: str) -> TaskArgs:
    try:
        return msgspec.json.decode(text, type=TaskArgs) if text else TaskArgs()
    except (msgspec.DecodeError, msgspec.ValidationError, OverflowError):
        return TaskArgs()


def task_kind(name: str, task_type: str) -> str:
    """Which kind of event a task of a stream is.

    Waits and what steers a stream (records, writes, parts of a collective) do not occupy the NPU's cores, nor do
    msprof's own tables count them; the collectives themselves are told on rows of their own.
    """
    if _WAITS.match(name):
        return WAIT
    if _COPIES.match(name):
        return COPY
    return KERNEL if _KERNEL_TASKS.match(task_type) else OTHER
