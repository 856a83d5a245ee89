"""Causes: what a thread or GPU does, or waits for, at one moment; and their titles."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.model.waits import WaitKind


class Cause(IntEnum):
    """What an actor does in a segment. Codes below `RUNNABLE` are waits; the first ones are those of `WaitKind`."""

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
    EVENT = 20
    SEMAPHORE = 21
    START = 22
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
    MIGRATION = 47


SIGNALS = (
    Cause.CONDITION,
    Cause.EVENT,
    Cause.JOIN,
    Cause.START,
    Cause.BARRIER,
    Cause.QUEUE_EMPTY,
    Cause.QUEUE_FULL,
    Cause.RESULT,
    Cause.PIPE,
    Cause.CHILD,
    Cause.POLL,
)
"""Waits for another thread to do something, unlike waits for something that one thread at a time may hold."""
CONTENTION = (Cause.LOCK, Cause.SEMAPHORE, Cause.GIL)
OUTSIDE = (Cause.NETWORK, Cause.POLL, Cause.TERMINAL, Cause.SIGNAL)
"""Waits for the outside world: an idle server is healthy."""

TITLES: Mapping[int, str] = MappingProxyType(
    {
        Cause.BLOCKED: english("something not recorded"),
        Cause.LOCK: english("a lock"),
        Cause.CONDITION: english("a condition"),
        Cause.GIL: english("the GIL"),
        Cause.SLEEP: english("the end of a sleep"),
        Cause.FILE: english("a file"),
        Cause.PIPE: english("a pipe"),
        Cause.NETWORK: english("the network"),
        Cause.POLL: english("file descriptors"),
        Cause.CHILD: english("a child process"),
        Cause.JOIN: english("a thread to end"),
        Cause.BARRIER: english("a barrier"),
        Cause.SIGNAL: english("a signal"),
        Cause.TERMINAL: english("the terminal"),
        Cause.GPU: english("the {device}"),
        Cause.OTHER: english("something else"),
        Cause.QUEUE_EMPTY: english("a queue item"),
        Cause.QUEUE_FULL: english("space in a queue"),
        Cause.RESULT: english("a worker's result"),
        Cause.LAUNCH: english("its next operation"),
        Cause.EVENT: english("an event"),
        Cause.SEMAPHORE: english("a semaphore"),
        Cause.START: english("a thread to start"),
    }
)
"""What a wait is for, to follow "waits for". The field ``{device}`` is the accelerator: GPU or NPU."""
PATH_TITLES: Mapping[int, str] = MappingProxyType(
    {
        Cause.BLOCKED: english("blocked for an unknown reason"),
        Cause.LOCK: english("waiting for a lock"),
        Cause.CONDITION: english("waiting for a condition"),
        Cause.GIL: english("waiting for the GIL"),
        Cause.SLEEP: english("sleeping"),
        Cause.FILE: english("waiting for a file"),
        Cause.PIPE: english("waiting for a pipe"),
        Cause.NETWORK: english("waiting for the network"),
        Cause.POLL: english("waiting for file descriptors"),
        Cause.CHILD: english("waiting for a child process"),
        Cause.JOIN: english("waiting for a thread to end"),
        Cause.BARRIER: english("waiting at a barrier"),
        Cause.SIGNAL: english("waiting for a signal"),
        Cause.TERMINAL: english("waiting for the terminal"),
        Cause.GPU: english("waiting for the {device}"),
        Cause.OTHER: english("other waits"),
        Cause.QUEUE_EMPTY: english("waiting for a queue item"),
        Cause.QUEUE_FULL: english("waiting for space in a queue"),
        Cause.RESULT: english("waiting for a worker's result"),
        Cause.LAUNCH: english("idle until the next launch"),
        Cause.EVENT: english("waiting for an event"),
        Cause.SEMAPHORE: english("waiting for a semaphore"),
        Cause.START: english("waiting for a thread to start"),
        Cause.RUNNABLE: english("waiting for a core"),
        Cause.RUNNING: english("running"),
        Cause.IMPORTING: english("importing modules"),
        Cause.ALLOCATING: english("allocating {device} memory"),
        Cause.COMPILING: english("loading or compiling {device} code"),
        Cause.NOT_RECORDED: english("not recorded"),
        Cause.COMPUTATION: english("computation"),
        Cause.COMMUNICATION: english("communication"),
        Cause.COPY: english("copy"),
        Cause.LAUNCH_LATENCY: english("launch latency"),
        Cause.STREAM: english("launched work does not start"),
        Cause.GPU_END: english("after the last operation"),
        Cause.NO_LAUNCH: english("idle: launch not recorded"),
        Cause.MIGRATION: english("page migration"),
    }
)
"""What happens in a segment of the critical path."""


def is_wait(cause: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """Which causes are waits that another actor or event ends."""
    waits: npt.NDArray[np.bool_] = cause < Cause.RUNNABLE
    return waits
