"""Finds the files of the machine a recording was made on: the same path here may be another file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

_NOWHERE = Path("/nonexistent")
_folder: ContextVar[Path | None] = ContextVar("folder", default=None)


@contextlib.contextmanager
def files_in(folder: Path | None) -> Iterator[None]:
    """In this context the recorded machine's files lie below ``folder``; None for this machine."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


def of_another_machine() -> Path:
    """A folder for `files_in` when no file of the other machine is here."""
    return _NOWHERE


def is_elsewhere() -> bool:
    """Whether the recorded machine is another one."""
    return _folder.get() is not None


def machine_file(path: str | Path) -> Path:
    """Where a file of the recorded machine is here; it may not exist."""
    folder = _folder.get()
    if folder is None:
        return Path(path)
    parts = Path(path).parts
    if ".." in parts:
        return _NOWHERE
    return folder.joinpath(*parts[1:]) if parts[:1] == ("/",) else _NOWHERE
