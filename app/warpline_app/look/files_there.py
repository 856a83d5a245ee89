"""Checks on typed or remembered paths, and file times, that never raise."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path


def typed_path(text: str) -> Path:
    """The path of a text, with ``~`` expanded; unchanged if the user is unknown."""
    return Path(os.path.expanduser(text.strip()))


def is_there(path: Path) -> bool:
    """Whether the path exists; False if it is too long or its folder may not be read.

    Unlike `Path.exists`, which raises for errors other than a missing file.
    """
    return os.path.exists(path)


def is_folder(path: Path) -> bool:
    """Whether the path is a folder."""
    return os.path.isdir(path)


def is_file(path: Path) -> bool:
    """Whether the path is a file."""
    return os.path.isfile(path)


def local_time(seconds: float) -> datetime:
    """Local time of seconds since 1970, clamped to the range of `datetime`."""
    try:
        return datetime.fromtimestamp(seconds)
    except (OverflowError, ValueError, OSError):
        return datetime.max if seconds > 0 else datetime.min
