"""Waits for something to be true, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable

_PAUSE_S = 0.005


def wait_until(is_true: Callable[[], object], what: object, seconds: float = 60) -> None:
    """Ask until the answer is true.

    Raises AssertionError after a deadline that only a hung program misses; ``what`` is its message, and may be a
    function that returns it.
    """
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, what() if callable(what) else what
        time.sleep(_PAUSE_S)  # noqa: TID251
