"""Why something cannot be recorded here, and what to do about it."""

from __future__ import annotations


class Unavailable(Exception):
    """A source cannot work here; the text says why, ``remedy`` what to do about it."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
