"""Turns lists of decoded JSON values into numpy columns: times, optional numbers, texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
MaskedColumn = np.ma.MaskedArray[Any, Any]

MAX_TIME_NS = 1 << 61
"""Larger times are damage. Storage accepts twice as much, so that start + duration fits."""
_EXACT_MICROSECONDS = float(1 << 43)
"""Up to here a float64 of microseconds resolves nanoseconds."""


NO_INTEGER = -(1 << 63)
"""A missing integer, in lists for `plain_integers`."""


class Coder(dict[Any, int]):
    """Numbers values in order of first use: ``coder[value]`` is the number."""

    def __missing__(self, value: Any) -> int:
        code = self[value] = len(self)
        return code


@dataclass(frozen=True)
class TextColumn:
    """One text per event: ``codes`` uint32 into ``table``."""

    codes: npt.NDArray[np.uint32]
    table: list[str]


def texts(values: Sequence[Any], convert: Callable[[Any], str] | None = None) -> TextColumn:
    """A text column. Converts each distinct value once, by default with `scalar_text`."""
    coder = Coder()
    codes = np.fromiter(map(coder.__getitem__, values), np.uint32, len(values))
    make = convert or scalar_text
    return TextColumn(codes, [clean_text(make(value)) for value in coder])


def repeated_text(text: str, count: int) -> TextColumn:
    """The same text for every event."""
    return TextColumn(np.zeros(count, np.uint32), [text])


def scalar_text(value: Any) -> str:
    """A JSON scalar as text, "" for null."""
    if isinstance(value, str):
        return value
    return "" if value is None else str(value)


def raw_text(value: Any) -> str:
    """Decodes JSON text; replaces invalid UTF-8."""
    return bytes(value).decode("utf-8", "replace")


_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Replaces NUL and lone surrogates, which the file cannot store, by U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def integers(values: Sequence[Any]) -> MaskedColumn:
    """int64; masks values that are not integers of 64 bits. Accepts numbers in text."""
    try:
        column = np.array(values)
    except (OverflowError, ValueError):
        column = np.array(values, object)
    if column.dtype.kind == "i":
        return np.ma.MaskedArray(column.astype(np.int64))
    return np.ma.MaskedArray(*_slow(values, integer, np.int64))


def plain_integers(values: Iterable[int], count: int) -> MaskedColumn:
    """int64 with `NO_INTEGER` masked. All values must be 64-bit integers."""
    column = np.fromiter(values, np.int64, count)
    return np.ma.MaskedArray(column, column == NO_INTEGER)


def distinct_values(column: Int64Array) -> tuple[list[int], Int64Array]:
    """The distinct values, ascending, and for each row the index of its value. Fast for a small range of values."""
    low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    if high - low >= 1 << 16:
        values, codes = np.unique(column, return_inverse=True)
        return values.tolist(), codes
    offsets = column - low
    present = np.flatnonzero(np.bincount(offsets, minlength=1))
    codes = np.zeros(high - low + 1, np.int64)
    codes[present] = np.arange(len(present))
    return (present + low).tolist(), codes[offsets]


def distinct_rows(*columns: Int64Array) -> tuple[list[tuple[int, ...]], Int64Array]:
    """The distinct combinations of values, and for each row the index of its combination."""
    rows: list[tuple[int, ...]] = [()]
    codes = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, places = distinct_values(column)
        used, codes = distinct_values(codes * len(values) + places)
        rows = [(*rows[code // len(values)], values[code % len(values)]) for code in used]
    return rows, codes


def unsigned(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Also masks negative values: in a column of sizes they mean "unknown"."""
    data = np.ma.getdata(values)
    negative = data < 0
    if not negative.any():
        return values
    return np.ma.MaskedArray(data, negative | np.ma.getmaskarray(values))


