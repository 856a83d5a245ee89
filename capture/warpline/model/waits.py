"""What a thread can wait for: the calls that block, and the kind of wait of each."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import NamedTuple

from warpline.i18n import english

OWN_THREAD = "warpline-agent"
"""Warpline's own thread inside the program, which samples the others and is of no interest."""


class WaitKind(IntEnum):
    """What a blocked thread waits for, as a person would say it."""

    UNKNOWN = 0
    LOCK = 1
    CONDITION = 2
    GIL = 3
    SLEEP = 4
    FILE = 5
    PIPE = 6
    NETWORK = 7
    POLL = 8
    CHILD = 9
    JOIN = 10
    BARRIER = 11
    SIGNAL = 12
    TERMINAL = 13
    GPU = 14
    OTHER = 15
    FUTEX = 16


WAIT_KINDS: Mapping[int, str] = MappingProxyType(
    {
        WaitKind.UNKNOWN: "not known",
        WaitKind.LOCK: "lock",
        WaitKind.CONDITION: "condition",
        WaitKind.GIL: "GIL",
        WaitKind.SLEEP: "sleep",
        WaitKind.FILE: "file",
        WaitKind.PIPE: "pipe",
        WaitKind.NETWORK: "network",
        WaitKind.POLL: "descriptors",
        WaitKind.CHILD: "child process",
        WaitKind.JOIN: "end of a thread",
        WaitKind.BARRIER: "barrier",
        WaitKind.SIGNAL: "signal",
        WaitKind.TERMINAL: "terminal",
        WaitKind.GPU: "GPU",
        WaitKind.OTHER: "other",
        WaitKind.FUTEX: "futex",
    }
)


class WaitFamily(NamedTuple):
    """Kinds of waits that are shown as one; ``color`` is a colour family of the themes."""

    color: str
    title: str
    kinds: tuple[WaitKind, ...]


WAIT_FAMILIES: tuple[WaitFamily, ...] = (
    WaitFamily("wait_lock", english("lock"), (WaitKind.LOCK,)),
    WaitFamily("wait_gil", english("GIL"), (WaitKind.GIL,)),
    WaitFamily(
        "wait_condition",
        english("condition, barrier, signal, futex"),
        (WaitKind.CONDITION, WaitKind.BARRIER, WaitKind.SIGNAL, WaitKind.FUTEX),
    ),
    WaitFamily("wait_sleep", english("sleep"), (WaitKind.SLEEP,)),
    WaitFamily("wait_file", english("file, terminal"), (WaitKind.FILE, WaitKind.TERMINAL)),
    WaitFamily(
        "wait_network",
        english("network, pipe, descriptors"),
        (WaitKind.NETWORK, WaitKind.PIPE, WaitKind.POLL),
    ),
    WaitFamily("wait_child", english("child process, thread's end"), (WaitKind.CHILD, WaitKind.JOIN)),
    WaitFamily("wait_gpu", english("GPU"), (WaitKind.GPU,)),
)
"""The families by which pictures distinguish blocked stretches; a wait in none has an unknown reason."""


class Function(IntEnum):
    """Calls the agent measures; the numbers are in spool files (docs/spool.md)."""

    READ = 1
    WRITE = 2
    PREAD = 3
    PWRITE = 4
    READV = 5
    WRITEV = 6
    RECV = 7
    SEND = 8
    ACCEPT = 9
    CONNECT = 10
    POLL = 11
    SELECT = 12
    EPOLL_WAIT = 13
    OPEN = 14
    FSYNC = 15
    FDATASYNC = 16
    MSYNC = 17
    FLOCK = 18
    LOCKF = 19
    SLEEP = 20
    WAIT = 21
    SIGNAL_WAIT = 22
    GETADDRINFO = 23
    MUTEX = 24
    COND_WAIT = 25
    SEMAPHORE = 26
    READ_LOCK = 27
    WRITE_LOCK = 28
    BARRIER = 29
    JOIN = 30
    GIL = 31


FUNCTION_NAMES: Mapping[int, str] = MappingProxyType(
    {
        **{function: function.name.lower() for function in Function},
        Function.SLEEP: "nanosleep",
        Function.WAIT: "waitpid",
        Function.SIGNAL_WAIT: "sigwait",
        Function.MUTEX: "pthread_mutex_lock",
        Function.COND_WAIT: "pthread_cond_wait",
        Function.SEMAPHORE: "sem_wait",
        Function.READ_LOCK: "pthread_rwlock_rdlock",
        Function.WRITE_LOCK: "pthread_rwlock_wrlock",
        Function.BARRIER: "pthread_barrier_wait",
        Function.JOIN: "pthread_join",
        Function.GIL: "take_gil",
    }
)

KIND_OF_FUNCTION: Mapping[Function, WaitKind] = MappingProxyType(
    {
        Function.RECV: WaitKind.NETWORK,
        Function.SEND: WaitKind.NETWORK,
        Function.ACCEPT: WaitKind.NETWORK,
        Function.CONNECT: WaitKind.NETWORK,
        Function.GETADDRINFO: WaitKind.NETWORK,
        Function.POLL: WaitKind.POLL,
        Function.SELECT: WaitKind.POLL,
        Function.EPOLL_WAIT: WaitKind.POLL,
        Function.OPEN: WaitKind.FILE,
        Function.FSYNC: WaitKind.FILE,
        Function.FDATASYNC: WaitKind.FILE,
        Function.MSYNC: WaitKind.FILE,
        Function.FLOCK: WaitKind.LOCK,
        Function.LOCKF: WaitKind.LOCK,
        Function.SLEEP: WaitKind.SLEEP,
        Function.WAIT: WaitKind.CHILD,
        Function.SIGNAL_WAIT: WaitKind.SIGNAL,
        Function.MUTEX: WaitKind.LOCK,
        Function.COND_WAIT: WaitKind.CONDITION,
        Function.SEMAPHORE: WaitKind.LOCK,
        Function.READ_LOCK: WaitKind.LOCK,
        Function.WRITE_LOCK: WaitKind.LOCK,
        Function.BARRIER: WaitKind.BARRIER,
        Function.JOIN: WaitKind.JOIN,
        Function.GIL: WaitKind.GIL,
    }
)
"""What each call waits for; for a missing call, its descriptor decides."""
