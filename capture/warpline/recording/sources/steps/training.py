"""Finds the steps of training from its phases. Pure functions over columns.

A step ends with the last ``Optimizer.step`` before the next batch is taken, or before one of the same optimisers steps
again. So gradient accumulation (many batches, one optimiser step) and several optimisers (one batch, many) are one step
each, and a loop without a loader has one step per iteration. A step begins at the end of the previous one, or of an
evaluation or checkpoint between them; the first one begins with its first phase. A run of a static graph that trains is
a whole step in one phase, and ends it like an optimiser.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.recording.sources.steps.records import RangeKind

Int64Array = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
_CLOSURE = (RangeKind.FORWARD, RangeKind.EVALUATION, RangeKind.BACKWARD, RangeKind.LOADER)
_ASIDE = (RangeKind.EVALUATION, RangeKind.CHECKPOINT)


@dataclass(frozen=True)
class Phases:
    """The phases of one thread as columns [n], sorted by start, outer before inner; ns."""

    start: Int64Array
    stop: Int64Array
    kind: Int64Array
    value: Int64Array
    has_ended: Booleans
    """Whether a wait for a batch found no further one."""

    def take(self, rows: npt.NDArray[np.int64] | Booleans) -> Phases:
        """Some of the phases."""
        return Phases(
            self.start[rows], self.stop[rows], self.kind[rows], self.value[rows], self.has_ended[rows]
        )


@dataclass(frozen=True)
class Training:
    """Steps and evaluations of one thread, ns. ``in_step`` [n] marks the phases that belong to steps. ``start`` [n] is
    the start of each phase; for an optimiser, after the closure that it calls.
    """

    steps: Int64Array
    """int64 [steps, 2]"""
    evaluations: Int64Array
    """int64 [evaluations, 2]"""
    start: Int64Array
    in_step: Booleans


def order_of(start: Int64Array, stop: Int64Array) -> Int64Array:
    """The order that `Phases` requires."""
    return np.lexsort((-stop, start))


def outermost(start: Int64Array, stop: Int64Array) -> Booleans:
    """Which intervals are inside no other [n]; sorted by `order_of`."""
    if not len(start):
        return np.zeros(0, bool)
    before = np.concatenate([[np.iinfo(np.int64).min], np.maximum.accumulate(stop)[:-1]])
    result: Booleans = start >= before
    return result


def find_steps(phases: Phases, resumes: npt.ArrayLike = ()) -> Training:
    """The steps in a thread's phases; ``resumes`` are the ends of pauses (ns)."""
    top = outermost(phases.start, phases.stop)
    unit = np.cumsum(top) - 1
    units = phases.take(top)
    optimizes = np.zeros(len(units.start), bool)
    is_optimizer = np.isin(phases.kind, (RangeKind.OPTIMIZER, RangeKind.STEP))
    optimizes[unit[is_optimizer]] = True
    start = _without_closures(phases, top, unit)
    none = np.empty((0, 2), np.int64)
    if not optimizes.any():
        return Training(none, none, start, np.zeros(len(start), bool))
    identity = np.zeros(len(units.start), np.int64)
    # The first optimiser identifies a unit: rows are written in reverse order.
    rows = np.flatnonzero(is_optimizer)[::-1]
    identity[unit[rows]] = phases.value[rows]
    trains = _training_waits(units, optimizes)
    steps, first, last = _steps(units, optimizes, trains, identity, np.sort(np.asarray(resumes, np.int64)))
    covered = np.zeros(len(units.start) + 1, np.int64)
    np.add.at(covered, first, 1)
    np.add.at(covered, last + 1, -1)
    in_step = np.cumsum(covered)[:-1] > 0
    return Training(
        steps, _evaluations(units, in_step | trains), start, _own(phases, top, unit) & in_step[unit]
    )


def _without_closures(phases: Phases, top: Booleans, unit: Int64Array) -> Int64Array:
    """Starts of phases [n]; that of an optimiser is moved behind the last forward or backward of its closure."""
    start = phases.start.copy()
    at = np.flatnonzero(top)
    inner = np.flatnonzero(~top & np.isin(phases.kind, _CLOSURE))
    inner = inner[phases.kind[at[unit[inner]]] == RangeKind.OPTIMIZER]
    np.maximum.at(start, at[unit[inner]], phases.stop[inner])
    return start


def _own(phases: Phases, top: Booleans, unit: Int64Array) -> Booleans:
    """Which phases count: the outermost, and forward and backward inside an optimiser's closure. Phases inside
    backward, such as a recomputed forward, are part of backward.
    """
    at = np.flatnonzero(top)
    nested = np.flatnonzero(~top & np.isin(phases.kind, _CLOSURE))
    nested = nested[phases.kind[at[unit[nested]]] == RangeKind.OPTIMIZER]
    own = top.copy()
    if len(nested):
        chosen = outermost(phases.start[nested], phases.stop[nested])
        own[nested[chosen]] = True
    own |= phases.kind == RangeKind.COMMUNICATION
    return own


