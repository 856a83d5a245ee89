"""Long work: how it tells how far it is, and how it is told to stop."""

from __future__ import annotations

from collections.abc import Callable

from warpline.model.errors import Cancelled

Progress = Callable[[float, str], None]
"""Takes a fraction in 0-1 and what is being done."""
IsCancelled = Callable[[], bool]
"""Whether whoever started the work has changed their mind; asked again and again, so it must be quick."""


def unwatched(_fraction: float, _text: str) -> None:
    """Progress that nobody wants to know."""


def never() -> bool:
    """Work that nobody cancels."""
    return False


def check_cancelled(cancelled: IsCancelled | None, text: str = "cancelled") -> None:
    """Raise Cancelled with a text when whoever started the work has changed their mind."""
    if cancelled is not None and cancelled():
        raise Cancelled(text)
