"""A new HDF5 file whose disk space is reserved before HDF5 writes into it.

HDF5 does not survive that its own directories cannot be written (a quota, a limit on the size of files, a full disk):
it tries again whenever something of the file is let go, tells of each time and ends the process at last. So room is
asked of the system first, which refuses in a way that can be told.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import h5py

from warpline.memory_room import require_memory
from warpline.storage.columns.schema import ALIGNMENT

_DIRECTORY_BYTES = 1 << 16
"""Upper bound of the metadata that HDF5 writes between two columns."""
_SHARE = 64
"""HDF5's metadata of the chunks of compressed columns is less than this fraction of them (one part in so many)."""
_UNSUPPORTED = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS)
_END_OF_FILE = struct.Struct("<28xQ")
"""In the superblock of version 2 and 3 (HDF5 File Format Specification, II.A)."""


class Room:
    """The disk space reserved for a file."""

    def __init__(self, file: h5py.File, descriptor: int) -> None:
        self._file = file
        self._descriptor = descriptor
        self._reserved = 0 if hasattr(os, "posix_fallocate") else sys.maxsize

    def reserve(self, nbytes: int) -> None:
        """Reserves so many more bytes, and HDF5's metadata of them. Raises OSError when the disk is full."""
        wanted = int(self._file.id.get_filesize()) + nbytes + nbytes // _SHARE + _DIRECTORY_BYTES
        if wanted <= self._reserved:
            return
        try:
            os.posix_fallocate(self._descriptor, self._reserved, wanted - self._reserved)
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
            wanted = sys.maxsize
        self._reserved = wanted


@contextlib.contextmanager
def new_file(path: Path, *, overwrite: bool = False) -> Iterator[tuple[h5py.File, Room]]:
    """Creates a file. Leaving the block closes it, even when it can no longer be written. Raises OSError."""
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        file = _create(path, h5py.h5f.ACC_TRUNC if overwrite else h5py.h5f.ACC_EXCL)
        descriptor = file.id.get_vfd_handle()
        try:
            room = Room(file, descriptor)
            room.reserve(0)
            yield file, room
            file.flush()
        except BaseException:
            os.dup2(nowhere, descriptor, inheritable=False)
            with contextlib.suppress(OSError, RuntimeError):
                file.close()
            raise
        file.close()
        _cut(path)
    except RuntimeError as error:  # as h5py calls what HDF5 could not write
        raise OSError(str(error)) from error
    finally:
        os.close(nowhere)


def _create(path: Path, flags: int) -> h5py.File:
    require_memory()
    access, creation = (h5py.h5p.create(kind) for kind in (h5py.h5p.FILE_ACCESS, h5py.h5p.FILE_CREATE))
    # The newest file format keeps checksums of its directories, so damage is noticed instead of followed.
    access.set_libver_bounds(h5py.h5f.LIBVER_LATEST, h5py.h5f.LIBVER_LATEST)
    access.set_alignment(ALIGNMENT, ALIGNMENT)
    # Values are written past HDF5, which must keep none of its own to write over them later.
    access.set_sieve_buf_size(0)
    creation.set_obj_track_times(False)
    return h5py.File(h5py.h5f.create(os.fsencode(path), flags, creation, access))


def _cut(path: Path) -> None:
    """Releases the space that was not used."""
    with path.open("rb") as file:
        (end,) = _END_OF_FILE.unpack(file.read(_END_OF_FILE.size))
    if end < path.stat().st_size:
        os.truncate(path, end)
