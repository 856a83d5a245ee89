"""How often a snapshot of a running recording is made, and how much of the recording is in it."""

from __future__ import annotations

LEAST_S = 0.5
SHARE = 0.2
"""Share of one core that snapshots may take."""
TICK_LEAST_S = 0.2
TICK_MOST_S = 0.3
"""The longest time between two ticks, where that costs less than `FREE_SHARE`."""
EASY_SHARE = 0.13
"""Up to this share of one core, ticks are made more often than that."""
FREE_SHARE = 0.45
BUSY_SHARE = 0.2
"""Shares of one core that ticks may take: while cores are free, and while they are not."""
_MOST_CPU_S = 0.5
_EASY_CPU_S = 0.3
LEAST_LENGTH_NS = 60_000_000_000
"""A shorter part of a recording would not be cheaper: part of the cost does not depend on the length."""


def tick_wait_s(cpu_s: float, wall_s: float, took_s: float) -> float:
    """Seconds to wait after a tick that cost ``cpu_s`` and took its process ``wall_s``, before the next is made.

    ``took_s`` is the time since the request. A tick that had to wait for a core shows that others need it.
    """
    if wall_s <= 1.5 * cpu_s + 0.02:
        every_s = max(TICK_LEAST_S, min(cpu_s / EASY_SHARE, TICK_MOST_S), cpu_s / FREE_SHARE)
    else:
        every_s = max(TICK_LEAST_S, cpu_s / BUSY_SHARE)
    return max(0.0, every_s - took_s)


class SnapshotPace:
    """Follows what snapshots cost: each is made from scratch, so its cost grows with the time it covers.

    A snapshot that costs more is made less often. One that costs more than half a second keeps only the end of the
    recording: as much as was affordable last time, but at least a minute. Part of the cost does not depend on the
    length, so a shorter part would not be cheaper.
    """

    def __init__(self) -> None:
        self._length_ns: int | None = None

    def wait_s(self, cpu_s: float, took_s: float) -> float:
        """Seconds to wait after a snapshot that cost ``cpu_s`` and took ``took_s``, before the next is made."""
        return max(LEAST_S, cpu_s / SHARE) - min(took_s, LEAST_S)

    def took(self, cpu_s: float, length_ns: int, *, is_whole: bool) -> None:
        """Note the cost of a snapshot of the last ``length_ns`` of the recording, or of all of it."""
        if cpu_s > _MOST_CPU_S:
            self._length_ns = max(LEAST_LENGTH_NS, int(length_ns * 0.8 * _MOST_CPU_S / cpu_s))
        elif is_whole:
            self._length_ns = None
        else:
            known = length_ns if self._length_ns is None else self._length_ns
            self._length_ns = int(known * 1.5) if cpu_s < _EASY_CPU_S else known

    def since_ns(self, head_ns: int, view_start_ns: int) -> int:
        """Where the next snapshot begins, about ``head_ns`` after the recording's start; 0 for all of the recording.

        What is in view is always part of it, whatever it costs.
        """
        if self._length_ns is None:
            return 0
        return max(0, min(head_ns - self._length_ns, view_start_ns))
