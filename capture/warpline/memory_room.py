"""Room in memory, asked for ahead of what does not survive the lack of it.

- HDF5 (2.0.0): where it gets no memory for its cache of a file (`H5AC_create`, when a file is opened or made), it
  follows a pointer that is not there: SIGSEGV.
- Python (3.11): `threading.Thread.start` waits until the thread has begun. One that gets its stack and no memory beyond
  it ends before, and who started it waits for good.

The system refuses such room in a way that can be told.
"""

from __future__ import annotations

import mmap

_ROOM_BYTES = 16 << 20
"""A thread takes 8 MB for its stack, a file of HDF5 some 2 MB."""


def require_memory(count: int = 1) -> None:
    """Raise MemoryError where so many threads, or files of HDF5, would not have enough."""
    try:
        mmap.mmap(-1, count * _ROOM_BYTES).close()
    except OSError as error:
        raise MemoryError(*error.args) from error
