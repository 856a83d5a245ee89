"""Temporary folders that are always removed: when closed, or at the latest before the next one is created there.

The process that uses a folder holds a lock on it, which the system releases when the process ends for any reason. A
folder without a lock was left by a process that was killed.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path

from warpline.platform.files import OPEN_FLAGS

PREFIX = ".warpline-spill-"
_ATTEMPTS = 16


class TemporaryFolder:
    """A new folder in ``parent``, readable only by its owner; `close` removes it. Leftover folders are removed first.

    Raises OSError when it cannot be created.
    """

    def __init__(self, parent: Path) -> None:
        sweep(parent)
        for _attempt in range(_ATTEMPTS):
            path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
            held = hold(path)
            # Another process may have swept it away as a leftover before we locked it.
            if held is not None and path.is_dir():
                break
            if held is not None:
                os.close(held)
        else:
            raise OSError(f"{parent}: temporary folders disappear while they are created")
        self.path = path
        self._held = held

    def keeps(self, mapped: mmap.mmap) -> None:
        """Registers a map of a file in the folder. Windows removes no mapped file: a closed folder is removed with its
        last map there.
        """
        if sys.platform == "win32":
            weakref.finalize(mapped, _remove_closed, self.path, lambda: self._held < 0)

    def close(self) -> None:
        """Removes the folder and its contents."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._held >= 0:
            os.close(self._held)
            self._held = -1
        if self.path.exists():
            # `rmtree` ran out of descriptors, or Windows kept the lock file; closing the lock has freed both.
            with contextlib.suppress(OSError):
                for name in os.listdir(self.path):
                    (self.path / name).unlink()
                self.path.rmdir()


def sweep(parent: Path) -> None:
    """Removes temporary folders that no process uses; those that cannot be removed stay."""
    with contextlib.suppress(OSError):
        leftovers = [entry.path for entry in os.scandir(parent) if entry.name.startswith(PREFIX)]
        for path in leftovers:
            _remove_unused(Path(path))


if sys.platform == "win32":
    _LOCK = ".held"
    """An open file in the folder, which Windows does not remove."""

    def hold(path: Path, *, alone: bool = False) -> int | None:
        """As below. Windows can always tell whether another process holds the lock."""
        del alone
        lock = path / _LOCK
        try:
            lock.unlink(missing_ok=True)
            return os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY | OPEN_FLAGS)
        except (FileNotFoundError, PermissionError, FileExistsError):
            return None

    def _remove_unused(path: Path) -> None:
        with contextlib.suppress(OSError):
            held = hold(path, alone=True)
            if held is not None:
                os.close(held)
                shutil.rmtree(path, ignore_errors=True)

    def _remove_closed(path: Path, is_closed: Callable[[], bool]) -> None:
        if is_closed():
            shutil.rmtree(path, ignore_errors=True)

else:
    import fcntl

    def hold(path: Path, *, alone: bool = False) -> int | None:
        """Locks a folder for this process until the returned descriptor is closed; None when another process has it.

        On a file system without locks, returns a descriptor anyway; with ``alone``, which asks for certainty, None.

        Raises OSError when the folder cannot be opened; a symbolic link is not followed.
        """
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | OPEN_FLAGS)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:
            if alone:
                os.close(descriptor)
                return None
        return descriptor

    def _remove_unused(path: Path) -> None:
        with contextlib.suppress(OSError):
            if path.lstat().st_uid != os.geteuid():
                return
            held = hold(path, alone=True)
            if held is not None:
                shutil.rmtree(path, ignore_errors=True)
                os.close(held)
