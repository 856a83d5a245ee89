"""Progress and cancellation of long work."""

from __future__ import annotations

from collections.abc import Callable

from warpline.model.errors import Cancelled

Progress = Callable[[float, str], None]
"""Called with the fraction done (0–1) and a text about the current step."""
IsCancelled = Callable[[], bool]
"""Returns whether the work was cancelled. It is called often, so it must be quick."""


def unwatched(_fraction: float, _text: str) -> None:
    """Ignores progress."""


def never() -> bool:
    """Never cancels."""
    return False


def check_cancelled(cancelled: IsCancelled | None, text: str = "cancelled") -> None:
    """Raises Cancelled with a text when the work was cancelled."""
    if cancelled is not None and cancelled():
        raise Cancelled(text)
