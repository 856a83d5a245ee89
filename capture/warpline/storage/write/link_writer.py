"""Resolves and writes links in pieces, so that tens of millions need little memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from warpline.model import StorageError
from warpline.storage.columns.schema import LINK_COLUMNS, NO_ROW
from warpline.storage.write.builder_contents import BuilderContents
from warpline.storage.write.join_keys import join_keys
from warpline.storage.write.outputs import Datasets
from warpline.storage.write.runs import sorting
from warpline.storage.write.spill import SpillColumn, SpillDirectory

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]

PART_LINKS = 1 << 21
"""Number of links joined or sorted at a time."""

_PIECE = 1 << 20
_BEYOND = 1 << 62
_CLOSE = 8


class LinkWriter:
    """Links of a builder as rows: first collected as they come, then read sorted.

    ``row_of_id`` gives the row of each event id, ``capture_starts`` the start of rows in capture time.
    """

    def __init__(
        self,
        contents: BuilderContents,
        row_of_id: Array | None,
        capture_starts: Callable[[Int64Array], Int64Array],
    ) -> None:
        self._contents = contents
        self._row_of_id = row_of_id
        self._capture_starts = capture_starts
        self.names = sorted({*contents.links, *(kind for kind, _, _ in contents.keys)})
        self._columns = [contents.spill.column(dtype) for dtype in LINK_COLUMNS.values()]
        for code, name in enumerate(self.names):
            for sources, targets in self._links_of(name):
                self._put(code, sources, targets)

    def __len__(self) -> int:
        return len(self._columns[0])

    def in_order(self) -> Iterator[tuple[Array, ...]]:
        """Rows left, rows reached and codes of kinds, sorted by both rows, in pieces."""
        columns = [column.read() for column in self._columns]
        for chosen in _parts_by_value(columns[0]):
            part = [column[chosen] for column in columns]
            order = _order_of_distinct(part[0])
            if order is None:
                order = sorting(part[0], -part[1])
            yield tuple(values[order] for values in part)

    def _put(self, code: int, sources: Int64Array, targets: Int64Array) -> None:
        columns: tuple[Array, ...] = (sources, targets, np.full(len(sources), code, np.uint8))
        for column, values in zip(self._columns, columns, strict=True):
            column.append(values)

    def _links_of(self, name: str) -> Iterator[tuple[Int64Array, Int64Array]]:
        contents = self._contents
        if name in contents.links:
            sources, targets = (column.read() for column in contents.links[name])
            for first in range(0, len(sources), _PIECE):
                part = slice(first, first + _PIECE)
                yield self._rows(sources[part]), self._rows(targets[part])
        for kind, scope, end in contents.keys:
            if kind == name and end == "from" and (kind, scope, "to") in contents.keys:
                source, target = contents.keys[kind, scope, "from"], contents.keys[kind, scope, "to"]
                yield from self._join(source.keys, source.ids, target.keys, target.ids)

    def _join(
        self, from_keys: SpillColumn, from_ids: SpillColumn, to_keys: SpillColumn, to_ids: SpillColumn
    ) -> Iterator[tuple[Int64Array, Int64Array]]:
        parts = 1 + max(len(from_keys), len(to_keys)) // PART_LINKS
        sides = [(keys.read(), ids.read()) for keys, ids in ((from_keys, from_ids), (to_keys, to_ids))]
        for part in range(parts):
            ends = []
            for keys, ids in sides:
                # Equal keys always meet in the same part.
                chosen = (
                    _where(lambda piece, part=part: piece % parts == part, keys) if parts > 1 else slice(None)
                )
                ends.append((keys[chosen], self._rows(ids[chosen])))
            yield join_keys(*ends[0], *ends[1], self._capture_starts)

    def _rows(self, ids: Int64Array) -> Int64Array:
        assert self._row_of_id is not None
        if len(ids) and (int(ids.max()) >= self._contents.n_events or int(ids.min()) < -1):
            raise StorageError(f"{self._contents.path}: a link names an event that was never added")
        if not len(self._row_of_id):
            return np.full(len(ids), NO_ROW, np.int64)
        rows = self._row_of_id[ids].astype(np.int64)
        rows[ids < 0] = NO_ROW
        return rows


def write_links(out: Datasets, links: LinkWriter, spill: SpillDirectory) -> None:
    """Writes `links`."""
    group = out.file.create_group("links")
    datasets = [out.empty(group, name, dtype, len(links)) for name, dtype in LINK_COLUMNS.items()]
    to_rows = spill.column("<i8")
    at = 0
    for part in links.in_order():
        for dataset, values in zip(datasets, part, strict=True):
            out.write(dataset, at, values)
        to_rows.append(part[1])
        at += len(part[0])
    by_to = out.empty(group, "by_to", "<i8", len(links))
    at = 0
    for order in sorting_order(to_rows.read()):
        out.write(by_to, at, order)
        at += len(order)
    out.set_attribute(group, "kinds", orjson.dumps(links.names).decode())


def sorting_order(values: Int64Array) -> Iterator[Int64Array]:
    """The permutation that sorts a column (mapped is fine), stable, in pieces."""
    for chosen in _parts_by_value(values):
        part = values[chosen]
        order = _order_of_distinct(part)
        yield chosen[np.argsort(part, kind="stable") if order is None else order]


def _order_of_distinct(values: Int64Array) -> Array | None:
    """The permutation that sorts values that are close together, each there once; None for others."""
    low = int(values.min())
    size = int(values.max()) - low + 1
    if size > _CLOSE * len(values):
        return None
    place = np.full(size, -1, np.int32)
    numbers = np.arange(len(values), dtype=np.int32)
    place[values - low] = numbers
    order = place[place >= 0]
    return order if len(order) == len(values) else None


def _parts_by_value(values: Int64Array) -> Iterator[Int64Array]:
    """Indexes of the values of one range after the other, ascending, each about `PART_LINKS` of them."""
    if len(values) <= PART_LINKS:
        if len(values):
            yield np.arange(len(values))
        return
    sample = np.sort(values[:: max(1, PART_LINKS // 64)])
    borders = np.unique(sample[64::64]).tolist()
    # Rows are below 2**62, so the outer borders hold everything.
    for low, high in itertools.pairwise([-_BEYOND, *borders, _BEYOND]):
        yield _where(lambda piece, low=low, high=high: (piece >= low) & (piece < high), values)


def _where(test: Callable[..., Any], values: Int64Array) -> Int64Array:
    """Indexes of the values that pass a test, which is applied in pieces."""
    matches = (
        np.flatnonzero(test(values[first : first + _PIECE])) + first
        for first in range(0, len(values), _PIECE)
    )
    return np.concatenate([np.empty(0, np.int64), *matches])
