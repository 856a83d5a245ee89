"""Where this user's own files are."""

from __future__ import annotations

from pathlib import Path


def home_folder() -> Path:
    """The home folder; the root folder for somebody nobody knows, as in a container that runs as any number.

    What cannot be written there is not kept.
    """
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")
