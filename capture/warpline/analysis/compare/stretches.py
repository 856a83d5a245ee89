"""Disjoint labelled stretches of time, in which every nanosecond counts once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.structure.overlap import Intervals, covered_ns
from warpline.model.intervals import intersect_intervals, merge_intervals, subtract_intervals

Int64Array = npt.NDArray[np.int64]
UNNAMED = -1


@dataclass(frozen=True, eq=False)
class Stretches:
    """Disjoint stretches of time sorted by start: ``start``/``stop`` capture ns, ``label`` (−1: none); int64 [n]."""

    start: Int64Array
    stop: Int64Array
    label: Int64Array

    def __len__(self) -> int:
        return len(self.start)

    @property
    def intervals(self) -> Intervals:
        """The merged stretches of all labels."""
        return merge_intervals(self.start, self.stop)

    @property
    def time_ns(self) -> int:
        """The total length, ns."""
        return int((self.stop - self.start).sum())

    def of_labels(self, labels: Sequence[int]) -> Stretches:
        """The stretches with one of these labels."""
        mine = np.isin(self.label, labels)
        return Stretches(self.start[mine], self.stop[mine], self.label[mine])

    def within(self, merged: Intervals) -> Stretches:
        """The parts inside *merged* intervals."""
        return self._labelled(intersect_intervals(self.start, self.stop, *merged))

    def without(self, merged: Intervals) -> Stretches:
        """The parts outside *merged* intervals."""
        return self._labelled(subtract_intervals(self.start, self.stop, *merged))

    def _labelled(self, part: Intervals) -> Stretches:
        source = np.searchsorted(self.start, part[0], "right") - 1
        return Stretches(*part, self.label[source])

    def by_label(self, starts: Int64Array, stops: Int64Array) -> dict[int, int]:
        """The time of each label inside disjoint sorted windows, ns; labels without any are left out."""
        part = self.within((starts, stops))
        labels, place = np.unique(part.label, return_inverse=True)
        times = np.zeros(len(labels), np.int64)
        np.add.at(times, place.reshape(-1), part.stop - part.start)
        return dict(zip(labels.tolist(), times.tolist(), strict=True))

    def in_windows(self, starts: Int64Array, stops: Int64Array) -> Int64Array:
        """The time inside each window, int64 ns [windows]; windows may overlap."""
        return covered_ns(self.intervals, starts, stops)


def no_stretches() -> Stretches:
    """An empty set of stretches."""
    none = np.empty(0, np.int64)
    return Stretches(none, none, none)


def unlabelled(merged: Intervals) -> Stretches:
    """*Merged* intervals without labels."""
    return Stretches(*merged, np.full(len(merged[0]), UNNAMED, np.int64))


def first_come(start: Int64Array, stop: Int64Array, label: Int64Array) -> Stretches:
    """Make events disjoint: each moment goes to the outermost event, which began first (or is longer)."""
    order = np.lexsort((-stop, start))
    start, stop, label = start[order], stop[order], label[order]
    if not len(start):
        return no_stretches()
    reach = np.maximum.accumulate(stop)
    begin = start.copy()
    begin[1:] = np.maximum(start[1:], reach[:-1])
    keep = stop > begin
    return Stretches(begin[keep], stop[keep], label[keep].astype(np.int64))


def layered(layers: Iterable[Stretches]) -> Stretches:
    """Overlay several sets: each moment goes to the first set that covers it."""
    parts: list[Stretches] = []
    taken: Intervals = (np.empty(0, np.int64), np.empty(0, np.int64))
    for layer in layers:
        part = layer.without(taken)
        if len(part):
            parts.append(part)
            taken = merge_intervals(
                np.concatenate([taken[0], part.start]), np.concatenate([taken[1], part.stop])
            )
    if not parts:
        return no_stretches()
    start = np.concatenate([part.start for part in parts])
    order = np.argsort(start, kind="stable")
    return Stretches(
        start[order],
        np.concatenate([part.stop for part in parts])[order],
        np.concatenate([part.label for part in parts])[order],
    )


def name_all(part: Stretches, namers: Sequence[Stretches]) -> Stretches:
    """The same time, each moment labelled by the first of ``namers`` that covers it, else without label."""
    merged = part.intervals
    return layered([*(namer.within(merged) for namer in namers), unlabelled(merged)])
