"""Datasets of a capture while it is being written: contiguous columns, or compressed ones of an archive."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Self

import h5py
import numpy as np
import numpy.typing as npt

from warpline.platform.files import CAN_MAP_GROWING_FILES, OPEN_FLAGS, write_at
from warpline.storage.columns.new_file import Room
from warpline.storage.columns.stored_text import set_attribute
from warpline.storage.write.behind import WriteBehind

Array = npt.NDArray[Any]

_ARCHIVE_CHUNK = 1 << 14
_PIECE = 1 << 20
_BUFFER_EVENTS = 1 << 17
_FIRST_BYTES = 1 << 12
"""How much of a column HDF5 writes, which gives the column its place."""


class Hdf5Datasets:
    """Makes the datasets of one file in its form: the working form, or the archive form when ``compress`` is set.

    A thread writes the values of contiguous columns while the next ones are made. The first of each column are written
    at once, which is when the column gets its place in the file; so a file does not depend on who was quicker. Leaving
    the ``with`` block waits for the thread.
    """

    def __init__(self, file: h5py.File, room: Room, compress: bool) -> None:
        self.file = file
        self._room = room
        self._compress = compress
        self._behind = WriteBehind("datasets")
        # What h5py gives every dataset, at a fraction of its time.
        self._plain = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        self._plain.set_obj_track_times(False)
        self._plain.set_attr_creation_order(0)
        self._descriptor = os.open(file.filename, os.O_WRONLY | OPEN_FLAGS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._behind.finish()
        finally:
            self._behind.close()
            os.close(self._descriptor)

    def flush(self) -> None:
        """Completes all pending writes to the file."""
        self._behind.finish()
        self.file.flush()

    def set_attribute(self, node: h5py.Group | h5py.Dataset, name: str, value: str | int) -> None:
        """Describes a group or column."""
        set_attribute(node, name, value)

    def write(self, dataset: h5py.Dataset, at: int, values: Array) -> None:
        """Writes values from index ``at`` on, at the latest with the next `flush`; until then they must not change."""
        if not len(values):
            return
        held, offset = dataset.id.dtype, dataset.id.get_offset()
        if offset is None:
            if len(values) == dataset.shape[0] and values.nbytes <= _FIRST_BYTES:
                dataset.id.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(values))
                return
            first = min(len(values), _FIRST_BYTES // held.itemsize)
            dataset[at : at + first] = values[:first]
            at, values = at + first, values[first:]
            offset = dataset.id.get_offset()
        if offset is None:
            dataset[at : at + len(values)] = values
        elif values.dtype == held:
            # Written past HDF5, which blocks every other thread: an allocated column is plain bytes.
            place = offset + at * held.itemsize
            self._behind.submit(values.nbytes, lambda: self._put_bytes(values, place))
        else:
            where = slice(at, at + len(values))
            self._behind.submit(values.nbytes, lambda: dataset.__setitem__(where, values))

    def _put_bytes(self, values: Array, place: int) -> None:
        view = np.ascontiguousarray(values).view(np.uint8).data
        while view:
            written = write_at(self._descriptor, view, place)
            view, place = view[written:], place + written

    def empty(self, group: h5py.Group, name: str, dtype: str, n: int) -> h5py.Dataset:
        """Creates a column of ``n`` values to be filled. Raises OSError when the disk is full."""
        self._room.reserve(n * np.dtype(dtype).itemsize)
        if self._compress and n:
            return group.create_dataset(
                name,
                (n,),
                dtype,
                chunks=(min(n, _ARCHIVE_CHUNK),),
                compression="gzip",
                compression_opts=1,
                shuffle=True,
            )
        kind, space = h5py.h5t.py_create(np.dtype(dtype), logical=True), h5py.h5s.create_simple((n,))
        return h5py.Dataset(h5py.h5d.create(group.id, name.encode(), kind, space, dcpl=self._plain))

    def put(self, group: h5py.Group, name: str, values: Array, dtype: str) -> h5py.Dataset:
        """Writes a column of these values, converted to its type."""
        dataset = self.empty(group, name, dtype, len(values))
        for first in range(0, len(values), _PIECE):
            self.write(dataset, first, values[first : first + _PIECE])
        return dataset

    def buffered(self, dataset: h5py.Dataset) -> Buffered:
        """A writer that collects small pieces for a dataset."""
        return Buffered(self, dataset)

    def view(self, path: str, dtype: str) -> Array:
        """Map a written column, or read it when it is not contiguous; flush the file first."""
        dataset = self.file[path]
        offset = dataset.id.get_offset()
        # On Windows HDF5 cannot extend a file that is mapped.
        if offset is None or not dataset.shape[0] or not CAN_MAP_GROWING_FILES:
            return np.asarray(dataset[:], dtype)
        # A plain view: slicing a memmap object costs ten times as much.
        return np.asarray(np.memmap(self.file.filename, dtype, "r", offset=offset, shape=dataset.shape))


class Buffered:
    """Gathers neighbouring pieces of a dataset: a call of HDF5 costs as much as thousands of values."""

    def __init__(self, out: Hdf5Datasets, dataset: h5py.Dataset) -> None:
        self._out = out
        self._dataset = dataset
        self._at = 0
        self._pieces: list[Array] = []
        self._count = 0

    def put(self, at: int, values: Array) -> None:
        """Write values from index ``at`` on. They are kept until the next flush: the caller must not change them."""
        if at != self._at + self._count or self._count + len(values) > _BUFFER_EVENTS:
            self.flush()
            self._at = at
        self._pieces.append(values)
        self._count += len(values)

    def flush(self) -> None:
        if self._count:
            values = self._pieces[0] if len(self._pieces) == 1 else np.concatenate(self._pieces)
            self._out.write(self._dataset, self._at, values)
        self._pieces = []
        self._count = 0
