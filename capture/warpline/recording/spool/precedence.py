"""The recorder comes before what it records: what the kernel's rings hold goes with whoever kills it in between."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import struct
import sys
from collections.abc import Iterator

_SYSCALL = {"x86_64": 314, "aarch64": 274}
"""Numbers of sched_setattr."""
_ATTRIBUTES = struct.Struct("<IIQiIQQQ")
"""struct sched_attr of linux/sched/types.h, first version: size, policy, flags, nice, priority, runtime, deadline,
period."""
_SHORTEST_SLICE_NS = 100_000
_STEPS = 10
"""Of niceness: a tenth of the weight of each, on a machine where all want to run."""

EMPTIED_EVERY_S = 0.05
_IN_A_HURRY_S = 0.02
_LATE_NS = 20_000_000
_HURRIED_NS = 1_000_000_000


@contextlib.contextmanager
def before_others() -> Iterator[None]:
    """Have this thread run before others of its user's, as far as the system lets it; inside, nothing may be started.

    Whoever may (CAP_SYS_NICE, RLIMIT_NICE) is less nice by `_STEPS`. Everybody may ask for short turns, which come
    sooner (Linux 6.12). A policy that somebody chose for it, such as SCHED_IDLE or SCHED_FIFO, stays.
    """
    if sys.platform != "linux" or os.sched_getscheduler(0) != os.SCHED_OTHER:
        yield
        return
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    wanted = max(nice - _STEPS, -20)
    is_set = _set(wanted, _SHORTEST_SLICE_NS) or _set(nice, _SHORTEST_SLICE_NS)
    try:
        yield
    finally:
        if is_set:
            _set(nice, 0)


def _set(nice: int, slice_ns: int) -> bool:
    number = _SYSCALL.get(platform.machine())
    if number is None:
        return False
    packed = _ATTRIBUTES.pack(_ATTRIBUTES.size, 0, 0, nice, 0, slice_ns, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(
        libc.syscall(ctypes.c_long(number), 0, ctypes.create_string_buffer(packed, len(packed)), 0) == 0
    )


class Pace:
    """How long the recorder may wait until it empties the rings again: less for a second once it was late."""

    def __init__(self) -> None:
        self._expected_ns = 0
        self._hurried_until_ns = 0

    def patience_s(self, now_ns: int) -> float:
        """From ``now_ns`` (CLOCK_MONOTONIC) on; asked once for each time the rings are emptied."""
        if self._expected_ns and now_ns - self._expected_ns > _LATE_NS:
            self._hurried_until_ns = now_ns + _HURRIED_NS
        patience_s = _IN_A_HURRY_S if now_ns < self._hurried_until_ns else EMPTIED_EVERY_S
        self._expected_ns = now_ns + int(patience_s * 1e9)
        return patience_s
