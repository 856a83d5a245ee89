"""What installed distributions add to Warpline: their entry points, read once for all groups."""

from __future__ import annotations

import os
import sys
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint, EntryPoints

_METADATA = (".dist-info", ".egg-info")


def entry_points(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, such as ``warpline.panels``."""
    return tuple(_select()(group=group)) if _is_mentioned(group) else ()


@cache
def _is_mentioned(group: str) -> bool:
    """Whether any distribution may have entry points of a group.

    A look at the files themselves: importing what reads them properly is a tenth of the time a window takes to appear,
    and most people have no plugins. What is no folder (a zip file) is left to that.
    """
    head = f"[{group}]".encode()
    for place in dict.fromkeys(sys.path):
        try:
            with os.scandir(place or ".") as entries:
                folders = [entry.path for entry in entries if entry.name.endswith(_METADATA)]
        except NotADirectoryError:
            return True
        except OSError:
            continue
        if any(head in _read(os.path.join(folder, "entry_points.txt")) for folder in folders):
            return True
    return False


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


@lru_cache(maxsize=1)
def _select() -> Callable[..., EntryPoints]:
    # A sixth of the start-up time, and most commands do not need it.
    from importlib import metadata

    return metadata.entry_points().select


def forget() -> None:
    """Look again next time: a distribution came or went while this process runs."""
    _select.cache_clear()
    _is_mentioned.cache_clear()
