"""Memory of large columns that is kept between them instead of being asked of the kernel for each."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
_NEVER = -1
_MMAPS = 65_536
_TRIMMED_FROM_BYTES = 128 << 10
_CHOSEN = ("MALLOC_", "GLIBC_TUNABLES")
_lock = threading.Lock()
_users = 0


@contextmanager
def kept_memory() -> Iterator[None]:
    """While something works on many columns of megabytes, what one gives back the next one gets.

    The C library otherwise maps and unmaps each, and the kernel fills every page with zeros first: a third of the
    time. glibc alone has the switches (``mallopt(3)``); with another C library nothing is done. What was kept goes back
    to the kernel at the end, when the last of several users is done.

    They are switches of the whole process: what other threads allocate meanwhile comes from the heap too, and glibc
    no longer adapts its threshold for mapping afterwards. Both cost those threads nothing but memory that is kept a
    little longer. Nothing is done where somebody set switches of malloc for this process: those stay theirs.
    """
    global _users
    libc = None if any(name.startswith(_CHOSEN) for name in os.environ) else _glibc()
    if libc is None:
        yield
        return
    with _lock:
        _users += 1
        libc.mallopt(_MMAP_MAX, 0)
        libc.mallopt(_TRIM_THRESHOLD, _NEVER)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                libc.mallopt(_MMAP_MAX, _MMAPS)
                libc.mallopt(_TRIM_THRESHOLD, _TRIMMED_FROM_BYTES)
                libc.malloc_trim(0)


@lru_cache(maxsize=1)
def _glibc() -> ctypes.CDLL | None:
    """The C library that is loaded, where it is glibc."""
    try:
        found = ctypes.CDLL(None)
    except (OSError, TypeError):
        return None
    needed = ("gnu_get_libc_version", "mallopt", "malloc_trim")
    return found if all(hasattr(found, name) for name in needed) else None
