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
# Indices of 64-bit words: state and epoch share one, so that readers always see both change together.
_CHANGE_WORD, _CHANGED_WORD, _SOURCES_WORD = 1, 2, 3
_STEPS_WORD, _FIRST_STEP_WORD, _UNTIL_STEP_WORD, _BEGAN_WORD = 5, 6, 7, 8
_INSIDE_WORDS = slice(9, 409)
_EPOCHS = 0xFFFF_FFFF
_BYTES = 4096


class RecordingState(IntEnum):
    """Whether anything is being recorded."""

    RECORDING = 0
    PAUSED = 1
    STOPPED = 2
    DELAYED = 3
    """Paused; a range that begins does not resume the recording yet."""


_IS_PAUSED: dict[int, bool] = {RecordingState.RECORDING: False, RecordingState.PAUSED: True}


class ControlPage:
    """The recorder's side of the page; agents only read it, except where a capture range begins or ends."""

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
        _PAGE.pack_into(
            self._memory, 0, _MAGIC, 1, state, time.monotonic_ns(), source_mask, 0, size_cap_bytes
        )
        # One load or store each, where `struct` would go byte by byte.
        self._words = memoryview(self._memory).cast("Q")

    @property
    def is_paused(self) -> bool | None:
        """Whether the recording is paused; None when the page says neither paused nor recording."""
        return _IS_PAUSED.get(self._words[_CHANGE_WORD] >> 32)

    @property
    def confined(self) -> int:
        """How many spool files belong to processes in a sandbox."""
        return self._words[_SOURCES_WORD] >> 32

    @property
    def snapshot_began_ns(self) -> int:
        """CLOCK_MONOTONIC ns when the program began the steps of a snapshot; 0 before that."""
        return self._words[_BEGAN_WORD]

    @property
    def steps(self) -> int:
        """Steps of training that have ended in the process with the most of them."""
        return self._words[_STEPS_WORD]

    @property
    def steps_asked(self) -> tuple[int, int] | None:
        """How many steps have ended before a snapshot and after it; None when none was asked for."""
        until = self._words[_UNTIL_STEP_WORD]
        return (self._words[_FIRST_STEP_WORD], until) if until else None

    @property
    def threads_inside(self) -> list[tuple[int, int]]:
        """Process and thread ids of all that have begun the steps of the snapshot and not ended them."""
        return [(word >> 32, word & _EPOCHS) for word in self._words[_INSIDE_WORDS] if word]

    def ask_for_steps(self, first: int, until: int) -> None:
        """Have the program record the steps between those of its ends; ``until`` 0 takes that back.

        A thread that is in the steps of an earlier request leaves them when its next step ends.
        """
        self._words[_UNTIL_STEP_WORD] = 0
        self._words[_BEGAN_WORD] = 0
        self._words[_FIRST_STEP_WORD] = first
        self._words[_UNTIL_STEP_WORD] = until

    def forget_inside(self, thread: tuple[int, int]) -> None:
        """Free the place of a thread that has died in the steps of an earlier request."""
        word = thread[0] << 32 | thread[1]
        for index in range(_INSIDE_WORDS.start, _INSIDE_WORDS.stop):
            if self._words[index] == word:
                self._words[index] = 0

    def set_state(self, state: RecordingState) -> int:
        """Set the state for all readers; returns the CLOCK_MONOTONIC ns of the change."""
        now = time.monotonic_ns()
        self._words[_CHANGE_WORD] = int(state) << 32 | (self._words[_CHANGE_WORD] + 1) & _EPOCHS
        self._words[_CHANGED_WORD] = now
        return now

    def close(self) -> None:
        """Unmap the page; the file stays for agents that have it mapped."""
        self._words.release()
        self._memory.close()
