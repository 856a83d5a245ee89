"""The far end of a connection: frames over two descriptors that never block."""

from __future__ import annotations

import contextlib
import os
import socket
import time

from warpline.recording.remote.frames import BEAT_S, GONE_S, FrameReader, FrameType, packed

_ROOM_BYTES = 512 << 10
_WINDOW_BYTES = 1 << 20
_FAST_BYTES_PER_S = 100e6
"""Compressing pays where the connection takes less than that."""


class Channel:
    """The connection to the other end: two descriptors, and a socket that the relay waits for, if there is one."""

    def __init__(self, incoming: int, outgoing: int, relay: socket.socket | None = None) -> None:
        self.incoming, self.outgoing, self._relay = incoming, outgoing, relay
        os.set_blocking(incoming, False)
        os.set_blocking(outgoing, False)
        self._reader = FrameReader()
        self._unsent = bytearray()
        self.heard = self.sent = time.monotonic()
        self.is_slow = False
        """Whether the connection has taken less than `_FAST_BYTES_PER_S` lately."""
        self._taken = 0
        self._blocked_at = self._blocked_s = 0.0

    @property
    def has_room(self) -> bool:
        """Whether more frames should be queued."""
        return len(self._unsent) < _ROOM_BYTES

    @property
    def is_waiting(self) -> bool:
        """Whether there are queued bytes that the connection has not accepted yet."""
        return bool(self._unsent)

    def send(self, frame: bytes) -> None:
        """Queue a frame."""
        self._unsent += frame

    def flush(self) -> None:
        """Write as much as the connection accepts.

        Raises OSError when it is lost.
        """
        now = time.monotonic()
        if now - self.sent > BEAT_S and not self._unsent:
            self.send(packed(FrameType.BEAT))
        with contextlib.suppress(BlockingIOError):
            while self._unsent:
                count = os.write(self.outgoing, self._unsent[:_ROOM_BYTES])
                del self._unsent[:count]
                self.sent = now
                self._measure(now, count)
        if self._unsent:
            self._blocked_at = self._blocked_at or now

    def _measure(self, now: float, count: int) -> None:
        if self._blocked_at:
            self._blocked_s += now - self._blocked_at
            self._blocked_at = 0.0
        self._taken += count
        if self._taken >= _WINDOW_BYTES:
            self.is_slow = self._taken < self._blocked_s * _FAST_BYTES_PER_S
            self._taken, self._blocked_s = 0, 0.0

    def check(self) -> None:
        """Raises OSError when nothing has arrived for too long."""
        if time.monotonic() - self.heard > GONE_S:
            raise ConnectionResetError

    def read(self) -> list[tuple[FrameType, bytes]]:
        """The frames that have arrived.

        Raises OSError when the connection is lost, FrameError when it makes no sense.
        """
        try:
            data = os.read(self.incoming, 1 << 18)
        except BlockingIOError:
            self.check()
            return []
        if not data:
            raise ConnectionResetError
        self.heard = time.monotonic()
        return self._reader.feed(data)

    def close(self) -> None:
        """Give up the connection; the relay then ends."""
        os.close(self.incoming)
        os.close(self.outgoing)
        if self._relay is not None:
            self._relay.close()
