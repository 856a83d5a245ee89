"""File descriptors, opened and written alike on every system."""

from __future__ import annotations

import os
import sys
import threading

if sys.platform == "win32":
    # Without O_BINARY Windows writes every "\n" as "\r\n".
    OPEN_FLAGS = os.O_NOINHERIT | os.O_BINARY

    _lock = threading.Lock()

    def write_at(descriptor: int, data: memoryview, offset: int) -> int:
        """Writes bytes at an offset and returns how many; moves the descriptor's position."""
        with _lock:
            os.lseek(descriptor, offset, os.SEEK_SET)
            return os.write(descriptor, data)

else:
    OPEN_FLAGS = os.O_CLOEXEC

    def write_at(descriptor: int, data: memoryview, offset: int) -> int:
        """Writes bytes at an offset and returns how many."""
        return os.pwrite(descriptor, data, offset)