def _training_waits(units: Phases, optimizes: Booleans) -> Booleans:
    """Which units are waits for training batches [n]: those of iterators whose batch is followed by a backward."""
    is_wait = units.kind == RangeKind.LOADER
    waits = np.flatnonzero(is_wait)
    result = np.zeros(len(is_wait), bool)
    if not len(waits):
        return result
    works = np.concatenate([[0], np.cumsum(optimizes | (units.kind == RangeKind.BACKWARD))])
    until = np.concatenate([waits[1:], [len(is_wait)]])
    is_followed = works[until] > works[waits]
    # `__iter__` has no number: it belongs to the iterator of the next wait.
    iterator = units.value[waits].copy()
    numbered = np.flatnonzero(iterator > 0)
    if len(numbered):
        following = np.searchsorted(numbered, np.arange(len(waits)))
        iterator = iterator[numbered[np.minimum(following, len(numbered) - 1)]]
    iterators, inverse = np.unique(iterator, return_inverse=True)
    trains = np.zeros(len(iterators), bool)
    trains[inverse[is_followed]] = True
    result[waits] = trains[inverse]
    return result


def _steps(
    units: Phases, optimizes: Booleans, trains: Booleans, identity: Int64Array, resumes: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Steps [k, 2] ns, and the first and the last unit of each [k]."""
    candidates = np.flatnonzero(optimizes)
    waits = np.concatenate([[0], np.cumsum(trains)])
    takes_batch = waits[candidates[1:]] > waits[candidates[:-1]]
    ends = np.concatenate([takes_batch | _repeats(identity[candidates], takes_batch), [True]])
    last = candidates[ends]
    floor = np.concatenate([[-1], last[:-1]])
    # A wait that finds the end of the epoch does not begin a step: an evaluation may follow.
    takes = trains & ~units.has_ended
    works = np.flatnonzero(optimizes | takes | np.isin(units.kind, (RangeKind.FORWARD, RangeKind.BACKWARD)))
    first = works[np.searchsorted(works, floor, "right")]
    aside = np.flatnonzero(np.isin(units.kind, _ASIDE) | ((units.kind == RangeKind.LOADER) & ~trains))
    before = np.searchsorted(aside, first) - 1
    comes_between = before >= 0
    comes_between[comes_between] = aside[before[comes_between]] > floor[comes_between]
    start = np.where(floor >= 0, units.stop[np.maximum(floor, 0)], units.start[first])
    start[comes_between] = units.stop[aside[before[comes_between]]]
    if len(resumes):
        resumed = np.searchsorted(resumes, units.start[first], "right") - 1
        start = np.where(resumed >= 0, np.maximum(start, resumes[np.maximum(resumed, 0)]), start)
    # Units between the end of a step and the next step's first phase belong to the next step.
    since = np.where(floor >= 0, floor + 1, first)
    since[comes_between] = aside[before[comes_between]] + 1
    return np.column_stack([start, units.stop[last]]), since, last


def _repeats(identity: Int64Array, takes_batch: Booleans) -> Booleans:
    """Whether the next optimiser has already stepped in the same step, for each optimiser but the last [n - 1]."""
    if (identity == identity[0]).all():
        return np.ones(len(identity) - 1, bool)
    result = np.zeros(len(identity) - 1, bool)
    seen = {int(identity[0])}
    for index, (optimizer, is_new) in enumerate(
        zip(identity[1:].tolist(), takes_batch.tolist(), strict=True)
    ):
        if is_new or optimizer in seen:
            result[index] = True
            seen.clear()
        seen.add(optimizer)
    return result


def _evaluations(units: Phases, trains: Booleans) -> Int64Array:
    """Evaluations with their waits for batches, [n, 2] ns; a checkpoint does not end one."""
    is_part = ~trains & np.isin(units.kind, (RangeKind.EVALUATION, RangeKind.LOADER))
    breaks = np.cumsum(trains)
    parts = np.flatnonzero(is_part)
    if not len(parts):
        return np.empty((0, 2), np.int64)
    heads = np.flatnonzero(np.concatenate([[True], breaks[parts[1:]] != breaks[parts[:-1]]]))
    tails = np.concatenate([heads[1:], [len(parts)]]) - 1
    has_forward = np.add.reduceat((units.kind[parts] == RangeKind.EVALUATION).astype(np.int64), heads) > 0
    spans = np.column_stack([units.start[parts[heads]], units.stop[parts[tails]]])
    return spans[has_forward]
