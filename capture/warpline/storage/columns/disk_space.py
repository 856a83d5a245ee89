"""Checks for free disk space, and the errors when there is none."""

from __future__ import annotations

import errno
import os
import re
import shutil
from pathlib import Path

from warpline.model import StorageError
from warpline.model.sizes import format_bytes

_RESERVE_BYTES = 64 << 20
_TOLD = re.compile(r"errno = (\d+)")
"""Matches the system error in HDF5's long error message."""


def missing_space(folder: Path, nbytes: int, purpose: str = "") -> str | None:
    """A text with the space needed (``purpose``: "to …") and the space free; None when it fits and leaves a reserve."""
    free, needed = shutil.disk_usage(folder).free, nbytes + _RESERVE_BYTES
    if free >= needed:
        return None
    purpose = f" {purpose}" if purpose else ""
    return f"{format_bytes(needed)} are needed{purpose} and {format_bytes(free)} are free"


def disk_error(path: Path, error: OSError) -> StorageError:
    """An error of the operating system turned into one that says what to do."""
    code = error.errno
    if code is None and (match := _TOLD.search(str(error))):
        code = int(match[1])
        error = OSError(code, os.strerror(code))
    if code in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(f"{path}: the disk is full; free some space or write the capture to another disk")
    return StorageError(f"{path}: cannot be written: {error.strerror or error}")
