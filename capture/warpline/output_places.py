"""Where files may be put."""

from __future__ import annotations

from pathlib import Path


def is_no_file(path: Path) -> bool:
    """Whether a device, a pipe, a folder or one of this process's descriptors is there, which no file may replace."""
    by_descriptor = path.is_symlink() and path.absolute().parts[1:2] in (("dev",), ("proc",))
    return path.exists() and (by_descriptor or not path.is_file())
