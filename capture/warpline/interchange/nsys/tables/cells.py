"""Turns cells from Python's sqlite3 into columns. In SQLite, a cell may have any type, whatever its column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from warpline.interchange.nsys.tables.access import NULL
from warpline.untrusted import INT64


@dataclass(frozen=True)
class Constant:
    """A column with the same value in every row."""

    value: Any


Cells: TypeAlias = tuple[Any, ...] | Constant


def int_column(cells: Cells | None, count: int) -> npt.NDArray[np.int64]:
    """Integers; `NULL` for a missing or non-numeric cell. ``cells`` is None for a column that does not exist."""
    if cells is None:
        return np.full(count, NULL)
    if isinstance(cells, Constant):
        return np.full(count, _int(cells.value))
    try:
        return np.fromiter(cells, np.int64, count)
    except (TypeError, ValueError, OverflowError):
        pass
    try:
        return np.fromiter((NULL if cell is None else cell for cell in cells), np.int64, count)
    except (TypeError, ValueError, OverflowError):
        return np.fromiter(map(_int, cells), np.int64, count)


def real_column(cells: Cells | None, count: int) -> npt.NDArray[np.float64]:
    """Reals; NaN for a missing or non-numeric cell."""
    if cells is None:
        return np.full(count, np.nan)
    if isinstance(cells, Constant):
        return np.full(count, _real(cells.value))
    return np.fromiter(map(_real, cells), np.float64, count)


def text_column(cells: Cells | None, count: int) -> Sequence[bytes | None]:
    """Texts as bytes; None for a missing cell."""
    if cells is None:
        return (None,) * count
    if isinstance(cells, Constant):
        return (_text(cells.value),) * count
    if set(map(type, cells)) <= {bytes, type(None)}:
        return cells
    return tuple(map(_text, cells))


def _int(cell: object) -> int:
    if isinstance(cell, float):
        return int(cell) if math.isfinite(cell) and abs(cell) < 1 << 62 else NULL
    if isinstance(cell, bytes):
        try:
            number = int(cell)
        except ValueError:
            return NULL
        return number if number in INT64 else NULL
    return cell if isinstance(cell, int) else NULL


def _real(cell: object) -> float:
    return float(cell) if isinstance(cell, (int, float)) else math.nan


def _text(cell: object) -> bytes | None:
    return cell if cell is None or isinstance(cell, bytes) else str(cell).encode()
