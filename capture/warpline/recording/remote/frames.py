"""The channel to the recorder on another machine: frames of bounded size over a pair of byte streams.

Both ends use this module; the far one runs it with any Python from 3.9 on. Neither end trusts the sizes of the other.
"""

from __future__ import annotations

import json
import struct
from enum import IntEnum
from typing import Any

MAX_BODY_BYTES = 1 << 20
MAX_DATA_BYTES = 256 << 10
"""Bytes of a spool file or a stream in one frame."""
BEAT_S = 2.0
GONE_S = 15.0
"""A connection counts as lost when nothing arrives for this long; each end sends at least every `BEAT_S`."""
WINDOW_BYTES = 256 << 10
"""Bytes of a stream that may be on their way without having been acknowledged."""
_HEAD = struct.Struct("<BI")
_PLACE = struct.Struct("<BQ")


class FrameError(Exception):
    """The other end sent something that is not a frame."""


class FrameType(IntEnum):
    """Types of frames. The body is JSON unless it says otherwise."""

    BEAT = 1
    """Empty."""
    REQUEST = 2
    """What the far end is to do; the first frame."""
    HELLO = 3
    """The far end has started; says which run this is."""
    FAILED = 4
    """The request failed: ``message``."""
    STATUS = 5
    """A status of the recorder (docs/recording.md)."""
    WHOLE = 10
    """Place, then the whole content of a small file."""
    PAGE = 11
    """Place, then the header page of a spool file."""
    CHUNK = 12
    """Place, then the header of a chunk."""
    BYTES = 13
    """Place, then committed bytes of a chunk that was announced."""
    CHECK = 14
    """The chunks of a file: ``name``, ``chunks`` with offset, size, committed bytes and checksum."""
    CHECKED = 15
    """Answer: ``name``, ``again`` with the offsets of chunks to send again."""
    COMPLETE = 16
    """``sizes`` of all files; any other file no longer exists."""
    TAKEN = 17
    """The capture is written: the far end may remove the spool."""
    OUTPUT = 20
    """Place (stream 1 or 2, offset), then output of the program."""
    INPUT = 21
    """Place (stream 0, offset), then input for the program; no bytes end it."""
    RECEIVED = 22
    """``stream`` and the number of its bytes that have been consumed."""
    EXIT = 23
    """The program has ended: ``exit_status``, ``error``, ``failed``."""
    SIGNAL = 24
    """A ``signal`` for the program."""
    SIZE = 25
    """``rows`` and ``columns`` of the terminal."""
    FETCH = 18
    """``paths`` of files of the machine that are needed to name functions."""
    FILE = 19
    """Place (number of the path, offset), then content of the file; no bytes end it."""
    CONTROL = 26
    """A request to the recorder (`warpline.recording.control`) with an ``id``."""
    REPLY = 27
    """Its reply, or the answer to a request that is answered at once."""
    PING = 28
    """``sent``: the clock here, to be sent back."""
    PONG = 29
    """``sent`` as received, and ``clock``: the far end's CLOCK_MONOTONIC, in ns."""
    HELD = 30
    """What the mirror has: ``name`` of a file, ``chunks`` with offset, size and committed bytes, ``is_last``."""
    COMPRESSED = 31
    """Type of another frame, then its body, compressed (`warpline.recording.remote.zstandard_frames`)."""


def packed(kind: FrameType, body: bytes = b"") -> bytes:
    """Encode a frame."""
    if len(body) > MAX_BODY_BYTES:
        raise FrameError(f"a frame of {len(body)} bytes")
    return _HEAD.pack(kind, len(body)) + body


def packed_json(kind: FrameType, values: dict[str, Any]) -> bytes:
    """A frame whose body is JSON."""
    return packed(kind, json.dumps(values).encode())


def packed_file(kind: FrameType, name: str, offset: int, data: bytes) -> bytes:
    """A frame about a file of the spool."""
    raw = name.encode()
    return packed(kind, _PLACE.pack(len(raw), offset) + raw + data)


def packed_stream(kind: FrameType, stream: int, offset: int, data: bytes) -> bytes:
    """A frame with bytes of a stream: 0 standard input, 1 output, 2 error."""
    return packed(kind, _PLACE.pack(stream, offset) + data)


def values_of(body: bytes) -> dict[str, Any]:
    """The JSON object of a frame.

    Raises FrameError.
    """
    try:
        values = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise FrameError("a frame without JSON") from error
    if not isinstance(values, dict):
        raise FrameError("a frame without a JSON object")
    return values


def file_of(body: bytes) -> tuple[str, int, bytes]:
    """Name, offset and data of a frame about a file.

    Raises FrameError.
    """
    if len(body) < _PLACE.size:
        raise FrameError("a frame that ends early")
    length, offset = _PLACE.unpack_from(body)
    raw = body[_PLACE.size : _PLACE.size + length]
    if len(raw) != length:
        raise FrameError("a frame that ends early")
    return raw.decode("ascii", "replace"), offset, body[_PLACE.size + length :]


def stream_of(body: bytes) -> tuple[int, int, bytes]:
    """Stream, offset and data of a frame with bytes of a stream.

    Raises FrameError.
    """
    if len(body) < _PLACE.size:
        raise FrameError("a frame that ends early")
    stream, offset = _PLACE.unpack_from(body)
    return stream, offset, body[_PLACE.size :]


class FrameReader:
    """Takes bytes as they arrive and returns whole frames."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> list[tuple[FrameType, bytes]]:
        """The frames that are complete now.

        Raises FrameError for an unknown or oversized frame.
        """
        self._bytes += data
        frames: list[tuple[FrameType, bytes]] = []
        position = 0
        while len(self._bytes) - position >= _HEAD.size:
            kind, length = _HEAD.unpack_from(self._bytes, position)
            if length > MAX_BODY_BYTES:
                raise FrameError(f"a frame of {length} bytes")
            end = position + _HEAD.size + length
            if len(self._bytes) < end:
                break
            try:
                frames.append((FrameType(kind), bytes(self._bytes[position + _HEAD.size : end])))
            except ValueError as error:
                raise FrameError(f"a frame of type {kind}") from error
            position = end
        del self._bytes[:position]
        return frames
