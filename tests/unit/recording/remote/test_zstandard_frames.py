"""Frames that are compressed for slow connections."""

from __future__ import annotations

import os
import time

import pytest

from warpline.recording.remote.far.channel import Channel
from warpline.recording.remote.frames import MAX_BODY_BYTES, FrameError, FrameReader, FrameType, packed
from warpline.recording.remote.zstandard_frames import compressed, decompressed, zstandard

LIBRARY = zstandard()
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="there is no Zstandard library here")


def test_a_frame_comes_back() -> None:
    body = b"records " * 10_000
    frame = compressed(packed(FrameType.BYTES, body))
    assert len(frame) < len(body) / 20
    ((kind, inside),) = FrameReader().feed(frame)
    assert kind is FrameType.COMPRESSED
    assert decompressed(inside) == (FrameType.BYTES, body)


def test_what_is_no_shorter_stays_as_it_is() -> None:
    frame = packed(FrameType.BYTES, os.urandom(1000))
    assert compressed(frame) == frame


@pytest.mark.parametrize("body", [b"", b"\x17", b"\x0dno such thing"])
def test_hostile_frames_are_refused(body: bytes) -> None:
    with pytest.raises(FrameError):
        decompressed(body)


def test_a_frame_cannot_grow_beyond_its_bound() -> None:
    assert LIBRARY is not None
    data = LIBRARY.compress(bytes(100 * MAX_BODY_BYTES))
    with pytest.raises(FrameError):
        decompressed(bytes([FrameType.BYTES]) + data)
    with pytest.raises(FrameError):  # nor end early
        decompressed(bytes([FrameType.BYTES]) + data[:-1])


@pytest.mark.parametrize(("second", "is_slow"), [(0.001, False), (1.0, True)])
def test_a_connection_is_slow_that_keeps_us_waiting(
    monkeypatch: pytest.MonkeyPatch, second: float, is_slow: bool
) -> None:
    """It takes 64 KiB a ``second``, as far as the clock says."""
    clock = 1.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    incoming, outgoing = os.pipe()
    channel = Channel(os.open(os.devnull, os.O_RDONLY), outgoing)
    try:
        for _turn in range(100):
            channel.send(packed(FrameType.BYTES, bytes(100_000)))
            channel.flush()
            clock += second / 10
            os.read(incoming, 1 << 16)
        assert channel.is_slow is is_slow
    finally:
        channel.close()
        os.close(incoming)
