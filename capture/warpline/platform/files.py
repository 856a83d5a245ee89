"""Files that are opened, written and replaced alike on every system."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import stat
import sys
import threading
import weakref
from functools import lru_cache
from pathlib import Path
from typing import Any

from warpline.i18n import tr

_UNSUPPORTED = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS)

if sys.platform == "win32":
    # Without O_BINARY Windows writes every "\n" as "\r\n".
    OPEN_FLAGS = os.O_NOINHERIT | os.O_BINARY
    CAN_MAP_GROWING_FILES = False
    """Whether a file can be extended while it is mapped."""

    _lock = threading.Lock()

    def write_at(descriptor: int, data: memoryview, offset: int) -> int:
        """Writes bytes at an offset and returns how many; moves the descriptor's position."""
        with _lock:
            os.lseek(descriptor, offset, os.SEEK_SET)
            return os.write(descriptor, data)

else:
    OPEN_FLAGS = os.O_CLOEXEC
    CAN_MAP_GROWING_FILES = True

    def write_at(descriptor: int, data: memoryview, offset: int) -> int:
        """Writes bytes at an offset and returns how many."""
        return os.pwrite(descriptor, data, offset)


def open_regular(path: Path) -> int:
    """Open for reading a regular file that others may have made; follows no link and waits for no FIFO.

    Raises OSError when it is anything else, or cannot be opened.
    """
    careful = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    descriptor = os.open(path, os.O_RDONLY | OPEN_FLAGS | careful)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, tr("is not a file"), str(path))
    return descriptor


def read_regular(path: Path, most_bytes: int) -> bytes:
    """The content of a file as `open_regular` opens it. Raises OSError also when it is longer than ``most_bytes``."""
    with open(open_regular(path), "rb") as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, tr("is larger than {size} bytes", size=most_bytes), str(path))
    return data


if sys.platform == "linux":

    def map_for_reading(descriptor: int, nbytes: int) -> memoryview:
        """Bytes of a file, which can be closed: `mmap.mmap` keeps a descriptor for each map. Raises OSError."""
        import ctypes

        library = _mapping_library()
        address = library.mmap(None, nbytes, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
        if address == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        content = (ctypes.c_ubyte * nbytes).from_address(address)
        weakref.finalize(content, library.munmap, address, nbytes).atexit = False
        return memoryview(content).toreadonly()

    @lru_cache(maxsize=1)
    def _mapping_library() -> Any:
        import ctypes

        library = ctypes.CDLL(None, use_errno=True)
        library.mmap.restype = ctypes.c_void_p
        library.mmap.argtypes = [
            ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
        ]  # fmt: skip
        library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        return library

    def reserve(descriptor: int, offset: int, nbytes: int) -> bool:
        """Reserves disk space; False where the file system cannot. Raises OSError when the disk is full."""
        try:
            os.posix_fallocate(descriptor, offset, nbytes)
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
            return False
        return True

else:

    def map_for_reading(descriptor: int, nbytes: int) -> memoryview:
        """Bytes of a file, which can be closed. Raises OSError."""
        return memoryview(mmap.mmap(descriptor, nbytes, access=mmap.ACCESS_READ))

    def reserve(descriptor: int, offset: int, nbytes: int) -> bool:
        """False: this system cannot reserve disk space."""
        del descriptor, offset, nbytes
        return False


if sys.platform == "win32":
    FILES_HAVE_OWNERS = False

    def is_mine_alone(status: os.stat_result) -> bool:
        """False: on this system, a file's status does not show its owner."""
        del status
        return False

else:
    FILES_HAVE_OWNERS = True

    def is_mine_alone(status: os.stat_result) -> bool:
        """Whether a file is this user's and no other user may write it."""
        return status.st_uid == os.getuid() and not status.st_mode & 0o022


def will_need(mapped: mmap.mmap, first: int, stop: int) -> None:
    """Tell the system that these bytes of a map will be read next, so that it loads their pages together."""
    if hasattr(mapped, "madvise") and hasattr(mmap, "MADV_WILLNEED"):
        first -= first % mmap.PAGESIZE
        with contextlib.suppress(OSError):  # only advice: a truncated file has no such pages
            mapped.madvise(mmap.MADV_WILLNEED, first, max(1, stop - first))


class FileInUseError(OSError):
    """A file cannot be replaced or removed because a program has it open or mapped (Windows)."""


def remove(path: Path) -> None:
    """Remove a temporary file, if it exists. On Windows, a mapped file stays, and is removed with its folder."""
    try:
        path.unlink(missing_ok=True)
    except PermissionError:
        if sys.platform != "win32":
            raise


def replace(made: Path, path: Path) -> None:
    """Rename a file to ``path``, replacing any file there. Raises FileInUseError and OSError."""
    try:
        made.replace(path)
    except PermissionError as error:
        if sys.platform == "win32" and path.is_file():
            reason = tr("it is open in Warpline or another program; close it there, or choose another name")
            raise FileInUseError(error.errno, reason, str(path)) from error
        raise
