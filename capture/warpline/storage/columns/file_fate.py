"""What may become of a file while it is open."""

from __future__ import annotations

from enum import Enum


class FileFate(Enum):
    """What became of a capture's file since it was opened."""

    AS_IT_WAS = "as it was"
    GONE = "gone"
    """Its name is gone; what was opened can still be read."""
    REPLACED = "replaced"
    """Another file has its name; what was opened can still be read."""
    CHANGED = "changed"
    """Somebody wrote into it: what is read is no longer what was opened."""
    LOST = "lost"
    """It was cut off, or its disk does not answer: parts of it cannot be read."""
