"""Classifies the tasks of an NPU's streams."""

from __future__ import annotations

import re

import msgspec
import numpy as np
import numpy.typing as npt

from warpline.interchange.framework.columns import NO_INTEGER, TextColumn

KERNEL, COPY, WAIT, OTHER = "kernel", "memcpy", "sync", "other"
_KERNEL_TASKS = re.compile(r"(AI_|AIV|AIC|MIX_|KERNEL|DSA|DVPP|DSS)", re.IGNORECASE)
"""Task types that compute: on cube and vector cores, AI CPUs, random number and image units."""
_CONTROL_NAMES = re.compile(r"[A-Z0-9_ ]*$|(Event|Notify|Write|Stream|Model|Place)[ _]", re.ASCII)
"""Names of tasks that control a stream (``EVENT_RECORD``, ``Notify Record``); kernels have operators' names."""
_WAITS = re.compile(r"(EVENT|NOTIFY)[_ ]?WAIT", re.IGNORECASE)
_COPIES = re.compile(r"MEMCPY", re.IGNORECASE)


class TaskArgs(msgspec.Struct, rename={"task_type": "Task Type"}):
    """The arguments that classify tasks and calls; the payload keeps all of them as text."""

    task_type: str = ""
    connection_id: int = NO_INTEGER


def decoded(payload: TextColumn) -> tuple[list[TaskArgs], npt.NDArray[np.int64]]:
    """The arguments of each distinct payload, and each event's connection id (`NO_INTEGER` for none)."""
    table = [_decode(text) for text in payload.table]
    ids = np.array([args.connection_id for args in table], np.int64)
    return table, ids[payload.codes]


def _decode(text: str) -> TaskArgs:
    try:
        return msgspec.json.decode(text, type=TaskArgs) if text else TaskArgs()
    except (msgspec.DecodeError, msgspec.ValidationError, OverflowError):
        return TaskArgs()


def task_kind(name: str, task_type: str) -> str:
    """The kind of event for a task of a stream.

    Waits and control tasks (records, writes, parts of a collective) do not occupy the NPU's cores, and msprof does not
    count them either. Collectives have their own rows.
    """
    if _WAITS.match(name):
        return WAIT
    if _COPIES.match(name):
        return COPY
    if task_type.upper() == "OTHER":  # msprof's word for a core of unknown type
        return OTHER if _CONTROL_NAMES.match(name) else KERNEL
    return KERNEL if _KERNEL_TASKS.match(task_type) else OTHER
