"""Maps whose file may go: where a page of it cannot be had any more, zeros are read and noted, and the process lives.

A file that somebody cuts off, or whose disk or server is gone, otherwise ends whoever has it mapped (SIGBUS). Who calls
`enable` has to look whether pages were lost, and say so. Without the compiled helper everything is as without it.
"""

from __future__ import annotations

import ctypes
import mmap
import weakref
from functools import lru_cache
from pathlib import Path

from warpline.compiled import Signatures, load

LIBRARY = Path(__file__).parent / "storage" / "columns" / "libwarpline_guard.so"
_SIGNATURES: Signatures = {
    "warpline_guard_install": (ctypes.c_int, []),
    "warpline_guard_add": (ctypes.c_int, [ctypes.c_size_t, ctypes.c_size_t]),
    "warpline_guard_remove": (None, [ctypes.c_int]),
    "warpline_guard_is_lost": (ctypes.c_int, [ctypes.c_int]),
}
_enabled: ctypes.CDLL | None = None


def enable() -> bool:
    """Guard every file that is mapped from now on; whether that is possible here."""
    global _enabled
    library = _library()
    if library is not None and library.warpline_guard_install():
        _enabled = library
    return _enabled is not None


class Guard:
    """Watches over one map, for as long as the map lives."""

    def __init__(self, mapped: mmap.mmap, address: int) -> None:
        """``address`` is where ``mapped`` begins in memory."""
        self._library = _enabled
        self._number = -1
        self._was_lost = False
        if self._library is not None:
            self._number = self._library.warpline_guard_add(address, len(mapped))
        if self._library is not None and self._number >= 0:
            self._end = weakref.finalize(mapped, self._library.warpline_guard_remove, self._number)

    @property
    def is_lost(self) -> bool:
        """Whether something was read as zeros that could not be read."""
        if self._library is not None and self._number >= 0 and self._end.alive:
            self._was_lost = bool(self._library.warpline_guard_is_lost(self._number))
        return self._was_lost

    def end(self) -> None:
        """The map has been closed."""
        if self._number >= 0:
            _ = self.is_lost
            self._end()


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL | None:
    return load(LIBRARY, _SIGNATURES)
