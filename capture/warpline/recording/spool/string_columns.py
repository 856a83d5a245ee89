"""Columns of spool files: strings as the capture has them, distinct values, some of the records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.recording.spool.reader import SpoolFile
from warpline.storage import CaptureBuilder

_TABLE = 1 << 12


def distinct(values: npt.NDArray[np.integer[Any]]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Distinct values, ascending, and for each value the index of its distinct one.

    As ``np.unique`` gives them, but faster: by counting where the values are close together, else by sorting.
    """
    if not len(values):
        return values, np.empty(0, np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low < _TABLE + 4 * len(values):
        places = values - low if low else values
        counts = np.bincount(places)
        found = np.flatnonzero(counts)
        code = np.zeros(len(counts), np.int64)
        code[found] = np.arange(len(found))
        return found + low, code[places]
    order = np.argsort(values)
    ordered = values[order]
    heads = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    inverse = np.empty(len(values), np.int64)
    inverse[order] = np.cumsum(heads) - 1
    return ordered[heads], inverse


def capture_strings(
    spool: SpoolFile,
    builder: CaptureBuilder,
    ids: npt.NDArray[np.integer[Any]],
    form: Callable[[str], str] | None = None,
) -> npt.NDArray[np.uint32]:
    """String ids of the capture for string ids of a spool file [n]; ``form`` is applied to each text first."""
    found, inverse = distinct(ids)
    texts = map(spool.text, found.tolist())
    return builder.strings(texts if form is None else map(form, texts))[inverse]


def take_records(values: npt.NDArray[np.void], rows: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
    """``values[rows]``. Indexing copies records field by field, as bytes without fields they are copied whole."""
    whole = np.ascontiguousarray(values).view(np.dtype((np.void, values.dtype.itemsize)))
    return whole.take(rows).view(values.dtype)
