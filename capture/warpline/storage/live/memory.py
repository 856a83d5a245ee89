"""Columns in memory, named as in a capture's file; some are made when they are first read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.model import CaptureFormatError

Array = npt.NDArray[Any]


class MemoryColumns:
    """The columns by their paths; a function stands for a column and is called once, when it is first read."""

    size = 0

    def __init__(self, columns: dict[str, Array | Callable[[], Array]]) -> None:
        self._columns = columns

    def column(self, path: str, dtype: str, *, count: int | None = None, limit: int | None = None) -> Array:  # noqa: ARG002  # for files, which are not trusted
        """The column at a path."""
        found = self._columns[path]
        if not isinstance(found, np.ndarray):
            found = self._columns[path] = found()
        return found

    def has(self, path: str) -> bool:
        """Whether there is a column or a group of columns at a path."""
        return path in self._columns or any(name.startswith(f"{path}/") for name in self._columns)

    def dtype_of(self, path: str) -> np.dtype[Any]:
        """The type of a column."""
        return self.column(path, "").dtype

    def offset_of(self, column: Array) -> int | None:  # noqa: ARG002  # no column lies in a file
        """None: no column lies in a file."""
        return None

    def will_need(self, ranges: list[tuple[int, int]]) -> None:
        """Nothing is read from a disk."""

    def error(self, reason: str) -> CaptureFormatError:
        """An error about these columns."""
        return CaptureFormatError(reason)

    def make_all(self) -> None:
        """Make every column that was not read yet."""
        for path in self._columns:
            self.column(path, "")
