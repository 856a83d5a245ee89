"""Columns of spool files: strings as the capture has them, distinct values, some of the records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.storage import CaptureBuilder

from .spool import SpoolFile

_TABLE = 1 << 22


def distinct(values: npt.NDArray[np.integer[Any]]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Distinct values, ascending, and for each value the index of its distinct one.

    As ``np.unique`` gives them, by counting where that is faster. ``values`` are not negative.
    """
    if not len(values) or int(values.max()) >= _TABLE:
        found, inverse = np.unique(values, return_inverse=True)
        return found, inverse.reshape(-1)
    found = np.flatnonzero(np.bincount(values))
    place = np.zeros(int(found[-1]) + 1, np.int64)
    place[found] = np.arange(len(found))
    return found, place[values]


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
    """``values[rows]`` for records of a multiple of 8 bytes; ``rows`` ascending, so that as many as there are is all.

    Indexing copies records one by one; their words it copies at once.
    """
    if len(rows) == len(values):
        return values
    words = np.ascontiguousarray(values).view(np.uint64).reshape(len(values), -1)
    return words[rows].view(values.dtype).reshape(-1)
