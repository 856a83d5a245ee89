"""Fetches the programs and libraries of the other machine that name the functions of a recording."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

from warpline.recording.agent import records as waits
from warpline.recording.remote.frames import FrameError
from warpline.recording.sources.registry import module_paths
from warpline.recording.spool.reader import read_spools

_BY_ADDRESS = re.compile(r"(/.*)\+0x[0-9a-f]+", re.DOTALL)
_MOST_FILES = 500
_MOST_BYTES = 1 << 30


def needed_files(directory: Path) -> list[str]:
    """Paths, on the other machine, of the files that name a recording's functions."""
    spools, _problems = read_spools(directory)
    paths: dict[str, None] = dict.fromkeys(module_paths(spools))
    for spool in spools:
        for caller in set(spool.records(waits.OSRT_CALL, waits.osrt_call).values["caller"].tolist()):
            match = _BY_ADDRESS.fullmatch(spool.text(caller))
            if match is not None:
                paths[match[1]] = None
    return [path for path in paths if ".." not in Path(path).parts and "\0" not in path][:_MOST_FILES]


class FetchedFiles:
    """Receives files of the other machine into a folder here."""

    def __init__(self, folder: Path, paths: Sequence[str]) -> None:
        self.folder, self.paths = folder, list(paths)
        self._ended = 0
        self._left = _MOST_BYTES

    @property
    def is_complete(self) -> bool:
        """Whether all files have arrived."""
        return self._ended == len(self.paths)

    def add(self, name: str, data: bytes) -> None:
        """Add content to the file with this number; no bytes mean its end.

        The files only name functions, so what exceeds the limit or the disk is left out. Raises FrameError for what
        was not asked for.
        """
        if name != str(self._ended) or self.is_complete:
            raise FrameError("a file that was not asked for")
        if not data:
            self._ended += 1
            return
        self._left -= len(data)
        if self._left < 0:
            return
        with contextlib.suppress(OSError):
            self._write(data)

    def _write(self, data: bytes) -> None:
        place = self.folder.joinpath(*Path(self.paths[self._ended]).parts[1:])
        place.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(
            place, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        with open(descriptor, "wb") as file:
            file.write(data)
