"""Reads the HDF5 export of Nsight Systems: each table is a one-dimensional compound dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from warpline.i18n import tr
from warpline.interchange.nsys.tables.access import CHUNK_ROWS, NULL, Batch
from warpline.memory_room import require_memory
from warpline.model import ImportFormatError
from warpline.storage.columns.why_unreadable import why_unreadable


class Hdf5Tables:
    """`TableFile` for HDF5, read-only. Raises ImportFormatError for an invalid HDF5 file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        require_memory()
        try:
            self._file = h5py.File(path, "r")
            self._tables = self._find_tables()
        except (OSError, RuntimeError, ValueError, KeyError, TypeError) as error:
            raise self._damaged() from error

    def _find_tables(self) -> dict[str, h5py.Dataset]:
        tables: dict[str, h5py.Dataset] = {}
        for name in self._file:
            # Soft and external links may lead out of the file.
            if not isinstance(self._file.get(name, getlink=True), h5py.HardLink):
                continue
            item = self._file.get(name)
            if (
                isinstance(item, h5py.Dataset)
                and item.ndim == 1
                and item.dtype.names
                and not item.is_virtual
                and not item.external
            ):
                tables[name] = item
        return tables

    def _damaged(self) -> ImportFormatError:
        return ImportFormatError(
            tr(
                "{path} cannot be read: {reason}. Export the report again: {command}",
                path=self.path,
                reason=why_unreadable(self.path, self.path.stat().st_size),
                command="nsys export --type hdf --force-overwrite true REPORT.nsys-rep",
            )
        )

    def columns(self, table: str) -> frozenset[str]:
        dataset = self._tables.get(table)
        return frozenset(dataset.dtype.names) if dataset is not None else frozenset()

    def names(self) -> tuple[str, ...]:
        return tuple(self._tables)

    def count(self, table: str) -> int:
        dataset = self._tables.get(table)
        return len(dataset) if dataset is not None else 0

    def read(
        self,
        table: str,
        ints: Sequence[str] = (),
        reals: Sequence[str] = (),
        texts: Sequence[str] = (),
        only: tuple[str, Sequence[int]] | None = None,
        chunk_rows: int = CHUNK_ROWS,
    ) -> Iterator[Batch]:
        dataset = self._tables.get(table)
        if dataset is None:
            return
        have = dataset.dtype.names or ()
        if only is not None and only[0] not in have:
            return
        extra = () if only is None else (only[0],)
        wanted = [name for name in dict.fromkeys((*ints, *reals, *texts, *extra)) if name in have]
        for first in range(0, len(dataset), chunk_rows):
            try:
                rows = dataset.fields(wanted)[first : first + chunk_rows] if wanted else None
            except (OSError, RuntimeError, ValueError, TypeError) as error:
                raise self._damaged() from error
            count = min(chunk_rows, len(dataset) - first)
            if only is not None and rows is not None:
                rows = rows[np.isin(rows[only[0]], only[1])]
                count = len(rows)
            column = {name: rows[name] for name in wanted} if rows is not None else {}
            yield Batch(
                count,
                {name: _ints(column.get(name), count) for name in ints},
                {name: _reals(column.get(name), count) for name in reals},
                {name: _texts(column.get(name), count) for name in texts},
            )

    def close(self) -> None:
        self._file.close()


def _ints(column: npt.NDArray[Any] | None, count: int) -> npt.NDArray[np.int64]:
    if column is None or column.ndim != 1 or column.dtype.kind not in "iufb":
        return np.full(count, NULL)
    if column.dtype.kind == "f":
        return np.where(np.isfinite(column), column, NULL).astype(np.int64)
    # An unsigned 64-bit identifier keeps its bits, as SQLite's signed integers do.
    return column.astype(np.int64)


def _reals(column: npt.NDArray[Any] | None, count: int) -> npt.NDArray[np.float64]:
    if column is None or column.ndim != 1 or column.dtype.kind not in "iufb":
        return np.full(count, np.nan)
    return column.astype(np.float64)


def _texts(column: npt.NDArray[Any] | None, count: int) -> Sequence[bytes | None]:
    if column is None or column.ndim != 1 or column.dtype.kind not in "SO":
        return [None] * count
    if column.dtype.kind == "S":
        return [text or None for text in column.tolist()]
    return [_bytes_of(text) for text in column.tolist()]


def _bytes_of(cell: Any) -> bytes | None:
    """A text or binary value as bytes; None if empty, because HDF5 has no missing values."""
    if isinstance(cell, np.ndarray):
        return cell.tobytes() or None
    return cell.encode() if isinstance(cell, str) else cell or None
