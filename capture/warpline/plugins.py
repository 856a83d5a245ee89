"""What installed distributions add to Warpline: their entry points, read once for all groups."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint, EntryPoints


def entry_points(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, such as ``warpline.panels``."""
    return tuple(_select()(group=group))


@lru_cache(maxsize=1)
def _select() -> Callable[..., EntryPoints]:
    # A sixth of the start-up time, and most commands do not need it.
    from importlib import metadata

    return metadata.entry_points().select


def forget() -> None:
    """Look again next time: a distribution came or went while this process runs."""
    _select.cache_clear()
