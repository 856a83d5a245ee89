"""Datasets of a capture while it is being written: contiguous columns, or compressed ones of an archive."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_ARCHIVE_CHUNK = 1 << 14
_PIECE = 1 << 20
_BUFFER_EVENTS = 1 << 17


class Datasets:
    """Makes the datasets of one file in its form: the working form, or the archive form when ``compress`` is set."""

    def __init__(self, file: h5py.File, compress: bool) -> None:
        self.file = file
        self._compress = compress

    def empty(self, group: h5py.Group, name: str, dtype: str, n: int) -> h5py.Dataset:
        """A column of ``n`` values to be filled."""
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
        return group.create_dataset(name, (n,), dtype)

    def put(self, group: h5py.Group, name: str, values: Array, dtype: str) -> h5py.Dataset:
        """A column with these values, converted to its type."""
        dataset = self.empty(group, name, dtype, len(values))
        for first in range(0, len(values), _PIECE):
            dataset[first : first + _PIECE] = values[first : first + _PIECE]
        return dataset

    def view(self, path: str, dtype: str) -> Array:
        """A written column mapped from the file, or read where it has no place of its own; flush the file before."""
        dataset = self.file[path]
        offset = dataset.id.get_offset()
        if offset is None or not dataset.shape[0]:
            return np.asarray(dataset[:], dtype)
        # A plain view: slicing a memmap object costs ten times as much.
        return np.asarray(np.memmap(self.file.filename, dtype, "r", offset=offset, shape=dataset.shape))


class Buffered:
    """Gathers neighbouring pieces of a dataset: a call of HDF5 costs as much as thousands of values."""

    def __init__(self, dataset: h5py.Dataset) -> None:
        self._dataset = dataset
        self._at = 0
        self._pieces: list[Array] = []
        self._count = 0

    def put(self, at: int, values: Array) -> None:
        if at != self._at + self._count or self._count + len(values) > _BUFFER_EVENTS:
            self.flush()
            self._at = at
        self._pieces.append(values)
        self._count += len(values)

    def flush(self) -> None:
        if self._count:
            values = self._pieces[0] if len(self._pieces) == 1 else np.concatenate(self._pieces)
            self._dataset[self._at : self._at + self._count] = values
        self._pieces = []
        self._count = 0
