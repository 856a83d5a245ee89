"""Kinds of events as a capture stores them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.model import KindSpec
from warpline.storage.columns.attribute_types import column_type
from warpline.storage.columns.mapped_file import MappedFile

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]


class KindTable:
    """All events of one kind: their rows and a column for each attribute. Columns are opened when first used."""

    def __init__(self, file: MappedFile, spec: KindSpec, code: int, n_events: int) -> None:
        """``code`` is the kind's in ``events.kind``, ``n_events`` the number of all events of the capture."""
        self.spec = spec
        self.code = code
        self.attributes = tuple(attribute.name for attribute in spec.attributes)
        self._file = file
        self._path = f"kinds/{spec.name}"
        self._n_events = n_events
        self._rows: Array | None = None
        self._sound_rows: Int64Array | None = None
        self._columns: dict[str, tuple[Array, npt.NDArray[np.bool_] | None]] = {}
        self._types = {attribute.name: column_type(attribute.dtype) for attribute in spec.attributes}

    @property
    def stored_rows(self) -> Array:
        """Rows of the events of this kind as they are stored (uint32 or int64), ascending: costs nothing to look at."""
        if self._rows is None:
            path = f"{self._path}/row"
            dtype = "<u4" if self._file.dtype_of(path) == np.dtype("<u4") else "<i8"
            self._rows = self._file.column(path, dtype, limit=self._n_events)
        return self._rows

    @property
    def rows(self) -> Int64Array:
        """Rows of the events of this kind, ascending; int64, a copy when they are stored in less.

        Damaged ones are clamped to rows of the capture.
        """
        if self._sound_rows is None:
            rows = self.stored_rows.astype(np.int64, copy=False)
            if len(rows) and not (
                bool(np.all(rows[1:] >= rows[:-1])) and rows[0] >= 0 and rows[-1] < self._n_events
            ):
                rows = np.clip(rows, 0, max(0, self._n_events - 1))
            self._sound_rows = rows
        return self._sound_rows

    def __len__(self) -> int:
        return len(self.stored_rows)

    def column(self, name: str) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Values of an attribute and which of them are valid, both as long as `rows`.

        Raises KeyError when the capture has no such attribute.
        """
        if name not in self._types:
            raise KeyError(f"kind {self.spec.name!r} has no attribute {name!r}")
        found = self._columns.get(name)
        if found is None:
            count = len(self.stored_rows)
            values = self._file.column(f"{self._path}/attributes/{name}", self._types[name], count=count)
            valid = None
            if self._file.has(f"{self._path}/valid/{name}"):
                valid = self._file.column(f"{self._path}/valid/{name}", "|u1", count=count).view(bool)
            found = self._columns[name] = (values, valid)
        values, valid = found
        return values, np.broadcast_to(np.True_, len(values)) if valid is None else valid

    def taken(self, name: str, indices: Int64Array) -> tuple[Array, npt.NDArray[np.bool_]]:
        """`column` at positions [n] that `indices_of` gave; what is not there (−1) is not valid.

        Raises KeyError when the capture has no such attribute.
        """
        values, valid = self.column(name)
        if not len(values):
            return np.zeros(len(indices), values.dtype), np.zeros(len(indices), bool)
        return values[indices], valid[indices] & (indices >= 0)

    def at(self, row: int) -> dict[str, Any]:
        """Attributes of the event in a row as Python values (strings as ids); None where missing."""
        rows = self.stored_rows
        index = int(np.searchsorted(rows, row))
        if index >= len(rows) or int(rows[index]) != row:
            return {}
        result = {}
        for name in self.attributes:
            values, valid = self.column(name)
            result[name] = values[index].item() if valid[index] else None
        return result

    def indices_of(self, rows: Int64Array) -> Int64Array:
        """Positions of rows of this kind in `rows`; −1 for a row of another kind."""
        own = self.stored_rows
        if not len(own):
            return np.full(len(rows), -1, np.int64)
        if len(rows):
            # Rows of whole lanes mostly follow each other here as well, and looking once says so.
            first = int(np.searchsorted(own, rows[:1].astype(own.dtype))[0])
            if np.array_equal(own[first : first + len(rows)], rows):
                return np.arange(first, first + len(rows))
        # In the type they are stored in: a column of millions is not copied for the sake of a few.
        index = np.minimum(np.searchsorted(own, rows.astype(own.dtype)), len(own) - 1)
        return np.where(own[index] == rows, index, -1)
