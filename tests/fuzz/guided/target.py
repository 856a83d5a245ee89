"""What is fuzzed under guidance: readers that take bytes from memory, in a millisecond each."""

from __future__ import annotations

import atexit
import errno
import io
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any
from unittest import mock

from warpline.storage import CaptureBuilder
from warpline.storage.write import builder as builder_module
from warpline.storage.write.spill import SpillDirectory

Mutate = Callable[[bytes, random.Random], bytes]


class Differs(AssertionError):
    """Two readers of one input do not agree."""


@dataclass(frozen=True)
class Target:
    """Something that reads bytes. ``run`` raises a WarplineError, or nothing.

    ``seeds`` are inputs to begin with, of ``data``'s files where there are some; ``mutate`` changes what an input means
    rather than its bytes; ``words`` are pieces that inputs of the kind are made of.
    """

    name: str
    run: Callable[[bytes], None]
    seeds: Callable[[Path | None], list[bytes]]
    mutate: Mutate | None = None
    words: tuple[bytes, ...] = ()
    most_bytes: int = 8192
    preload: Callable[[], None] = field(default=lambda: None)
    """Imports what it uses inside of functions."""


class _Stream(io.BytesIO):
    """Bytes that refuse what a file on a disk refuses, and as that does."""

    def seek(self, place: int, whence: int = 0, /) -> int:
        """Raises OSError for a place before the first byte."""
        try:
            return super().seek(place, whence)
        except ValueError as error:
            raise OSError(errno.EINVAL, "Invalid argument") from error


class MemoryFile(PurePosixPath):
    """Bytes that are read like a file."""

    content: bytes

    def open(self, mode: str = "rb") -> io.BytesIO:
        """A new stream of the bytes."""
        assert mode == "rb", mode
        return _Stream(self.content)

    def stat(self) -> SimpleNamespace:
        """Its size."""
        return SimpleNamespace(st_size=len(self.content))

    def read_bytes(self) -> bytes:
        """All of it."""
        return self.content

    def read_text(self) -> str:
        """All of it, as a text file is read."""
        return io.TextIOWrapper(io.BytesIO(self.content), "utf-8").read()

    def exists(self) -> bool:
        """It does."""
        return True

    is_file = exists

    def __truediv__(self, name: object) -> MemoryFile:
        """A file of this content in it, where it is a folder."""
        made = MemoryFile(f"{self}.{name}")
        made.content = self.content
        return made

    def is_dir(self) -> bool:
        """It is none."""
        return False


def memory_file(content: bytes, name: str) -> Any:
    """A file that is nowhere; Any, since readers ask for a Path."""
    made = MemoryFile(name)
    made.content = content
    return made


class _HeldColumns(SpillDirectory):
    """Columns that stay in memory."""

    def __init__(self, parent: Path, hold_bytes: int = 0) -> None:
        self._path = parent
        self._made = 0
        self._hold_bytes = 1 << 40
        self.held_bytes = 0

    def check_space(self, nbytes: int) -> None:
        """There is enough."""

    def close(self) -> None:
        """Nothing is on a disk."""


@contextmanager
def in_memory() -> Iterator[None]:
    """Builders write nothing."""
    with mock.patch.object(builder_module, "SpillDirectory", _HeldColumns):
        yield


@contextmanager
def memory_builder() -> Iterator[CaptureBuilder]:
    """A builder that writes nothing."""
    with in_memory(), CaptureBuilder(scratch() / "none.h5") as builder:
        yield builder


def settle(builder: CaptureBuilder) -> None:
    """What `CaptureBuilder.finish` does before it writes: every event into its run."""
    builder._spill_events()
    builder.contents()


_SCRATCH = "warpline-fuzz-"


@cache
def scratch() -> Path:
    """A folder in memory, for readers that map a file; removed when the process ends, or by the next that begins."""
    shared = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path(tempfile.gettempdir())
    for left in shared.glob(f"{_SCRATCH}*-*"):
        pid = left.name.removeprefix(_SCRATCH).partition("-")[0]
        if pid.isdecimal() and not Path(f"/proc/{pid}").exists():  # it was killed
            shutil.rmtree(left, ignore_errors=True)
    folder = tempfile.TemporaryDirectory(prefix=f"{_SCRATCH}{os.getpid()}-", dir=shared)
    atexit.register(folder.cleanup)
    return Path(folder.name)


def json_cells(value: Any) -> Any:
    """A value of JSON as SQLite stores it: numbers beyond 64 bits are reals, texts are bytes."""
    if isinstance(value, bool) or value is None:
        return None if value is None else int(value)
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 63 else float(f"{'-' * (value < 0)}1e19")
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return value if isinstance(value, float) else b""
