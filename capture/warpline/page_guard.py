"""Maps whose file may go: where a page of it cannot be had any more, zeros are read and noted, and the process lives.

A file that somebody cuts off, or whose disk or server is gone, otherwise ends whoever has it mapped (SIGBUS). Who calls
`enable` has to look whether pages were lost, and say so. Without the compiled helper everything is as without it.
"""

from __future__ import annotations

import ctypes
import mmap
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


class GuardedMap(mmap.mmap):
    """A map that is watched over from `watch` to its end.

    As many as 1,024 maps of a process are: another one is as without the helper until some of them have gone.
    """

    _helper: ctypes.CDLL | None = None
    _address = 0
    _number = -1
    _was_lost = False

    def watch(self, address: int) -> None:
        """``address`` is where the map begins in memory."""
        self._helper, self._address = _enabled, address
        if self._helper is not None:
            self._number = self._helper.warpline_guard_add(address, len(self))

    @property
    def is_lost(self) -> bool:
        """Whether something was read as zeros that could not be read."""
        if (
            self._helper is not None
            and self._number >= 0
            and self._helper.warpline_guard_is_lost(self._number)
        ):
            self._was_lost = True
        return self._was_lost

    def close(self) -> None:
        """Raises BufferError while somebody views the map, which is watched over still."""
        # Before it goes: the next map may lie in the same place, and what that one lacks is not ours to answer.
        is_watched = self._number >= 0
        self._let_go()
        try:
            super().close()
        except BufferError:
            if is_watched:
                self.watch(self._address)
            raise

    def __del__(self) -> None:
        self._let_go()

    def _let_go(self) -> None:
        if self._helper is not None and self._number >= 0:
            _ = self.is_lost
            number, self._number = self._number, -1
            self._helper.warpline_guard_remove(number)


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL | None:
    return load(LIBRARY, _SIGNATURES)
