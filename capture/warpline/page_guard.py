"""Memory maps that survive the loss of their file: lost pages read as zeros and are noted.

Without this, a process that reads a mapped file after it was truncated, or after its disk or server is gone, dies of
SIGBUS. The caller of `enable` must check `GuardedMap.is_lost` and report it. Without the compiled helper, maps are
unguarded.
"""

from __future__ import annotations

import ctypes
import mmap
from functools import lru_cache
from pathlib import Path

from warpline.compiled import Signatures, load
from warpline.platform.systems import library_file

LIBRARY = Path(__file__).parent / "storage" / "columns" / library_file("guard")
SIGNATURES: Signatures = {
    "warpline_guard_install": (ctypes.c_int, []),
    "warpline_guard_add": (ctypes.c_int, [ctypes.c_size_t, ctypes.c_size_t]),
    "warpline_guard_remove": (None, [ctypes.c_int]),
    "warpline_guard_is_lost": (ctypes.c_int, [ctypes.c_int]),
}
_enabled: ctypes.CDLL | None = None


def enable() -> bool:
    """Guards every file that is mapped from now on. Returns whether this system can."""
    global _enabled
    library = _library()
    if library is not None and library.warpline_guard_install():
        _enabled = library
    return _enabled is not None


class GuardedMap(mmap.mmap):
    """A map that is guarded from `watch` until it is closed.

    At most 1,024 maps of a process are guarded at a time; further ones are unguarded.
    """

    _helper: ctypes.CDLL | None = None
    _address = 0
    _number = -1
    _was_lost = False

    def watch(self, address: int) -> None:
        """Start guarding the map, which begins at ``address`` in memory."""
        self._helper, self._address = _enabled, address
        if self._helper is not None:
            self._number = self._helper.warpline_guard_add(address, len(self))

    @property
    def is_lost(self) -> bool:
        """Whether zeros were read in place of lost pages."""
        if (
            self._helper is not None
            and self._number >= 0
            and self._helper.warpline_guard_is_lost(self._number)
        ):
            self._was_lost = True
        return self._was_lost

    def close(self) -> None:
        """Closes the map. Raises BufferError while a view of it exists; the map then stays guarded."""
        # First stop guarding: the next map may lie at the same address, and its lost pages are not ours.
        is_watched = self._number >= 0
        self._unwatch()
        try:
            super().close()
        except BufferError:
            if is_watched:
                self.watch(self._address)
            raise

    def __del__(self) -> None:
        self._unwatch()

    def _unwatch(self) -> None:
        if self._helper is not None and self._number >= 0:
            _ = self.is_lost
            number, self._number = self._number, -1
            self._helper.warpline_guard_remove(number)


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL | None:
    return load(LIBRARY, SIGNATURES)
