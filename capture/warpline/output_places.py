"""Checks of output paths."""

from __future__ import annotations

from pathlib import Path


def is_no_file(path: Path) -> bool:
    """Whether the path is a device, a pipe, a folder or a descriptor of this process, which no file may replace."""
    by_descriptor = path.is_symlink() and path.absolute().parts[1:2] in (("dev",), ("proc",))
    return path.exists() and (by_descriptor or not path.is_file())
