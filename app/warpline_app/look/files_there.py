"""Paths that somebody typed or that settings remember, and times of files: nobody promised that they can be any."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path


def typed_path(text: str) -> Path:
    """The path of a text, with ``~`` for the home folder; the text itself where nobody of that name is known."""
    return Path(os.path.expanduser(text.strip()))


def is_there(path: Path) -> bool:
    """Whether a path leads to something: not one that is too long, or leads into a folder that is closed.

    `Path.exists`, and the others likewise, raise where the system gives another reason than that nothing is there.
    """
    return os.path.exists(path)


def is_folder(path: Path) -> bool:
    """Whether a path leads to a folder."""
    return os.path.isdir(path)


def is_file(path: Path) -> bool:
    """Whether a path leads to a file."""
    return os.path.isfile(path)


def local_time(seconds: float) -> datetime:
    """The local time of so many seconds since 1970, the first or last there is for one that no calendar has."""
    try:
        return datetime.fromtimestamp(seconds)
    except (OverflowError, ValueError, OSError):
        return datetime.max if seconds > 0 else datetime.min
