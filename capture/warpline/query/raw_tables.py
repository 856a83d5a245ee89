"""Tables as DuckDB is given them: columns that are made when a query reads them, and placeholders until then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Maker = Callable[[], Array]

TEXT = np.dtype(object)


@dataclass(frozen=True)
class RawColumn:
    """A column before it is made: its type (`TEXT` for texts) and what makes it, a masked array where values can be
    missing.
    """

    dtype: np.dtype[Any]
    make: Maker


@dataclass
class RawTable:
    """A table that is registered under ``key``; its columns are called ``key_0``, ``key_1`` …, so that a plan that
    names a column names its table too.
    """

    key: str
    length: int
    columns: Mapping[str, RawColumn]
    made: dict[str, Array] = field(default_factory=dict)
    registered: frozenset[str] | None = None
    """Columns that the registered table really has; None while it is not registered."""

    def __post_init__(self) -> None:
        self._names = {f"{self.key}_{index}": name for index, name in enumerate(self.columns)}
        self._keys = {name: key for key, name in self._names.items()}

    def sql(self, column: str) -> str:
        """What a column is called in SQL."""
        return self._keys[column]

    def columns_of(self, scanned: Iterable[str]) -> frozenset[str]:
        """The columns that a plan names."""
        return frozenset(self._names[name] for name in scanned)

    def arrays(self, needed: Iterable[str]) -> dict[str, Array]:
        """What is registered: columns that are needed or were made before as they are, the others as one value of
        stride 0, which takes no memory.
        """
        for name in needed:
            if name not in self.made:
                self.made[name] = self.columns[name].make()
        return {
            key: self.made[name] if name in self.made else self._placeholder(self.columns[name].dtype)
            for key, name in self._names.items()
        }

    def _placeholder(self, dtype: np.dtype[Any]) -> Array:
        # A text tells DuckDB the type of a column of objects.
        value = np.array("", object) if dtype == TEXT else np.zeros((), dtype)
        return np.broadcast_to(value, self.length)


class Keys:
    """Gives raw tables their keys."""

    def __init__(self) -> None:
        self._count = 0

    def next(self) -> str:
        """A key that no other table has."""
        self._count += 1
        return f"t{self._count}"


def texts(values: Iterable[str | None]) -> Array:
    """A column of texts; None is missing."""
    items = list(values)
    column = np.empty(len(items), object)
    column[:] = items
    missing = [value is None for value in items]
    return np.ma.MaskedArray(column, missing) if any(missing) else column


def numbers(values: Iterable[int | float | None], dtype: str = "int64") -> Array:
    """A column of numbers; None is missing."""
    items = list(values)
    missing = [value is None for value in items]
    column = np.array([0 if value is None else value for value in items], dtype)
    return np.ma.MaskedArray(column, missing) if any(missing) else column


def text_column(values: Callable[[], Iterable[str | None]]) -> RawColumn:
    """A small column of texts."""
    return RawColumn(TEXT, lambda: texts(values()))


def number_column(values: Callable[[], Iterable[int | float | None]], dtype: str = "int64") -> RawColumn:
    """A small column of numbers."""
    return RawColumn(np.dtype(dtype), lambda: numbers(values(), dtype))
