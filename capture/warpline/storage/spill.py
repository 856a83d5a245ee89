"""Temporary columns on disk while a capture is being built."""

from __future__ import annotations

import errno
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
import numpy.typing as npt

from warpline.model import StorageError

Array = npt.NDArray[Any]

_RESERVE_BYTES = 64 << 20


class SpillDirectory:
    """A temporary directory that checks for space before it is written to and vanishes at the end."""

    def __init__(self, parent: Path) -> None:
        try:
            self._path = Path(tempfile.mkdtemp(prefix=".warpline-", dir=parent))
        except OSError as error:
            raise StorageError(f"{parent}: cannot make a temporary directory: {error.strerror}") from error
        self._columns: list[SpillColumn] = []
        self._scratch = 0

    def column(self, dtype: npt.DTypeLike) -> SpillColumn:
        """A new empty column of this type."""
        column = SpillColumn(self._path / f"{len(self._columns)}.column", np.dtype(dtype))
        self._columns.append(column)
        return column

    def scratch(self, dtype: npt.DTypeLike, n: int) -> Array:
        """A writable column of ``n`` zeros in a file of its own, mapped so that it need not fit into memory."""
        self.check_space(n * np.dtype(dtype).itemsize)
        self._scratch += 1
        return np.memmap(self._path / f"scratch.{self._scratch}", np.dtype(dtype), "w+", shape=(n,))

    def check_space(self, nbytes: int) -> None:
        """Raises StorageError when ``nbytes`` more would not fit on the disk."""
        free = shutil.disk_usage(self._path).free
        if free < nbytes + _RESERVE_BYTES:
            raise StorageError(
                f"{self._path.parent}: {nbytes >> 20} MiB are needed and {free >> 20} MiB are free; "
                "free some space or write the capture to another disk"
            )

    def close(self) -> None:
        for column in self._columns:
            column.close()
        shutil.rmtree(self._path, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SpillColumn:
    """A column that grows at its end and is read back by slices. Small columns never touch the disk."""

    _BUFFER_BYTES = 1 << 18

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        self._path = path
        self.dtype = dtype
        self._file: BinaryIO | None = None
        self._written = 0
        self._pending: list[Array] = []
        self._pending_count = 0

    def __len__(self) -> int:
        return self._written + self._pending_count

    def append(self, values: Array) -> None:
        """Appends values; they are copied unless they already have the column's type."""
        values = np.ascontiguousarray(values, self.dtype)
        if not len(values):
            return
        self._pending.append(values)
        self._pending_count += len(values)
        if self._pending_count * self.dtype.itemsize >= self._BUFFER_BYTES:
            self._flush()

    def read(self) -> Array:
        """The whole column; memory-mapped when it went to disk. Valid until the next append."""
        if self._file is None:
            return np.concatenate([np.empty(0, self.dtype), *self._pending])
        self._flush()
        return np.memmap(self._path, self.dtype, "r", shape=(self._written,))

    def _flush(self) -> None:
        try:
            if self._file is None:
                self._file = self._path.open("wb", buffering=0)
            for values in self._pending:
                view = values.view(np.uint8).data
                while view:
                    view = view[self._file.write(view) :]
        except OSError as error:
            raise disk_error(self._path.parent.parent, error) from error
        self._written += self._pending_count
        self._pending = []
        self._pending_count = 0

    def close(self) -> None:
        self._pending = []
        if self._file is not None:
            self._file.close()


def disk_error(path: Path, error: OSError) -> StorageError:
    """An error of the operating system as one that says what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(f"{path}: the disk is full; free some space or write the capture to another disk")
    return StorageError(f"{path}: cannot be written: {error.strerror or error}")
