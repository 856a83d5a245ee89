"""Writes to files in a thread, while the next data is computed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from warpline.memory_room import require_memory

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_AHEAD_BYTES = 32 << 20
"""Limit on bytes that wait to be written."""


class WriteBehind:
    """Performs writes in order, in a thread that the first one starts.

    An exception from a write is raised by a later `submit` or `finish`.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread: ThreadPoolExecutor | None = None
        self._coming: deque[tuple[int, Future[None]]] = deque()
        self._coming_bytes = 0

    def submit(self, nbytes: int, write: Callable[[], None]) -> None:
        """Queue ``write``, which writes ``nbytes``; wait while too many bytes are queued."""
        if self._thread is None:
            # Started late: the first frame of a window imports this module but needs no thread.
            from concurrent.futures import ThreadPoolExecutor

            require_memory()
            self._thread = ThreadPoolExecutor(1, thread_name_prefix=self._name)
        self.finish(_AHEAD_BYTES)
        self._coming.append((nbytes, self._thread.submit(write)))
        self._coming_bytes += nbytes

    def finish(self, at_most: int = 0) -> None:
        """Wait until at most that many bytes are queued."""
        while self._coming_bytes > at_most:
            size, write = self._coming.popleft()
            self._coming_bytes -= size
            write.result()

    def close(self) -> None:
        """Ends the thread and drops writes that have not begun."""
        self._coming.clear()
        self._coming_bytes = 0
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
            self._thread = None
