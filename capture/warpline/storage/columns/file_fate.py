"""What can happen to a file while it is open."""

from __future__ import annotations

from enum import Enum


class FileFate(Enum):
    """What happened to a capture's file since it was opened."""

    AS_IT_WAS = "as it was"
    GONE = "gone"
    """It was removed or renamed; the opened file can still be read."""
    REPLACED = "replaced"
    """Another file has its name; the opened file can still be read."""
    CHANGED = "changed"
    """It was written to, so its contents have changed."""
    LOST = "lost"
    """It was truncated, or its disk fails: parts of it cannot be read."""
