"""Sends files of the machine: programs and libraries, whose functions are named at the other end."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from typing import Any

from warpline.recording.remote.frames import MAX_DATA_BYTES, FrameType, packed_file

_LARGEST_BYTES = 256 << 20


def machine_files(paths: Sequence[Any], largest_bytes: int = _LARGEST_BYTES) -> Iterator[bytes]:
    """Frames with the content of files; one that cannot be read or is too large is empty."""
    for number, path in enumerate(paths):
        offset = 0
        for data in _pieces(str(path), largest_bytes):
            yield packed_file(FrameType.FILE, str(number), offset, data)
            offset += len(data)
        yield packed_file(FrameType.FILE, str(number), offset, b"")


def _pieces(path: str, largest_bytes: int) -> Iterator[bytes]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and status.st_size <= largest_bytes:
            while data := file.read(MAX_DATA_BYTES):
                yield data
