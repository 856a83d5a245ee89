"""Kinds of events as a capture stores them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.model import KindSpec
from warpline.storage.columns.attribute_types import column_type
from warpline.storage.columns.column_source import ColumnSource
from warpline.storage.columns.schema import KIND_ROW_TYPES

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]


class KindTable:
    """All events of one kind: their rows and a column for each attribute. Columns are opened when first used."""

    def __init__(self, file: ColumnSource, spec: KindSpec, code: int, n_events: int) -> None:
        """``code`` is the kind's in ``events.kind``, ``n_events`` the number of all events of the capture."""
        self.spec = spec
        self.code = code
        self.attributes = tuple(attribute.name for attribute in spec.attributes)
        self._file = file
        self._path = f"kinds/{spec.name}"
        self._n_events = n_events
        self._rows: Array | None = None
        self._index_rows: Array | None = None
        self._columns: dict[str, tuple[Array, npt.NDArray[np.bool_] | None]] = {}
        self._types = {attribute.name: column_type(attribute.dtype) for attribute in spec.attributes}

    @property
    def stored_rows(self) -> Array:
        """Rows of the events of this kind as stored (uint32 or int64), ascending; a view, not a copy.

        Search them with `places_of`, and convert them by portions with `rows_at`: numpy would copy the column.
        """
        if self._rows is None:
            path = f"{self._path}/row"
            narrow, wide = KIND_ROW_TYPES
            dtype = narrow if self._file.dtype_of(path) == np.dtype(narrow) else wide
            self._rows = self._file.column(path, dtype, limit=self._n_events)
        return self._rows

    @property
    def rows(self) -> Int64Array:
        """`index_rows` as int64; each call makes a copy when they are stored as uint32."""
        return self.index_rows.astype(np.int64, copy=False)

    @property
    def index_rows(self) -> Array:
        """`stored_rows` with damaged rows clamped to the capture's, safe as an index."""
        if self._index_rows is None:
            rows, last = self.stored_rows, max(self._n_events - 1, 0)
            is_sound = not len(rows) or (int(rows.min()) >= 0 and int(rows.max()) <= last)
            self._index_rows = rows if is_sound else np.clip(rows, 0, last)
        return self._index_rows

    def rows_at(self, places: slice | Int64Array) -> Int64Array:
        """`rows` at some indexes of the table."""
        return np.clip(self.stored_rows[places].astype(np.int64), 0, max(self._n_events - 1, 0))

    def places_of(self, rows: npt.ArrayLike) -> Int64Array:
        """For each row (int64), the table index of the first event of this kind in that row or after it."""
        stored = self.stored_rows
        # In their stored type: a column of millions must not be copied for the sake of a few.
        limits = np.iinfo(stored.dtype)
        places: Int64Array = np.searchsorted(
            stored, np.clip(rows, limits.min, limits.max).astype(stored.dtype)
        )
        return places

    def place_of(self, row: int) -> int:
        """The table index of a row; −1 for a row of another kind."""
        stored = self.stored_rows
        if not 0 <= row < self._n_events:
            return -1
        place = int(stored.searchsorted(stored.dtype.type(row)))
        return place if place < len(stored) and int(stored[place]) == row else -1

    def count_between(self, first: int, stop: int) -> int:
        """Number of events of this kind in rows [first, stop)."""
        low, high = self.places_of((first, stop)).tolist()
        return max(int(high) - int(low), 0)

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
        place = self.place_of(row)
        if place < 0:
            return {}
        result = {}
        for name in self.attributes:
            values, valid = self.column(name)
            result[name] = values[place].item() if valid[place] else None
        return result

    def indices_of(self, rows: Int64Array) -> Int64Array:
        """Positions of rows of this kind in `rows`; −1 for a row of another kind."""
        own = self.stored_rows
        if not len(own):
            return np.full(len(rows), -1, np.int64)
        if len(rows):
            # Rows of whole lanes are mostly consecutive here too, which a single look shows.
            first = int(self.places_of(rows[0]))
            if np.array_equal(own[first : first + len(rows)], rows):
                return np.arange(first, first + len(rows))
        index = np.minimum(self.places_of(rows), len(own) - 1)
        return np.where(own[index] == rows, index, -1)
