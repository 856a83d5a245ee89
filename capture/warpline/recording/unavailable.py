"""Why something cannot be recorded here, and what to do about it."""

from __future__ import annotations

from warpline.i18n import english


class Unavailable(Exception):
    """A source cannot work here; the text says why, ``remedy`` what to do about it."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


def why_unavailable(error: Exception) -> Unavailable:
    """The reason for a source's error: its own if it is Unavailable, otherwise the error's text."""
    if isinstance(error, Unavailable):
        return error
    return Unavailable(english("it failed: {error}", error=str(error) or type(error).__name__))
