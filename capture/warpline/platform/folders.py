"""Folders of the user."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def home_folder() -> Path:
    """The home folder; the root folder for a user without an account, as in a container that runs under any number.

    What cannot be written there is lost.
    """
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


def cache_folder() -> Path:
    """Where this user's caches of Warpline are; the folder may not exist yet."""
    named = os.environ.get("XDG_CACHE_HOME")
    if named:
        folder = Path(named) / "warpline"
    elif sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        folder = (Path(local) if local else home_folder() / "AppData" / "Local") / "warpline" / "cache"
    elif sys.platform == "darwin":
        folder = home_folder() / "Library" / "Caches" / "warpline"
    else:
        folder = home_folder() / ".cache" / "warpline"
    return folder


def settings_folder() -> Path:
    """Where Qt keeps this user's settings of Warpline (QSettings, INI files in the user's scope); may not exist yet."""
    if sys.platform == "win32":
        roaming = os.environ.get("APPDATA")
        base = Path(roaming) if roaming else home_folder() / "AppData" / "Roaming"
    else:
        named = os.environ.get("XDG_CONFIG_HOME", "")
        base = Path(named) if named.startswith("/") else home_folder() / ".config"
    return base / "Warpline"
