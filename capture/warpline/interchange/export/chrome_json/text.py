"""Formats columns as the text of many JSON objects at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

Int64Array = npt.NDArray[np.int64]


def lines_of(template: str, columns: list[npt.NDArray[Any]]) -> str:
    """One line per event, from a template with ``%s`` for each column, in one operation."""
    count = len(columns[0])
    if not count:
        return ""
    cells = np.empty((count, len(columns)), object)
    for index, column in enumerate(columns):
        cells[:, index] = column
    return ",\n".join([template] * count) % tuple(cells.ravel().tolist())


def microseconds(times: Int64Array) -> npt.NDArray[np.object_]:
    """Nanoseconds as microseconds with three decimals."""
    texts = np.empty(len(times), object)
    whole, rest = np.divmod(np.abs(times), 1000)
    pairs = np.empty((len(times), 2), object)
    pairs[:, 0], pairs[:, 1] = whole, rest
    lines = ("%d.%03d\n" * len(times) % tuple(pairs.ravel().tolist())).split("\n")
    texts[:] = lines[:-1]
    negative = times < 0
    if negative.any():
        texts[negative] = ["-" + text for text in texts[negative].tolist()]
    return texts


def reals(values: npt.NDArray[np.float64]) -> npt.NDArray[np.object_]:
    """Finite numbers with the fewest digits that identify them."""
    texts = np.empty(len(values), object)
    texts[:] = [repr(value) for value in values.tolist()]
    return texts


def quoted(text: str) -> str:
    """A text as a JSON string."""
    return orjson.dumps(text).decode()
