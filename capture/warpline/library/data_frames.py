"""Converts columns to tables of pandas, Arrow and Polars, where installed.

Texts stay dictionary-coded; missing values stay missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.extras import install_command
from warpline.i18n import tr
from warpline.interchange.export.event_columns import CodedColumn
from warpline.model import WarplineError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


def to_pandas(columns: Mapping[str, CodedColumn]) -> pd.DataFrame:
    """Texts as categories; columns in which values can be missing as nullable types (``Int64``).

    Raises WarplineError when pandas is not installed.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise _missing("to_pandas()", "pip install pandas") from error
    return pd.DataFrame({name: _pandas(pd, column) for name, column in columns.items()}, copy=False)


def _pandas(pd: Any, column: CodedColumn) -> Any:
    gone = None if column.valid is None else ~column.valid
    if column.texts is not None:
        codes = column.codes if gone is None else np.where(gone, -1, column.codes)
        return pd.Categorical.from_codes(codes, column.texts)
    if gone is None:
        return column.codes
    kind = column.codes.dtype.kind
    array = {"f": pd.arrays.FloatingArray, "b": pd.arrays.BooleanArray}.get(kind, pd.arrays.IntegerArray)
    return array(np.array(column.codes), gone)


def to_arrow(columns: Mapping[str, CodedColumn]) -> pa.Table:
    """Texts as dictionaries. Raises WarplineError when pyarrow is not installed."""
    try:
        import pyarrow as pa
    except ModuleNotFoundError as error:
        raise _missing("to_arrow()", install_command("parquet")) from error
    return pa.table({name: _arrow(pa, column) for name, column in columns.items()})


def _arrow(pa: Any, column: CodedColumn) -> Any:
    mask = None if column.valid is None else ~column.valid
    if column.texts is None:
        return pa.array(column.codes, mask=mask)
    codes = pa.array(column.codes.astype(np.int32, copy=False), mask=mask)
    return pa.DictionaryArray.from_arrays(codes, pa.array(column.texts, pa.string()))


def to_polars(columns: Mapping[str, CodedColumn]) -> pl.DataFrame:
    """Texts as enumerations. Raises WarplineError when Polars is not installed."""
    try:
        import polars as pl
    except ModuleNotFoundError as error:
        raise _missing("to_polars()", "pip install polars") from error
    return pl.DataFrame([_polars(pl, name, column) for name, column in columns.items()])


def _polars(pl: Any, name: str, column: CodedColumn) -> Any:
    if column.texts is None:
        series = pl.Series(name, np.ascontiguousarray(column.codes))
    else:
        # One extra text: even a column without any value has codes.
        texts = pl.Series(name, [*column.texts, None], dtype=pl.Enum(column.texts))
        series = texts.gather(np.ascontiguousarray(column.codes))
    if column.valid is None or column.valid.all():
        return series
    nothing = pl.Series(name, [None], dtype=series.dtype).new_from_index(0, len(series))
    return series.zip_with(pl.Series(np.ascontiguousarray(column.valid)), nothing)


def _missing(what: str, command: str) -> WarplineError:
    return WarplineError(
        tr(
            "{what} needs a package that is not installed; install it with: {command}",
            what=what,
            command=command,
        )
    )
