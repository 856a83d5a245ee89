"""Turns the batches of a track into sorted runs in temporary columns."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from warpline.storage.write.spill import SpillColumn, SpillDirectory

Array = npt.NDArray[Any]
Int64Array = npt.NDArray[np.int64]

_GROUP_EVENTS = 1 << 17


class EventBatch(NamedTuple):
    """Events of one kind and one track as they were added.

    ``columns`` are starts, durations, names and flags; what is the same for all is an array without dimension.
    ``first_id`` is the id of the first, ``first_of_kind`` how many events of the kind were added before it.
    """

    columns: tuple[Array, Array, Array, Array]
    code: int
    first_id: int
    first_of_kind: int

    @property
    def size(self) -> int:
        return len(self.columns[0])


@dataclass(frozen=True, kw_only=True)
class Run:
    """Events of one track, sorted by (start, −stop): ``first`` to ``stop`` in the columns start, duration, name, flags.

    Most runs hold one kind in the order in which it was added: then id and place among the events of the kind count up
    from ``first_id`` and ``first_of_kind``. Otherwise (``origin`` ≥ 0) the columns kind, id and place tell them,
    from index ``origin`` on.
    """

    first: int
    stop: int
    code: int
    first_id: int
    first_of_kind: int
    origin: int = -1

    def __len__(self) -> int:
        return self.stop - self.first

    def part(self, first: int, stop: int) -> Run:
        """The events from ``first`` to ``stop``, counted from the run's own first."""
        origin = self.origin + first if self.origin >= 0 else -1
        return Run(
            first=self.first + first,
            stop=self.first + stop,
            code=self.code,
            first_id=self.first_id + first,
            first_of_kind=self.first_of_kind + first,
            origin=origin,
        )


class RunWriter:
    """Collects runs; the batches of many small tracks are sorted together."""

    def __init__(self, spill: SpillDirectory) -> None:
        self.columns: tuple[SpillColumn, ...] = tuple(map(spill.column, ("<i8", "<i8", "<u4", "|u1")))
        self.origin_columns: tuple[SpillColumn, ...] = tuple(map(spill.column, ("|u1", "<i8", "<u4")))
        self.runs: dict[int, list[Run]] = {}
        self._tracks: list[int] = []
        self._batches: list[EventBatch] = []
        self._sizes: list[int] = []
        self._count = 0

    def add(self, track: int, batches: Sequence[EventBatch]) -> None:
        """The batches of a track, in the order in which they were added."""
        size = sum(batch.size for batch in batches)
        if self._count and self._count + size > _GROUP_EVENTS:
            self.flush()
        self._tracks.extend([track] * len(batches))
        self._batches.extend(batches)
        self._count += size

    def flush(self) -> None:
        """Writes the added events as one run per track."""
        batches = self._batches
        if not batches:
            return
        counts = np.array([batch.size for batch in batches])
        stops = np.cumsum(counts)
        columns = [_joined([batch.columns[index] for batch in batches], counts) for index in range(4)]
        tracks = np.array(self._tracks)
        heads = np.flatnonzero(np.r_[True, tracks[1:] != tracks[:-1]])
        borders = [*(stops - counts)[heads].tolist(), int(stops[-1])]
        unsorted = _unsorted(columns[0], columns[1], borders)
        base = len(self.columns[0])
        last_batches = [*heads[1:].tolist(), len(batches)]
        for place, (head, last) in enumerate(zip(heads.tolist(), last_batches, strict=True)):
            first, stop = borders[place], borders[place + 1]
            order = None
            if unsorted[place]:
                part = slice(first, stop)
                order = sorting(columns[0][part], columns[0][part] + columns[1][part])
                for column in columns:
                    column[part] = column[part][order]
            first_batch = batches[head]
            origin = -1
            if order is not None or not _follow_each_other(batches[head:last]):
                origin = self._put_origins(batches[head:last], counts[head:last], order)
            run = Run(
                first=base + first,
                stop=base + stop,
                code=first_batch.code,
                first_id=first_batch.first_id,
                first_of_kind=first_batch.first_of_kind,
                origin=origin,
            )
            self.runs.setdefault(self._tracks[head], []).append(run)
        for spilled, column in zip(self.columns, columns, strict=True):
            spilled.append(column)
        self._tracks, self._batches, self._count = [], [], 0

    def _put_origins(
        self, batches: Sequence[EventBatch], counts: Int64Array, order: Int64Array | None
    ) -> int:
        origin = len(self.origin_columns[0])
        inside = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        values: tuple[Array, ...] = (
            np.repeat(np.array([batch.code for batch in batches], np.uint8), counts),
            np.repeat(np.array([batch.first_id for batch in batches], np.int64), counts) + inside,
            (np.repeat(np.array([batch.first_of_kind for batch in batches]), counts) + inside).astype(
                np.uint32
            ),
        )
        for column, value in zip(self.origin_columns, values, strict=True):
            column.append(value if order is None else value[order])
        return origin


def _joined(pieces: Sequence[Array], counts: Int64Array) -> Array:
    """One column of the batches; a scalar stands for the whole batch."""
    if len(pieces) == 1:
        # The builder copies values that may be needed elsewhere.
        return pieces[0] if pieces[0].ndim else np.full(int(counts[0]), pieces[0])
    if all(piece.ndim for piece in pieces):
        return np.concatenate(pieces)
    if not any(piece.ndim for piece in pieces):
        return np.repeat(np.array(pieces), counts)
    return np.concatenate(
        [piece if piece.ndim else np.full(count, piece) for piece, count in zip(pieces, counts, strict=True)]
    )


def _follow_each_other(batches: Sequence[EventBatch]) -> bool:
    """Whether batches of one kind were added one after the other, so that ids and places count up."""
    if len(batches) == 1:
        return True
    if any(batch.code != batches[0].code for batch in batches):
        return False
    following = batches[0].first_id
    for batch in batches:
        if batch.first_id != following:
            return False
        following += batch.size
    return True


def _unsorted(starts: Int64Array, durations: Int64Array, borders: list[int]) -> list[bool]:
    """For each stretch between two borders, whether it is not sorted by (start, −stop)."""
    falls = starts[1:] < starts[:-1]
    ties = starts[1:] == starts[:-1]
    if ties.any():
        falls |= ties & (durations[1:] > durations[:-1])
    # Descending from one stretch to the next does not count.
    falls[np.array(borders[1:-1], np.int64) - 1] = False
    if not falls.any():
        return [False] * (len(borders) - 1)
    before = np.concatenate([[0], np.cumsum(falls)])
    return [bool(before[max(stop - 1, first)] > before[first]) for first, stop in itertools.pairwise(borders)]


def sorting(starts: Int64Array, stops: Int64Array) -> Int64Array:
    """The permutation that sorts by (start, −stop), stable."""
    order = np.argsort(starts, kind="stable")
    ordered = starts[order]
    ties = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(ties):
        # Few events begin at the same time: only those are sorted by their ends.
        places = np.unique(np.concatenate([ties, ties + 1]))
        among = order[places]
        order[places] = among[np.lexsort((-stops[among], starts[among]))]
    return order
