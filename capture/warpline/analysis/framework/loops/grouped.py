"""Sums and extremes by dense group: one compiled pass for each column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nesting import library
from warpline.compiled import address

Int64Array = npt.NDArray[np.int64]

SUM, LEAST, MOST = 0, 1, 2
"""What becomes of the values of a group."""


def grouped(
    group: Int64Array,
    first: Int64Array,
    columns: Sequence[Int64Array],
    ways: Sequence[int],
    place: Int64Array | None = None,
    compiled: bool = True,
) -> list[Int64Array]:
    """For each column its values by ``group`` (dense, int64 [n]), each put together in its way; int64 [groups].

    ``first`` has one event of each group. Column *c* has the value of event *i* at *i*, or at ``place[i]``.
    """
    of_first = first if place is None else place[first]
    results = [
        np.zeros(len(first), np.int64) if way == SUM else column[of_first].astype(np.int64)
        for column, way in zip(columns, ways, strict=True)
    ]
    found = library() if compiled else None
    if found is None:
        for column, way, result in zip(columns, ways, results, strict=True):
            how = (np.add, np.minimum, np.maximum)[way]
            how.at(result, group, column if place is None else column[place])
        return results
    values = [np.require(column, np.int64, ["C", "A"]) for column in columns]
    group = np.require(group, np.int64, ["C", "A"])
    where = None if place is None else np.require(place, np.int64, ["C", "A"])
    sources, targets = (np.array([address(one) for one in arrays], np.uintp) for arrays in (values, results))
    how_of = np.array(ways, np.int64)
    found.warpline_grouped(
        len(group),
        address(group),
        None if where is None else address(where),
        len(values),
        *(address(one) for one in (sources, how_of, targets)),
    )
    return results


def group_sums(group: Int64Array, groups: int, columns: Sequence[Int64Array]) -> Int64Array:
    """The sum of each column by ``group`` (below ``groups``): int64 [columns, groups]."""
    return np.stack(grouped(group, np.zeros(groups, np.int64), columns, [SUM] * len(columns)))
