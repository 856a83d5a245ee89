"""The page that the recorder shares with everything that records inside the program (docs/spool.md)."""

from __future__ import annotations

import mmap
import os
import struct
import time
from enum import IntEnum
from pathlib import Path

CONTROL_FILE = "control"
_MAGIC = b"WLCTRL01"
_PAGE = struct.Struct("<8sIIQIIQ")
_EPOCH, _STATE, _CHANGED, _REQUEST = 8, 12, 16, 28
_BYTES = 4096


class RecordingState(IntEnum):
    """Whether anything is being recorded."""

    RECORDING = 0
    PAUSED = 1
    STOPPED = 2


class ControlPage:
    """The recorder's side of the page; agents only read it, except for requests."""

    def __init__(
        self, directory: Path, state: RecordingState, source_mask: int, size_cap_bytes: int = 0
    ) -> None:
        """Raises OSError when the page cannot be made."""
        descriptor = os.open(
            directory / CONTROL_FILE, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600
        )
        try:
            os.posix_fallocate(descriptor, 0, _BYTES)
            self._memory = mmap.mmap(descriptor, _BYTES)
        finally:
            os.close(descriptor)
        self._epoch = 1
        _PAGE.pack_into(
            self._memory, 0, _MAGIC, self._epoch, state, time.monotonic_ns(), source_mask, 0, size_cap_bytes
        )

    def set_state(self, state: RecordingState) -> int:
        """Tell everybody; returns the CLOCK_MONOTONIC ns of the change."""
        now = time.monotonic_ns()
        self._epoch += 1
        struct.pack_into("<I", self._memory, _STATE, state)
        struct.pack_into("<Q", self._memory, _CHANGED, now)
        struct.pack_into("<I", self._memory, _EPOCH, self._epoch)
        return now

    def take_request(self) -> int:
        """What a capture range in the program asked for since the last call: 0 nothing, 1 start, 2 stop."""
        request: int = struct.unpack_from("<I", self._memory, _REQUEST)[0]
        if request:
            struct.pack_into("<I", self._memory, _REQUEST, 0)
        return request

    def close(self) -> None:
        """Let go of the page; the file stays for the agents that have it mapped."""
        self._memory.close()
