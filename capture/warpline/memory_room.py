"""Checks for free memory before calls that do not survive running out of it.

- HDF5 (2.0.0) crashes (SIGSEGV) when it gets no memory for its cache of a file (`H5AC_create`, when a file is opened or
  created).
- Python (3.11) hangs in `threading.Thread.start` when the new thread gets its stack but no other memory.

Mapping memory first fails with an error instead.
"""

from __future__ import annotations

import mmap

_ROOM_BYTES = 16 << 20
"""A thread takes 8 MB for its stack, an HDF5 file about 2 MB."""


def require_memory(count: int = 1) -> None:
    """Raises MemoryError unless there is memory for ``count`` threads or HDF5 files."""
    try:
        mmap.mmap(-1, count * _ROOM_BYTES).close()
    except OSError as error:
        raise MemoryError(*error.args) from error
