"""Sends a recording of this machine to somebody who only watches it, without affecting the recording."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator
from typing import Any

from warpline.model.errors import RecordingError
from warpline.recording.control import find_recording, is_recording
from warpline.recording.remote.far.channel import Channel
from warpline.recording.remote.far.tail import Tail
from warpline.recording.remote.frames import FrameError, FrameType, packed_json
from warpline.recording.session import load_session

_TICK_S = 0.25
_SHARE = 50
"""Looking at the spool may take this share of the time: 2 % of a core."""


def watch(request: dict[str, Any]) -> int:
    """Follow the recording that a request names until it ends or the other end has gone.

    Raises RecordingError when nothing is being recorded there.
    """
    spool = find_recording(request.get("recording"))
    if not is_recording(spool):
        raise RecordingError(f"{spool}: nothing is recording there")
    channel = Channel(0, 1)
    channel.send(packed_json(FrameType.REPLY, {"name": spool.name.removesuffix(".spool")}))
    tail = Tail(spool, is_ring=bool(load_session(spool).options.ring_ns))
    news: Iterator[bytes] | None = None
    next_look, is_over, has_news = 0.0, False, False
    try:
        while True:
            now = time.monotonic()
            if news is None and now >= next_look:
                is_over = not is_recording(spool)
                news, begun, has_news = tail.news(), now, False
            while news is not None and channel.has_room:
                frame = next(news, None)
                if frame is None:
                    news = None
                    next_look = begun + max(_TICK_S, _SHARE * (time.monotonic() - begun))
                    if is_over and not has_news:
                        channel.send(packed_json(FrameType.COMPLETE, {"sizes": tail.sizes()}))
                    break
                has_news = True
                channel.send(frame)
            channel.flush()
            if is_over and news is None and not has_news and not channel.is_waiting:
                return 0
            _wait(channel, 0.0 if news is not None and channel.has_room else next_look - time.monotonic())
            channel.read()
    except (OSError, FrameError):
        return 1  # the other end has seen enough


def _wait(channel: Channel, timeout_s: float) -> None:
    poller = select.poll()
    poller.register(channel.incoming, select.POLLIN)
    if channel.is_waiting:
        poller.register(channel.outgoing, select.POLLOUT)
    poller.poll(max(0.0, min(timeout_s, 1.0)) * 1000)
