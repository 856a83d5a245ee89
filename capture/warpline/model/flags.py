"""Bits of the ``flags`` column of events."""

from __future__ import annotations

from enum import IntFlag


class Flag(IntFlag):
    """What is special about an event. Bits may be combined; 0 is an ordinary event."""

    CUT_START = 1
    """The event began before the recording (or a pause) and its start is the border."""
    CUT_END = 2
    """The event had not ended when the recording ended; its end is the border."""
    TRUNCATED = 4
    """Begin or end was lost inside the recording; the missing side was inferred."""
    ESTIMATED = 8
    """Sampled, not measured: the borders are the sampler's."""
    INSTANT = 16
    """A moment without duration."""
    IDLE = 32
    """Does not count as busy: the thread is blocked, the resource unused."""
    WAITING = 64
    """Does not count as busy: ready to go, waiting for a resource (a runnable thread)."""


NOT_BUSY = Flag.IDLE | Flag.WAITING
