"""What a moment of a thread or a GPU can be spent on, and how causes are called."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.model.waits import WAIT_KINDS, WaitKind


class Cause(IntEnum):
    """What an actor does in a segment. Waits are the codes of `WaitKind` and those between them and `RUNNING`."""

    BLOCKED = int(WaitKind.UNKNOWN)
    LOCK = int(WaitKind.LOCK)
    CONDITION = int(WaitKind.CONDITION)
    GIL = int(WaitKind.GIL)
    SLEEP = int(WaitKind.SLEEP)
    FILE = int(WaitKind.FILE)
    PIPE = int(WaitKind.PIPE)
    NETWORK = int(WaitKind.NETWORK)
    POLL = int(WaitKind.POLL)
    CHILD = int(WaitKind.CHILD)
    JOIN = int(WaitKind.JOIN)
    BARRIER = int(WaitKind.BARRIER)
    SIGNAL = int(WaitKind.SIGNAL)
    TERMINAL = int(WaitKind.TERMINAL)
    GPU = int(WaitKind.GPU)
    OTHER = int(WaitKind.OTHER)
    QUEUE_EMPTY = 16
    QUEUE_FULL = 17
    RESULT = 18
    LAUNCH = 19
    RUNNABLE = 30
    RUNNING = 32
    IMPORTING = 33
    NOT_RECORDED = 34
    ALLOCATING = 35
    COMPILING = 36
    COMPUTATION = 40
    COMMUNICATION = 41
    COPY = 42
    LAUNCH_LATENCY = 43
    STREAM = 44
    GPU_END = 45
    NO_LAUNCH = 46


SIGNALS = (
    Cause.CONDITION,
    Cause.JOIN,
    Cause.BARRIER,
    Cause.QUEUE_EMPTY,
    Cause.QUEUE_FULL,
    Cause.RESULT,
    Cause.PIPE,
    Cause.CHILD,
    Cause.POLL,
)
"""Waits until somebody has done something, unlike those for a thing that one at a time may have."""
CONTENTION = (Cause.LOCK, Cause.GIL)
OUTSIDE = (Cause.NETWORK, Cause.POLL, Cause.TERMINAL, Cause.SIGNAL)
"""Waits for somebody outside: a server that nobody asks is healthy."""

TITLES: Mapping[int, str] = MappingProxyType(
    {
        **{int(code): name for code, name in WAIT_KINDS.items()},
        Cause.GPU: "{device}",
        Cause.BLOCKED: english("something not recorded"),
        Cause.QUEUE_EMPTY: english("an item of a queue"),
        Cause.QUEUE_FULL: english("room in a queue"),
        Cause.RESULT: english("a result of a worker"),
        Cause.LAUNCH: english("its next operation"),
    }
)
"""What a wait is for: after "waits for"; with the word for the accelerator as the field ``{device}``."""
PATH_TITLES: Mapping[int, str] = MappingProxyType(
    {
        **TITLES,
        Cause.RUNNABLE: english("waiting for a core"),
        Cause.RUNNING: english("running"),
        Cause.IMPORTING: english("importing modules"),
        Cause.ALLOCATING: english("allocating memory of the {device}"),
        Cause.COMPILING: english("loading or compiling code of the {device}"),
        Cause.NOT_RECORDED: english("not recorded"),
        Cause.COMPUTATION: english("computation"),
        Cause.COMMUNICATION: english("communication"),
        Cause.COPY: english("copy"),
        Cause.LAUNCH_LATENCY: english("between launch and start"),
        Cause.STREAM: english("launched, not started"),
        Cause.GPU_END: english("after the last operation"),
        Cause.NO_LAUNCH: english("before an operation whose launch was not recorded"),
    }
)
"""What is done, or waited for, in a segment of a critical path."""


def is_wait(cause: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """Which causes are waits that somebody, or something, ends."""
    found: npt.NDArray[np.bool_] = cause < Cause.RUNNABLE
    return found
