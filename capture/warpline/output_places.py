"""Checks of output paths."""

from __future__ import annotations

from pathlib import Path


def is_no_file(path: Path) -> bool:
    """Whether the path is a device, pipe, folder or descriptor of this process, which a file must not replace."""
    by_descriptor = path.is_symlink() and path.absolute().parts[1:2] in (("dev",), ("proc",))
    return path.exists() and (by_descriptor or not path.is_file())
