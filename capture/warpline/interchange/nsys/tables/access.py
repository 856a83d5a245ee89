"""The interface to the tables of an Nsight Systems export, as numpy columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
Float64Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

NULL = int(np.iinfo(np.int64).min)
"""A missing integer; no export stores this value."""

CHUNK_ROWS = 32_768
"""Rows read at a time: enough for numpy to be fast, few enough to stay in the cache."""


@dataclass(frozen=True)
class Batch:
    """Some rows of a table: integers as int64 (missing: `NULL`), reals as float64 (NaN), texts as bytes (None).

    A column that the table lacks is missing in every row.
    """

    rows: int
    ints: Mapping[str, Int64Array]
    reals: Mapping[str, Float64Array]
    texts: Mapping[str, Sequence[bytes | None]]

    def __getitem__(self, column: str) -> Int64Array:
        return self.ints[column]

    def masked(self, column: str) -> np.ma.MaskedArray[tuple[int, ...], np.dtype[np.int64]]:
        """An integer column with its missing values masked (and 0 under the mask)."""
        values = self.ints[column]
        missing = values == NULL
        return np.ma.MaskedArray(np.where(missing, 0, values), missing)


class TableFile(Protocol):
    """A file with tables. Reading raises ImportFormatError when the file is damaged."""

    path: Path

    def columns(self, table: str) -> frozenset[str]:
        """Names of the table's columns; empty when there is no such table."""
        ...

    def names(self) -> tuple[str, ...]:
        """All tables."""
        ...

    def count(self, table: str) -> int:
        """Number of rows, 0 when there is no such table."""
        ...

    def read(
        self,
        table: str,
        ints: Sequence[str] = (),
        reals: Sequence[str] = (),
        texts: Sequence[str] = (),
        only: tuple[str, Sequence[int]] | None = None,
        chunk_rows: int = CHUNK_ROWS,
    ) -> Iterator[Batch]:
        """The rows in file order, in batches; nothing when there is no such table.

        ``only`` selects rows in which a column has one of these values.
        """
        ...

    def close(self) -> None: ...


def read_all(tables: TableFile, table: str, ints: Sequence[str] = (), texts: Sequence[str] = ()) -> Batch:
    """All rows of a table, as one batch."""
    batches = list(tables.read(table, ints=ints, texts=texts))
    return Batch(
        sum(batch.rows for batch in batches),
        {
            name: np.concatenate([batch.ints[name] for batch in batches])
            if batches
            else np.empty(0, np.int64)
            for name in ints
        },
        {},
        {name: [text for batch in batches for text in batch.texts[name]] for name in texts},
    )


def decode(text: bytes | None) -> str:
    """The text of a cell, empty if missing; replaces invalid UTF-8."""
    return text.decode("utf-8", "replace") if text else ""


def groups(*keys: Int64Array) -> Iterator[tuple[tuple[int, ...], npt.NDArray[np.int64]]]:
    """Each combination of values in the columns, with the indexes of its rows in order."""
    rows = len(keys[0])
    if not rows:
        return
    code: Int64Array | None = None
    for key in keys:
        # Most exports have one process and one device; a constant column needs no sorting.
        if key[0] == key[-1] and (key == key[0]).all():
            continue
        values, inverse = np.unique(key, return_inverse=True)
        part = inverse.reshape(-1).astype(np.int64, copy=False)
        code = part if code is None else code * len(values) + part
    if code is None:
        yield tuple(int(key[0]) for key in keys), np.arange(rows)
        return
    order = np.argsort(code, kind="stable")
    ordered = code[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    for start, stop in zip(first, np.r_[first[1:], rows], strict=True):
        index = order[start:stop]
        yield tuple(int(key[index[0]]) for key in keys), index
