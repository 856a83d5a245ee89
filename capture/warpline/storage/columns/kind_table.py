"""Kinds of events as a capture stores them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from warpline.model import AttributeSpec, KindSpec
from warpline.storage.columns.mapped_file import MappedFile
from warpline.storage.columns.schema import MAX_KINDS

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]

MAX_ATTRIBUTES = 1024

_TYPES = frozenset(
    (
        "string",
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float32",
        "float64",
    )
)


class KindTable:
    """All events of one kind: their rows and a column for each attribute. Columns are opened when first used."""

    def __init__(self, file: MappedFile, name: str, n_events: int) -> None:
        self._file = file
        self._path = f"kinds/{name}"
        self._n_events = n_events
        self.code = int(file.attribute(self._path, "code"))
        if not 0 <= self.code < MAX_KINDS:
            raise file.error(f"kind {name} has the code {self.code}")
        self._rows: Array | None = None
        self._sound_rows: Int64Array | None = None
        self._columns: dict[str, tuple[Array, npt.NDArray[np.bool_] | None]] = {}
        names = file.names(f"{self._path}/attributes")
        if len(names) > MAX_ATTRIBUTES:
            raise file.error(f"kind {name} has {len(names)} attributes")
        attributes = tuple(self._attribute(attribute) for attribute in names)
        self.spec = KindSpec(
            name,
            str(file.attribute(self._path, "title")),
            str(file.attribute(self._path, "category")),
            str(file.attribute(self._path, "color")),
            attributes,
        )
        self.attributes = tuple(spec.name for spec in attributes)
        self._specs = {spec.name: spec for spec in attributes}

    def _attribute(self, name: str) -> AttributeSpec:
        path = f"{self._path}/attributes/{name}"
        kind = str(self._file.attribute(path, "type"))
        if kind not in _TYPES:
            raise self._file.error(f"attribute {path} has the unknown type {kind!r}")
        try:
            enum = orjson.loads(str(self._file.attribute(path, "enum"))) if self._has_enum(path) else {}
            named = {int(number): str(text) for number, text in enum.items()}
        except (ValueError, AttributeError, TypeError) as error:
            raise self._file.error(f"the enumeration of {path} is damaged") from error
        title, unit = str(self._file.attribute(path, "title")), str(self._file.attribute(path, "unit"))
        return AttributeSpec(name, kind, title, unit, named)

    def _has_enum(self, path: str) -> bool:
        return self._file.has_attribute(path, "enum")

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
        if name not in self._specs:
            raise KeyError(f"kind {self.spec.name!r} has no attribute {name!r}")
        found = self._columns.get(name)
        if found is None:
            spec = self._specs[name]
            dtype = {"string": "<u4", "bool": "|u1"}.get(spec.dtype) or np.dtype(spec.dtype).newbyteorder(
                "<"
            ).str
            count = len(self.stored_rows)
            values = self._file.column(f"{self._path}/attributes/{name}", dtype, count=count)
            valid = None
            if self._file.has(f"{self._path}/valid/{name}"):
                valid = self._file.column(f"{self._path}/valid/{name}", "|u1", count=count).view(bool)
            found = self._columns[name] = (values, valid)
        values, valid = found
        return values, np.broadcast_to(np.True_, len(values)) if valid is None else valid

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
        own = self.rows
        if not len(own):
            return np.full(len(rows), -1, np.int64)
        index = np.minimum(np.searchsorted(own, rows), len(own) - 1)
        return np.where(own[index] == rows, index, -1)
