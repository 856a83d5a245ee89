"""What open pages are told without asking, and how many of them there are."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

MOST_LISTENERS = 24


class News:
    """The latest news of each kind, and a way to wait for the next."""

    def __init__(self, watched: Callable[[bool], None] = lambda _on: None) -> None:
        """``watched`` is called when the first page begins to listen and when the last one ends."""
        self._watched = watched
        self._watching = threading.Lock()
        """Held while ``watched`` is called, so that the last call is right."""
        self._condition = threading.Condition()
        self._latest: dict[str, tuple[int, Any]] = {}
        self._count = 0
        self._listeners = 0
        self.is_over = False

    def tell(self, kind: str, value: Any) -> None:
        """Tell all pages; older news of that kind is forgotten."""
        with self._condition:
            self._count += 1
            self._latest[kind] = (self._count, value)
            self._condition.notify_all()

    def enter(self) -> bool:
        """Begin to listen; False when there are too many listeners."""
        with self._watching:
            with self._condition:
                if self._listeners >= MOST_LISTENERS:
                    return False
                self._listeners += 1
                is_first = self._listeners == 1
            if is_first:
                self._watched(True)
        return True

    def leave(self) -> None:
        """Listen no longer."""
        with self._watching:
            with self._condition:
                self._listeners -= 1
                is_last = self._listeners == 0
            if is_last:
                self._watched(False)

    def after(self, known: int, timeout_s: float) -> tuple[int, list[tuple[str, Any]]]:
        """The news since number ``known`` and the number of the last; waits ``timeout_s`` at most for some."""
        with self._condition:
            self._condition.wait_for(lambda: self._count > known or self.is_over, timeout_s)
            fresh = sorted(
                ((at, kind, value) for kind, (at, value) in self._latest.items() if at > known),
                key=lambda entry: entry[0],
            )
            return self._count, [(kind, value) for _at, kind, value in fresh]

    def end(self) -> None:
        """Let everybody who waits go."""
        with self._condition:
            self.is_over = True
            self._condition.notify_all()
