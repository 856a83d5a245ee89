"""Compares the clock of another machine with the clock here, by pings over the channel of a recording."""

from __future__ import annotations

import functools
import hashlib
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpline.recording.remote.frames import FrameError, FrameType, packed_json

_WINDOW_NS = 10_000_000_000
"""Of each stretch of this length, the ping with the shortest round trip is kept."""
_FIRST_PINGS, _FIRST_EVERY_NS, _EVERY_NS = 8, 100_000_000, 1_000_000_000
_MOST_WINDOWS = 10_000
_DRIFT = 100e-6
"""The greatest assumed drift between two clocks: 100 ppm, that of a bad crystal."""
_LATEST_NS = 1 << 61


@dataclass(frozen=True)
class Ping:
    """A ping that came back: when it was sent and received here, and the other machine's clock in between, in ns."""

    sent_ns: int
    received_ns: int
    far_ns: int

    @property
    def way_ns(self) -> int:
        """The round-trip time."""
        return self.received_ns - self.sent_ns


def offset_of(pings: Sequence[Ping]) -> tuple[int, int] | None:
    """How far the other machine's clock is ahead of ours, and the largest possible error of that at any ping, in ns.

    A clock was read between sending and receiving, so each ping bounds the offset from both sides. Clocks drift: one
    ping narrows the bounds of its neighbours by what two clocks can drift apart until then. The offset is the middle of
    all bounds. ``pings`` are in the order of time; None without any.
    """
    if not pings:
        return None
    bounds = [(ping.far_ns - ping.received_ns, ping.far_ns - ping.sent_ns) for ping in pings]
    for order in (range(1, len(pings)), range(len(pings) - 2, -1, -1)):
        for number in order:
            other = number - 1 if order.step > 0 else number + 1
            first, last = pings[min(number, other)], pings[max(number, other)]
            apart = round(_DRIFT * (last.received_ns - first.sent_ns)) + 1
            low = max(bounds[number][0], bounds[other][0] - apart)
            high = min(bounds[number][1], bounds[other][1] + apart)
            # If a clock was set or stood still in between, neighbours narrow nothing.
            bounds[number] = (low, high) if low <= high else bounds[number]
    low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
    return (low + high) // 2, -((low - high) // 2)


@functools.cache
def own_clock() -> str:
    """A name for the clock here: the same for all recordings of this machine until it starts again."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    except OSError:
        boot = secrets.token_bytes(16)
    return hashlib.sha256(b"warpline clock " + boot).hexdigest()[:16]


class FarClock:
    """The other machine's clock, measured by pings."""

    def __init__(self) -> None:
        self._best: list[Ping] = []
        self._count = 0
        self._waiting_ns = self._next_ns = self._window_ns = 0

    def ping(self) -> bytes | None:
        """The frame to send now; None when it is too early for another ping."""
        now = time.monotonic_ns()
        if now < self._next_ns or (self._waiting_ns and now - self._waiting_ns < _WINDOW_NS):
            return None
        self._count += 1
        self._waiting_ns = now
        self._next_ns = now + (_FIRST_EVERY_NS if self._count < _FIRST_PINGS else _EVERY_NS)
        return packed_json(FrameType.PING, {"sent": now})

    def take(self, values: dict[str, Any]) -> None:
        """Take an answer; one to an earlier ping is ignored.

        Raises FrameError.
        """
        far = values.get("clock")
        if not isinstance(far, int) or not 0 <= far < _LATEST_NS:
            raise FrameError("a clock that shows no time")
        if not self._waiting_ns or values.get("sent") != self._waiting_ns:
            return
        ping = Ping(self._waiting_ns, time.monotonic_ns(), far)
        self._waiting_ns = 0
        best = self._best
        if not best or ping.sent_ns - self._window_ns >= _WINDOW_NS:
            self._window_ns = ping.sent_ns
            if len(best) < _MOST_WINDOWS:
                best.append(ping)
        elif ping.way_ns < best[-1].way_ns:
            best[-1] = ping

    def described(self) -> dict[str, Any]:
        """``clock`` of the host in the capture (docs/format.md); nothing without an answer."""
        offset = offset_of(self._best)
        if offset is None:
            return {}
        values = {
            "reference": own_clock(),
            "offset_ns": offset[0],
            "bound_ns": offset[1],
            "pings": self._count,
        }
        return {"clock": values}
