"""Who may draw next: one request at a time, and of each page only its newest."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

MOST_WAITING = 16


class Superseded(Exception):
    """The page has asked for another view since."""


class TooBusy(Exception):
    """Too many requests wait already."""


class Turns:
    """Lets one request draw at a time."""

    def __init__(self, most_waiting: int = MOST_WAITING) -> None:
        self._most_waiting = most_waiting
        self._condition = threading.Condition()
        self._newest: dict[str, int] = {}
        self._count = 0
        self._waiting = 0
        self._is_drawing = False

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return self._waiting

    @contextmanager
    def turn(self, page: str) -> Iterator[None]:
        """Wait until nothing else is drawn.

        Raises Superseded when the page sent another request meanwhile, TooBusy when too many wait.
        """
        with self._condition:
            if self._waiting >= self._most_waiting:
                raise TooBusy
            self._count += 1
            number = self._newest[page] = self._count
            self._condition.notify_all()  # an older request of this page waits for nothing any more
            self._waiting += 1
            try:
                while self._is_drawing and self._newest.get(page) == number:
                    self._condition.wait()
            finally:
                self._waiting -= 1
            if self._newest.get(page) != number:
                raise Superseded
            self._is_drawing = True
        try:
            yield
        finally:
            with self._condition:
                self._is_drawing = False
                if self._newest.get(page) == number:
                    del self._newest[page]
                self._condition.notify_all()
