"""How many cores a process had between readings of its CPU time, when nobody knows exactly when each was made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from warpline.recording.spool.threads import ThreadLife

Int64Array = npt.NDArray[np.int64]

CLOCK_ERROR = 1e-3
"""How much faster than CLOCK_MONOTONIC the kernel may count CPU time: NTP slews one of the two, by 500 ppm at most."""
TICK_NS = 10_000_000
"""The longest that a kernel leaves a running thread's CPU time as it was (CONFIG_HZ is 100 or more)."""


def reading_times(
    times_ns: Int64Array, within_ns: Int64Array, cpu_ns: Int64Array, most_threads: Int64Array
) -> Int64Array:
    """When readings of a process's CPU time were made: int64 [n], in the same clock.

    A reader that the core is taken from between the clock and the CPU time knows only that the latter was read at
    ``times_ns`` ± ``within_ns`` (int64 [n], in the order of reading). ``cpu_ns`` (int64 [n], cumulative) is exact
    for a moment up to `TICK_NS` before that: of a thread on another core the kernel tells what its last tick had
    added up (``thread_group_cputime``; on a kernel of 250 Hz readings were seen to stand still for 4 ms at a time).
    Between two readings no more than ``most_threads`` (int64 [n-1]) threads ran, so CPU time cannot have grown
    faster: these are moments close to ``times_ns``, and possible ones, with which no rate is above ``most_threads``
    × (1 + `CLOCK_ERROR`). A reading that is moved is moved for the rates on both of its sides, so that rates × time
    stay the CPU time that was read. Where no moments explain it there were threads that nobody saw, and no limit.
    """
    first, last = times_ns - within_ns - TICK_NS, times_ns + within_ns
    if len(times_ns) < 2:
        return times_ns
    used = np.diff(cpu_ns)
    threads = np.maximum(most_threads, 1)
    least = np.ceil(used / (threads * (1 + CLOCK_ERROR))).astype(np.int64)
    least[(least > last[1:] - first[:-1]) | (most_threads < 1) | (used < 0)] = 0
    # t[i] - t[i-1] >= least[i-1] is order among t - sum(least): both ways one pass.
    before = np.r_[0, np.cumsum(least)]
    latest = before + np.minimum.accumulate((last - before)[::-1])[::-1]
    nearest = np.maximum(np.minimum(times_ns, latest), first)
    found = before + np.maximum.accumulate(nearest - before)
    possible: Int64Array = np.minimum(found, np.maximum.accumulate(last))
    return possible


def most_threads(threads: Sequence[ThreadLife], starts_ns: Int64Array, stops_ns: Int64Array) -> Int64Array:
    """How many of these threads were there at any moment of each stretch (CLOCK_MONOTONIC ns [n]): int64 [n]."""
    # What only /proc told of began up to a clock tick before.
    births = np.sort([thread.birth_ns - (0 if thread.announced else TICK_NS) for thread in threads])
    deaths = np.sort([thread.death_ns for thread in threads if thread.death_ns is not None])
    born = np.searchsorted(births, stops_ns, "right")
    return (born - np.searchsorted(deaths, starts_ns, "left")).astype(np.int64)
