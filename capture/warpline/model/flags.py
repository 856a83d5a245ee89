"""Bits of the ``flags`` column of events."""

from __future__ import annotations

from enum import IntFlag


class Flag(IntFlag):
    """Properties of an event. Bits may be combined; 0 is an ordinary event."""

    CUT_START = 1
    """The event began before the recording or during a pause; its start is the boundary."""
    CUT_END = 2
    """The event had not ended when the recording ended; its end is the boundary."""
    TRUNCATED = 4
    """The begin or end was lost within the recording and was inferred."""
    ESTIMATED = 8
    """Sampled, not measured: start and end are the times of samples."""
    INSTANT = 16
    """A moment without duration."""
    IDLE = 32
    """Does not count as busy: the thread is blocked, the resource unused."""
    WAITING = 64
    """Does not count as busy: ready, but waiting for a resource (a runnable thread)."""


NOT_BUSY = Flag.IDLE | Flag.WAITING
