"""The user's home folder."""

from __future__ import annotations

from pathlib import Path


def home_folder() -> Path:
    """The home folder; the root folder for a user without an account, as in a container that runs under any number.

    What cannot be written there is lost.
    """
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")
