"""Temporary columns on disk while a capture is being built."""

from __future__ import annotations

import errno
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from warpline.model import StorageError

Array = npt.NDArray[Any]

_RESERVE_BYTES = 64 << 20


class SpillDirectory:
    """A temporary directory that checks for space before it is written to and vanishes at the end.

    Its columns keep ``hold_bytes`` in memory before the first of them goes to the disk.
    """

    def __init__(self, parent: Path, hold_bytes: int = 0) -> None:
        try:
            self._path = Path(tempfile.mkdtemp(prefix=".warpline-", dir=parent))
        except OSError as error:
            raise StorageError(f"{parent}: cannot make a temporary directory: {error.strerror}") from error
        self._made = 0
        self._hold_bytes = hold_bytes
        self.held_bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether columns hold as much as they may."""
        return self.held_bytes > self._hold_bytes

    def column(self, dtype: npt.DTypeLike) -> SpillColumn:
        """A new empty column of this type."""
        self._made += 1
        return SpillColumn(self, self._path / f"{self._made}.column", np.dtype(dtype))

    def scratch(self, dtype: npt.DTypeLike, n: int) -> Array:
        """A writable column of ``n`` zeros; beyond what may be held, in a file of its own, mapped."""
        nbytes = n * np.dtype(dtype).itemsize
        if self.held_bytes + nbytes <= self._hold_bytes:
            self.held_bytes += nbytes
            return np.zeros(n, dtype)
        self.check_space(nbytes)
        self._made += 1
        return np.memmap(self._path / f"{self._made}.scratch", np.dtype(dtype), "w+", shape=(n,))

    def check_space(self, nbytes: int) -> None:
        """Raises StorageError when ``nbytes`` more would not fit on the disk."""
        free = shutil.disk_usage(self._path).free
        if free < nbytes + _RESERVE_BYTES:
            raise StorageError(
                f"{self._path.parent}: {nbytes >> 20} MiB are needed and {free >> 20} MiB are free; "
                "free some space or write the capture to another disk"
            )

    def close(self) -> None:
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
    _SMALL = 1 << 10

    def __init__(self, directory: SpillDirectory, path: Path, dtype: np.dtype[Any]) -> None:
        self._directory = directory
        self._path = path
        self.dtype = dtype
        self._written = 0
        self._pending: list[Array] = []
        self._pending_count = 0
        self._small: list[Array] = []
        self._small_count = 0
        self._singles: list[Any] = []

    def __len__(self) -> int:
        return self._written + self._pending_count + self._small_count + len(self._singles)

    def append(self, values: Array) -> None:
        """Appends values; they are copied unless they already have the column's type."""
        if values.dtype is not self.dtype or not values.flags.c_contiguous:
            values = np.ascontiguousarray(values, self.dtype)
        if self._singles:
            self._gather()
        count = len(values)
        if count < self._SMALL:
            # An array of one number costs a hundred bytes: small ones are gathered before they are kept.
            self._small.append(values)
            self._small_count += count
            if len(self._small) >= self._SMALL:
                self._gather()
            return
        if self._small:
            self._gather()
        self._keep(values)

    def append_one(self, value: Any) -> None:
        """Appends one number that fits the column's type: costs a tenth of an array of it."""
        if self._small:
            self._gather()
        self._singles.append(value)
        if len(self._singles) >= 1 << 12:
            self._gather()

    def read(self) -> Array:
        """The whole column; memory-mapped when it went to disk. Valid until the next append."""
        self._gather()
        if not self._written:
            if len(self._pending) != 1:
                self._pending = [np.concatenate([np.empty(0, self.dtype), *self._pending])]
            return self._pending[0]
        if self._pending_count:
            self._flush()
        # A plain view: slicing a memmap object costs ten times as much.
        return np.asarray(np.memmap(self._path, self.dtype, "r", shape=(self._written,)))

    def _gather(self) -> None:
        small, singles = self._small, self._singles
        self._small, self._small_count, self._singles = [], 0, []
        if small:
            self._keep(np.concatenate(small))
        if singles:
            self._keep(np.array(singles, self.dtype))

    def _keep(self, values: Array) -> None:
        self._pending.append(values)
        self._pending_count += len(values)
        self._directory.held_bytes += values.nbytes
        if self._directory.is_full and self._pending_count * self.dtype.itemsize >= self._BUFFER_BYTES:
            self._flush()

    def _flush(self) -> None:
        try:
            # Opened each time: a capture may have more columns than a process may have open files.
            with self._path.open("ab", buffering=0) as file:
                for values in self._whole_pieces():
                    view = values.view(np.uint8).data
                    while view:
                        view = view[file.write(view) :]
        except OSError as error:
            raise disk_error(self._path.parent.parent, error) from error
        self._written += self._pending_count
        self._let_go()

    def _whole_pieces(self) -> list[Array]:
        """What waits, in pieces worth a call."""
        if self._pending_count * self.dtype.itemsize > 64 * len(self._pending) << 10:
            return self._pending
        return [np.concatenate(self._pending)]

    def _let_go(self) -> None:
        self._directory.held_bytes -= self._pending_count * self.dtype.itemsize
        self._pending = []
        self._pending_count = 0

    def close(self) -> None:
        self._let_go()
        self._small, self._small_count, self._singles = [], 0, []
        if self._written:
            self._path.unlink(missing_ok=True)
            self._written = 0


def disk_error(path: Path, error: OSError) -> StorageError:
    """An error of the operating system as one that says what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(f"{path}: the disk is full; free some space or write the capture to another disk")
    return StorageError(f"{path}: cannot be written: {error.strerror or error}")
