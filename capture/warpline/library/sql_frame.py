"""The result of a query in SQL as a table of columns."""

from __future__ import annotations

import numpy as np

from warpline.interchange.export.event_columns import CodedColumn
from warpline.library.column_frame import ColumnFrame
from warpline.query.session import QueryResult
from warpline.query.wire import ResultColumn


class SqlFrame(ColumnFrame):
    """Rows of a query, in its order. ``types`` are the columns' types in SQL; ``has_more`` says whether a limit that
    was asked for left rows out. Columns of equal names are told apart by a number (``name_2``).
    """

    def __init__(self, result: QueryResult) -> None:
        names = unique_names([column.name for column in result.columns])
        self._results = dict(zip(names, result.columns, strict=True))
        self.types = {name: column.type for name, column in self._results.items()}
        self.has_more = result.has_more
        self.seconds = result.seconds
        super().__init__(names, len(result))

    def _make(self, name: str) -> CodedColumn:
        column = self._results[name]
        if column.values.dtype != object:
            return CodedColumn(column.values, column.valid)
        return _coded(column)


def _coded(column: ResultColumn) -> CodedColumn:
    known: dict[str, int] = {}
    codes = [0 if text is None else known.setdefault(text, len(known)) for text in column.python_values()]
    return CodedColumn(np.array(codes, np.int32), column.valid, list(known))


def unique_names(names: list[str]) -> list[str]:
    """Names of columns, made different where a query repeats one."""
    found: list[str] = []
    for name in names:
        number, unique = 1, name
        while unique in found:
            number += 1
            unique = f"{name}_{number}"
        found.append(unique)
    return found
