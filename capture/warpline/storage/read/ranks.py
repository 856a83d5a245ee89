"""Finds the ranks in a capture without opening all of it."""

from __future__ import annotations

from pathlib import Path

from warpline.storage.columns.mapped_file import MappedFile
from warpline.storage.read.read_tables import read_meta


def capture_ranks(path: Path) -> frozenset[int]:
    """The ranks of the processes in a capture; reads only its description.

    Raises CaptureFormatError when the file is not a capture or its description is damaged.
    """
    file = MappedFile(path)
    try:
        return frozenset(process.rank for process in read_meta(file).processes if process.rank is not None)
    finally:
        file.close()
