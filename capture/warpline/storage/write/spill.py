"""Temporary columns on disk while a capture is being built."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from warpline.model import StorageError
from warpline.platform.files import remove
from warpline.platform.held_folders import TemporaryFolder
from warpline.storage.columns.disk_space import disk_error, missing_space
from warpline.storage.write.behind import WriteBehind

Array = npt.NDArray[Any]

_BLOCK_BYTES = 1 << 22
"""Large enough for huge pages."""
_MOST_SPARE = 8


class SpillDirectory:
    """A temporary directory that checks for space before it is written to and vanishes at the end.

    Leftovers of killed processes beside it are removed first. Its columns keep ``hold_bytes`` in memory before the
    first of them goes to disk; a thread writes them.
    """

    def __init__(self, parent: Path, hold_bytes: int = 0) -> None:
        try:
            self._folder = TemporaryFolder(parent)
        except OSError as error:
            raise StorageError(f"{parent}: cannot make a temporary directory: {error.strerror}") from error
        self._path = self._folder.path
        self._parent = parent
        self._made = 0
        self._hold_bytes = hold_bytes
        self.held_bytes = 0
        self.behind = WriteBehind("spill")
        self._spare: list[Array] = []

    def another(self) -> SpillDirectory:
        """A sibling for another thread, with a tenth of the memory."""
        return SpillDirectory(self._parent, self._hold_bytes // 10)

    @property
    def is_full(self) -> bool:
        """Whether the memory limit of the columns is reached."""
        return self.held_bytes > self._hold_bytes

    def column(self, dtype: npt.DTypeLike) -> SpillColumn:
        """A new empty column of this type."""
        self._made += 1
        return SpillColumn(self, f"{self._made}.column", np.dtype(dtype))

    def place(self, name: str) -> Path:
        """The path of a file of this directory."""
        return self._path / name

    def scratch(self, dtype: npt.DTypeLike, n: int) -> Array:
        """A writable column of ``n`` zeros; mapped from a file of its own once the memory limit is reached."""
        nbytes = n * np.dtype(dtype).itemsize
        if self.held_bytes + nbytes <= self._hold_bytes:
            self.held_bytes += nbytes
            return np.zeros(n, dtype)
        self.check_space(nbytes)
        self._made += 1
        return self.map(self._path / f"{self._made}.scratch", np.dtype(dtype), "w+", n)

    def map(self, path: Path, dtype: np.dtype[Any], mode: Literal["r", "w+"], n: int) -> Array:
        """Maps a file of this directory with ``n`` values."""
        mapped = np.memmap(path, dtype, mode, shape=(n,))
        self._folder.keeps(mapped._mmap)  # type: ignore[attr-defined]  # numpy has no public name for it
        # A plain view: slicing a memmap object costs ten times as much.
        return np.asarray(mapped)

    def block(self, dtype: np.dtype[Any], size: int) -> Array:
        """Room for ``size`` values."""
        if size * dtype.itemsize == _BLOCK_BYTES and self._spare:
            return self._spare.pop().view(dtype)
        return np.empty(size, dtype)

    def write(self, path: Path, parts: list[Array], block: Array) -> None:
        """Append parts to a file in the background; afterwards the block that held the last of them is reused."""

        def append() -> None:
            try:
                # Opened each time: a capture may have more columns than a process may have open files.
                with path.open("ab", buffering=0) as file:
                    for values in parts:
                        view = values.view(np.uint8).data
                        while view:
                            view = view[file.write(view) :]
            except OSError as error:
                raise disk_error(self._path.parent, error) from error
            if block.nbytes == _BLOCK_BYTES and len(self._spare) < _MOST_SPARE:
                self._spare.append(block.view(np.uint8))

        self.behind.submit(sum(values.nbytes for values in parts), append)

    def check_space(self, nbytes: int) -> None:
        """Raises StorageError when ``nbytes`` more would not fit on the disk."""
        missing = missing_space(self._path, nbytes)
        if missing is not None:
            raise StorageError(
                f"{self._path.parent}: {missing}; free some space or write the capture to another disk"
            )

    def close(self) -> None:
        self.behind.close()
        self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SpillColumn:
    """A column that grows at its end and is read back by slices. Small columns never touch the disk."""

    __slots__ = (
        "_block",
        "_directory",
        "_filled",
        "_held",
        "_name",
        "_pending",
        "_pending_count",
        "_written",
        "dtype",
    )
    _BUFFER_BYTES = 1 << 18

    def __init__(self, directory: SpillDirectory, name: str, dtype: np.dtype[Any]) -> None:
        self._directory = directory
        self._name = name
        self.dtype = dtype
        self._written = 0
        self._pending: list[Array] = []
        self._pending_count = 0
        self._block = np.empty(0, dtype)
        self._filled = 0
        self._held = 0

    def __len__(self) -> int:
        return self._written + self._pending_count + self._filled

    def append(self, values: Array) -> None:
        """Appends values, which must not change any more: large ones of the column's type are not copied."""
        if values.nbytes < self._BUFFER_BYTES or values.dtype != self.dtype or not values.flags.c_contiguous:
            self.append_copy(values)
            return
        self._close_block()
        self._pending.append(values)
        self._pending_count += len(values)
        self._hold()

    def append_copy(self, values: Array) -> None:
        """Appends a copy of values, converted to the column's type; one without dimension must be `append_one`'s."""
        done, count = 0, len(values)
        while done < count:
            room = len(self._block) - self._filled
            if not room:
                self._new_block(count - done)
                continue
            n = min(room, count - done)
            self._block[self._filled : self._filled + n] = values[done : done + n]
            self._filled += n
            done += n
        self._hold()

    def append_one(self, value: Any, count: int = 1) -> None:
        """Appends one number, ``count`` times."""
        if count == 1 and self._filled < len(self._block):
            self._block[self._filled] = value
            self._filled += 1
            return
        self.append_copy(np.broadcast_to(np.asarray(value).astype(self.dtype), count))

    def read(self) -> Array:
        """The whole column; memory-mapped when it went to disk. Valid until the next append."""
        if not self._written:
            self._close_block()
            if len(self._pending) != 1:
                self._pending = [np.concatenate([np.empty(0, self.dtype), *self._pending])]
            return self._pending[0]
        if self._pending_count or self._filled:
            self._flush()
        self._directory.behind.finish()
        return self._directory.map(self._directory.place(self._name), self.dtype, "r", self._written)

    def _new_block(self, wanted: int) -> None:
        self._close_block()
        largest = _BLOCK_BYTES // self.dtype.itemsize
        # The first holds what comes first: a capture may have tens of thousands of counters with one value each.
        size = min(max(wanted, 3 * len(self)), largest)
        self._block, self._filled = self._directory.block(self.dtype, size), 0

    def _close_block(self) -> None:
        if self._filled:
            is_full = self._filled == len(self._block)
            self._pending.append(self._block if is_full else self._block[: self._filled])
            self._pending_count += self._filled
        self._block, self._filled = np.empty(0, self.dtype), 0

    def _hold(self) -> None:
        held = (self._pending_count + self._filled) * self.dtype.itemsize
        self._directory.held_bytes += held - self._held
        self._held = held
        if self._directory.is_full and held >= self._BUFFER_BYTES:
            self._flush()

    def _flush(self) -> None:
        parts = [*self._pending, self._block[: self._filled]]
        self._directory.write(self._directory.place(self._name), parts, self._block)
        self._block = np.empty(0, self.dtype)
        self._written += self._pending_count + self._filled
        self._let_go()

    def _let_go(self) -> None:
        self._directory.held_bytes -= self._held
        self._held = 0
        self._pending = []
        self._pending_count = self._filled = 0

    def close(self) -> None:
        self._let_go()
        self._block = np.empty(0, self.dtype)
        if self._written:
            self._directory.behind.finish()
            remove(self._directory.place(self._name))
            self._written = 0
