"""Keeps freed memory of large columns for reuse instead of returning it to the kernel."""

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
    """Inside this context, malloc reuses the memory of freed columns.

    Otherwise the C library maps and unmaps each column of megabytes, and the kernel zeroes every page: a third of the
    time. Works with glibc alone (``mallopt(3)``). The memory returns to the kernel when the last user leaves.

    The switches apply to the whole process: other threads allocate from the heap too, and glibc stops adapting its mmap
    threshold. Does nothing if the environment configures malloc.
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


def release_freed() -> None:
    """Inside `kept_memory`, return free memory to the kernel, between two parts of the work; elsewhere does nothing."""
    libc = _glibc()
    with _lock:
        if _users and libc is not None:
            libc.malloc_trim(0)


def return_freed() -> None:
    """Return free memory to the kernel, unless `kept_memory` keeps it. Works with glibc alone.

    glibc keeps what is freed between two live allocations, in a heap for each thread: a process that replaces columns
    for hours grows to a multiple of what it uses.
    """
    libc = _glibc()
    with _lock:
        if not _users and libc is not None:
            libc.malloc_trim(0)


@lru_cache(maxsize=1)
def _glibc() -> ctypes.CDLL | None:
    """The loaded C library if it is glibc, else None."""
    try:
        libc = ctypes.CDLL(None)
    except (OSError, TypeError):
        return None
    needed = ("gnu_get_libc_version", "mallopt", "malloc_trim")
    return libc if all(hasattr(libc, name) for name in needed) else None
