"""A table of columns: numpy arrays by name, or a data frame of whatever library is installed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.i18n import tr
from warpline.interchange.export.event_columns import Array, CodedColumn
from warpline.library import data_frames
from warpline.model import UsageError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

_LEFT = ' style="text-align:left"'
_SHOWN_ROWS = 10
_SHOWN_COLUMNS = 12


class ColumnFrame:
    """Columns of equal length, each made when it is first asked for.

    ``table["name"]`` is a numpy array; of texts an array of Python strings that are shared, not copied. A column in
    which a value can be missing is a masked array: what was not recorded is masked, never 0. ``dict(table)`` works.
    """

    def __init__(
        self, columns: Sequence[str], length: int, check: Callable[[], object] | None = None
    ) -> None:
        """``check`` raises when columns can no longer be made."""
        self.columns = tuple(columns)
        self._check = check
        self._length = length
        self._made: dict[str, CodedColumn] = {}

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def keys(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.columns

    def __getitem__(self, name: str) -> Array:
        column = self.column(name)
        values = column.codes
        if column.texts is not None:
            values = np.array([*column.texts, None], object)[:-1]
            codes = column.codes
            values = values[codes] if len(values) else np.full(len(codes), None, object)
        return values if column.valid is None else np.ma.MaskedArray(values, ~column.valid)

    def column(self, name: str) -> CodedColumn:
        """A column as it is kept: ``codes`` (of texts: places in ``texts``) and ``valid`` (None: nothing is missing).

        Raises UsageError when there is none of that name.
        """
        made = self._made.get(name)
        if made is None:
            if name not in self.columns:
                raise UsageError(self._no_column(name))
            if self._check is not None:
                self._check()
            made = self._made[name] = self._make(name)
        return made

    def _make(self, name: str) -> CodedColumn:
        raise NotImplementedError

    def _no_column(self, name: object) -> str:
        near = get_close_matches(str(name), self.columns, n=1)
        if near:
            return tr("no column {name!r}; did you mean {near!r}?", name=name, near=near[0])
        return tr("no column {name!r}; there are: {known}", name=name, known=", ".join(self.columns))

    def rows(self, first: int = 0, stop: int | None = None) -> Iterator[dict[str, Any]]:
        """Rows as dicts of Python values, None where a value is missing: for small tables and for printing."""
        part = slice(first, stop)
        columns = [_python_values(self.column(name), part) for name in self.columns]
        for row in zip(*columns, strict=True):
            yield dict(zip(self.columns, row, strict=True))

    def to_pandas(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """The table, or some of its columns, for pandas: texts as categories, nullable types where needed.

        Raises WarplineError when pandas is not installed.
        """
        return data_frames.to_pandas(self._chosen(columns))

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The table, or some of its columns, for Arrow: texts as dictionaries.

        Raises WarplineError when pyarrow is not installed.
        """
        return data_frames.to_arrow(self._chosen(columns))

    def to_polars(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """The table, or some of its columns, for Polars: texts as enumerations.

        Raises WarplineError when Polars is not installed.
        """
        return data_frames.to_polars(self._chosen(columns))

    def _chosen(self, columns: Sequence[str] | None) -> dict[str, CodedColumn]:
        return {name: self.column(name) for name in (self.columns if columns is None else columns)}

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self):,} × {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        shown = self.columns[:_SHOWN_COLUMNS]
        # Notebooks set all cells right.
        sides = ["" if self.column(name).texts is None else _LEFT for name in shown]
        head = "".join(f"<th{side}>{escape(name)}</th>" for name, side in zip(shown, sides, strict=True))
        columns = [_python_values(self.column(name), slice(0, _SHOWN_ROWS)) for name in shown]
        body = "".join(
            f"<tr>{''.join(f'<td{side}>{_cell(value)}</td>' for value, side in zip(row, sides, strict=True))}</tr>"
            for row in zip(*columns, strict=True)
        )
        left_out = len(self.columns) - len(shown)
        more = f", {left_out} columns more" if left_out else ""
        return (
            # Not every notebook keeps the space around cells.
            '<table style="border-collapse:separate;border-spacing:10px 2px">'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"<p>{len(self):,} rows{more}</p>"
        )


def _python_values(column: CodedColumn, part: slice) -> list[Any]:
    values: list[Any] = column.codes[part].tolist()
    if column.texts is not None:
        texts = column.texts
        values = [texts[code] if code < len(texts) else None for code in values]
    if column.valid is not None:
        values = [
            value if valid else None for value, valid in zip(values, column.valid[part].tolist(), strict=True)
        ]
    return values


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}" if 1_000 <= abs(value) < math.inf else f"{value:.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "–" if value is None else escape(str(value))
