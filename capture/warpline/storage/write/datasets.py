"""Datasets of a capture while it is being written: contiguous columns, or compressed ones of an archive."""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import h5py
import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from concurrent.futures import Future

Array = npt.NDArray[Any]

_ARCHIVE_CHUNK = 1 << 14
_PIECE = 1 << 20
_BUFFER_EVENTS = 1 << 17
_AHEAD_BYTES = 32 << 20
"""How much may wait to be written."""


class Datasets:
    """Makes the datasets of one file in its form: the working form, or the archive form when ``compress`` is set.

    A thread writes the values of contiguous columns while the next ones are made: HDF5 lets others run meanwhile. The
    first of each column are written at once, which is when the column gets its place in the file; so a file does not
    depend on who was quicker. Leaving the ``with`` block waits for the thread.
    """

    def __init__(self, file: h5py.File, compress: bool) -> None:
        # The first frame of a window imports this module, and needs no thread.
        from concurrent.futures import ThreadPoolExecutor

        self.file = file
        self._compress = compress
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="datasets")
        self._coming: deque[tuple[int, Future[None]]] = deque()
        self._coming_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._finish_writes(0)
        finally:
            self._thread.shutdown(cancel_futures=True)

    def flush(self) -> None:
        """Everything that was written so far is in the file now."""
        self._finish_writes(0)
        self.file.flush()

    def write(self, dataset: h5py.Dataset, at: int, values: Array) -> None:
        """Writes values, which must not change any more, from index ``at`` on; perhaps only by the next `flush`."""
        place = slice(at, at + len(values))
        if dataset.id.get_offset() is None:
            dataset[place] = values
            return
        self._finish_writes(_AHEAD_BYTES)
        self._coming.append((values.nbytes, self._thread.submit(dataset.__setitem__, place, values)))
        self._coming_bytes += values.nbytes

    def _finish_writes(self, at_most: int) -> None:
        """Waits until no more bytes than that are on their way."""
        while self._coming_bytes > at_most:
            size, write = self._coming.popleft()
            self._coming_bytes -= size
            write.result()

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
            self.write(dataset, first, values[first : first + _PIECE])
        return dataset

    def buffered(self, dataset: h5py.Dataset) -> Buffered:
        """Gathers what is written to a dataset."""
        return Buffered(self, dataset)

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

    def __init__(self, out: Datasets, dataset: h5py.Dataset) -> None:
        self._out = out
        self._dataset = dataset
        self._at = 0
        self._pieces: list[Array] = []
        self._count = 0

    def put(self, at: int, values: Array) -> None:
        """Values from index ``at`` on, which must not change any more."""
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
