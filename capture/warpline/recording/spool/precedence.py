"""Gives the recorder priority over the program: records in the kernel's rings are lost if it is late or killed."""

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
"""Steps of niceness; 10 give about ten times the weight on a busy machine."""

EMPTIED_EVERY_S = 0.05
_IN_A_HURRY_S = 0.02
_LATE_NS = 20_000_000
_HURRIED_NS = 1_000_000_000


@contextlib.contextmanager
def before_others() -> Iterator[None]:
    """Prefer this thread to others of its user, as far as the system allows. Start no thread or process inside.

    With CAP_SYS_NICE or RLIMIT_NICE its niceness drops by `_STEPS`. Short time slices, which come sooner, need no
    privilege (Linux 6.12). A policy chosen by the user, such as SCHED_IDLE or SCHED_FIFO, stays.
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
    """How long the recorder may wait before it empties the rings again: shorter for a second after it was late."""

    def __init__(self) -> None:
        self._expected_ns = 0
        self._hurried_until_ns = 0

    def patience_s(self, now_ns: int) -> float:
        """The wait from ``now_ns`` (CLOCK_MONOTONIC) on; call it once for each time the rings are emptied."""
        if self._expected_ns and now_ns - self._expected_ns > _LATE_NS:
            self._hurried_until_ns = now_ns + _HURRIED_NS
        patience_s = _IN_A_HURRY_S if now_ns < self._hurried_until_ns else EMPTIED_EVERY_S
        self._expected_ns = now_ns + int(patience_s * 1e9)
        return patience_s
