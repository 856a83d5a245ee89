"""A new HDF5 file whose disk space is reserved before HDF5 writes into it.

HDF5 crashes when it cannot write its own metadata (a quota, a file-size limit, a full disk): it tries again at every
close, prints an error each time, and finally aborts the process. So the space is reserved first; the system refuses
with an ordinary error.
"""

from __future__ import annotations

import contextlib
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import h5py

from warpline.memory_room import require_memory
from warpline.platform.files import OPEN_FLAGS, reserve
from warpline.storage.columns.schema import ALIGNMENT

_DIRECTORY_BYTES = 1 << 16
"""Upper bound of the metadata that HDF5 writes between two columns, in bytes."""
_SHARE = 64
"""Metadata of compressed columns takes less than 1/64 of their size."""
_END_OF_FILE = struct.Struct("<28xQ")
"""In the superblock of version 2 and 3 (HDF5 File Format Specification, II.A)."""


class Room:
    """The disk space reserved for a file."""

    def __init__(self, file: h5py.File, descriptor: int) -> None:
        self._file = file
        self._descriptor = descriptor
        self._reserved = 0

    def reserve(self, nbytes: int) -> None:
        """Reserve `nbytes` more, and room for HDF5's metadata about them. Raises OSError when the disk is full."""
        wanted = int(self._file.id.get_filesize()) + nbytes + nbytes // _SHARE + _DIRECTORY_BYTES
        if wanted <= self._reserved:
            return
        is_reserved = reserve(self._descriptor, self._reserved, wanted - self._reserved)
        self._reserved = wanted if is_reserved else sys.maxsize


@contextlib.contextmanager
def new_file(path: Path, *, overwrite: bool = False) -> Iterator[tuple[h5py.File, Room]]:
    """Create a file; leaving the block closes it, even when it can no longer be written. Raises OSError."""
    nowhere = os.open(os.devnull, os.O_RDWR | OPEN_FLAGS)
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
        _release_unused(path)
    except RuntimeError as error:  # how h5py reports a failed write
        raise OSError(str(error)) from error
    finally:
        os.close(nowhere)


def _create(path: Path, flags: int) -> h5py.File:
    require_memory()
    access, creation = (h5py.h5p.create(kind) for kind in (h5py.h5p.FILE_ACCESS, h5py.h5p.FILE_CREATE))
    # Directories have checksums since HDF5 1.8, so damage is noticed. Anything newer than 1.10 would shut out the
    # older h5py versions that Warpline allows.
    access.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_V110)
    access.set_alignment(ALIGNMENT, ALIGNMENT)
    # Values are written past HDF5, so it must not buffer any that it would write over them later.
    access.set_sieve_buf_size(0)
    creation.set_obj_track_times(False)
    return h5py.File(h5py.h5f.create(os.fsencode(path), flags, creation, access))


def _release_unused(path: Path) -> None:
    """Give back the reserved space that was not used."""
    with path.open("rb") as file:
        (end,) = _END_OF_FILE.unpack(file.read(_END_OF_FILE.size))
    if end < path.stat().st_size:
        os.truncate(path, end)
