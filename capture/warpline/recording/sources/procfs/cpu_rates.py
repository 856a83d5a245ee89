"""Computes CPU rates of a process from readings of its CPU time whose exact times are unknown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from warpline.recording.spool.threads import ThreadLife

Int64Array = npt.NDArray[np.int64]

CLOCK_ERROR = 1e-3
"""How much faster than CLOCK_MONOTONIC CPU time may be counted: NTP slews one of the two, by 500 ppm at most."""
TICK_NS = 10_000_000
"""The longest time between updates of a running thread's CPU time (CONFIG_HZ is 100 or more)."""


def reading_times(
    times_ns: Int64Array, within_ns: Int64Array, cpu_ns: Int64Array, most_threads: Int64Array
) -> Int64Array:
    """Consistent times of readings of a process's CPU time: int64 [n], in the same clock.

    A reader may lose its core between clock and CPU time, so a reading was made at ``times_ns`` ± ``within_ns``
    (int64 [n], in reading order). ``cpu_ns`` (int64 [n], cumulative) is exact for a moment up to `TICK_NS` earlier:
    for a thread on another core the kernel reports the state of its last tick (``thread_group_cputime``; readings
    on a 250 Hz kernel stood still for 4 ms at a time). At most ``most_threads`` (int64 [n-1]) threads ran between
    two readings. The result is close to ``times_ns`` and possible, and no rate exceeds ``most_threads`` × (1 +
    `CLOCK_ERROR`). Moving a reading changes the rates on both sides, so rate × time still gives the CPU time. If no
    times are consistent, some threads were not seen, and the limit is ignored.
    """
    first, last = times_ns - within_ns - TICK_NS, times_ns + within_ns
    if len(times_ns) < 2:
        return times_ns
    used = np.diff(cpu_ns)
    threads = np.maximum(most_threads, 1)
    least = np.ceil(used / (threads * (1 + CLOCK_ERROR))).astype(np.int64)
    least[(least > last[1:] - first[:-1]) | (most_threads < 1) | (used < 0)] = 0
    # t[i] - t[i-1] >= least[i-1] means that t - sum(least) is sorted: one pass in each direction.
    before = np.r_[0, np.cumsum(least)]
    latest = before + np.minimum.accumulate((last - before)[::-1])[::-1]
    nearest = np.maximum(np.minimum(times_ns, latest), first)
    earliest = before + np.maximum.accumulate(nearest - before)
    possible: Int64Array = np.minimum(earliest, np.maximum.accumulate(last))
    return possible


def most_threads(threads: Sequence[ThreadLife], starts_ns: Int64Array, stops_ns: Int64Array) -> Int64Array:
    """Upper limit of concurrent threads in each interval (CLOCK_MONOTONIC ns [n]): int64 [n]."""
    # Birth times from /proc may be a clock tick late.
    births = np.sort([thread.birth_ns - (0 if thread.announced else TICK_NS) for thread in threads])
    deaths = np.sort([thread.death_ns for thread in threads if thread.death_ns is not None])
    born = np.searchsorted(births, stops_ns, "right")
    return (born - np.searchsorted(deaths, starts_ns, "left")).astype(np.int64)