def unmasked(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A plain array if nothing is masked, which is much faster to index; else the same array."""
    if isinstance(values, np.ma.MaskedArray) and not np.ma.getmaskarray(values).any():
        return np.ma.getdata(values)
    return values


def plain_floats(values: Iterable[float], count: int) -> MaskedColumn:
    """float64 with NaN masked. All values must be numbers."""
    column = np.fromiter(values, np.float64, count)
    return np.ma.MaskedArray(column, np.isnan(column))


def missing_numbers(count: int) -> MaskedColumn:
    """A column with every value masked."""
    return np.ma.MaskedArray(np.zeros(count, np.int64), np.ones(count, np.bool_))


def floats(values: Sequence[Any]) -> MaskedColumn:
    """float64; masks values that are not finite numbers."""
    return np.ma.MaskedArray(*_slow(values, real, np.float64))


def _slow(
    values: Sequence[Any], convert: Callable[[Any], Any], dtype: type
) -> tuple[npt.NDArray[Any], BoolArray]:
    converted = [convert(value) for value in values]
    mask = np.fromiter((value is None for value in converted), np.bool_, len(converted))
    if mask.any():
        converted = [0 if value is None else value for value in converted]
    return np.array(converted, dtype), mask


def integer(value: Any) -> int | None:
    """A JSON value as a 64-bit integer (floats are rounded), or None."""
    if isinstance(value, str):
        try:
            value = int(value, 0)
        except ValueError:
            return None
    if isinstance(value, float):
        if not np.isfinite(value):
            return None
        value = round(value)
    return value if isinstance(value, int) and -(1 << 63) <= value < 1 << 63 else None


def real(value: Any) -> float | None:
    """A JSON value as a finite float, or None."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, int):
        return float(value) if abs(value) < 1 << 1000 else None
    return value if isinstance(value, float) and np.isfinite(value) else None


def nanoseconds(values: Sequence[Any]) -> tuple[Int64Array, BoolArray]:
    """Converts microseconds (integers, floats or decimal text) to (int64 ns, missing), exact to the nanosecond.

    A value is missing (and its ns 0) if it is not a number or is beyond `MAX_TIME_NS`. Very large floats have already
    lost nanoseconds: see `loses_nanoseconds`.
    """
    try:
        column = np.fromiter(values, np.float64, len(values))
    except (TypeError, ValueError, OverflowError):
        return _nanoseconds_slow(values)
    if len(column) and not (np.abs(column) < float(1 << 53)).all():
        return _nanoseconds_slow(values)
    if len(column) and float(np.abs(column).max()) > _EXACT_MICROSECONDS and str in set(map(type, values)):
        return _nanoseconds_slow(values)  # text has digits that a float loses
    # The product with 1000 does not fit a float, so the whole part is converted separately.
    whole = np.floor(column)
    ns = whole.astype(np.int64) * 1000 + np.rint((column - whole) * 1000).astype(np.int64)
    missing = np.abs(ns) > MAX_TIME_NS
    if missing.any():
        ns[missing] = 0
    return ns, missing


def _nanoseconds_slow(values: Sequence[Any]) -> tuple[Int64Array, BoolArray]:
    converted = [_exact_nanoseconds(value) for value in values]
    missing = np.fromiter((value is None for value in converted), np.bool_, len(converted))
    return np.array([value or 0 for value in converted], np.int64), missing


def _exact_nanoseconds(value: Any) -> int | None:
    try:
        exact = Fraction(value.strip() if isinstance(value, str) and len(value) < 40 else value)
    except (ValueError, TypeError, ZeroDivisionError, OverflowError):
        return None  # not a number, or infinite
    ns = round(exact * 1000)
    return ns if abs(ns) <= MAX_TIME_NS else None


def loses_nanoseconds(values: Iterable[Any]) -> bool:
    """Whether any microsecond float is too large to resolve nanoseconds."""
    return any(isinstance(value, float) and abs(value) > _EXACT_MICROSECONDS for value in values)
