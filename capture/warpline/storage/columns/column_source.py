"""What tables read their columns from."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from warpline.model import CaptureFormatError

Array = npt.NDArray[Any]


class ColumnSource(Protocol):
    """A capture's columns by their paths: a `MappedFile`, or columns in memory."""

    @property
    def size(self) -> int: ...
    def column(
        self, path: str, dtype: str, *, count: int | None = None, limit: int | None = None
    ) -> Array: ...
    def has(self, path: str) -> bool: ...
    def dtype_of(self, path: str) -> np.dtype[Any]: ...
    def offset_of(self, column: Array) -> int | None: ...
    def will_need(self, ranges: list[tuple[int, int]]) -> None: ...
    def error(self, reason: str) -> CaptureFormatError: ...
