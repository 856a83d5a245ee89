"""Where the steps of a training begin and end, told from its phases. Pure functions over columns.

A step ends with the last ``Optimizer.step`` before the next batch is taken, or before one of the same optimisers steps
again: so gradient accumulation (many batches, one optimiser step) and several optimisers (one batch, many) are one step
each, and a loop without a loader has a step for each turn. It begins where the one before ended; where an evaluation or
a checkpoint came between, where that ended; the first one with its first phase. A run of a static graph that trains is
the whole work of a step in one phase, and ends it as an optimiser does.
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
    """What one thread did, as columns [n] in the order of their starts, the outer before the inner; ns."""

    start: Int64Array
    stop: Int64Array
    kind: Int64Array
    value: Int64Array
    has_ended: Booleans
    """Of waits for a batch: there was no further one."""

    def take(self, rows: npt.NDArray[np.int64] | Booleans) -> Phases:
        """Some of them."""
        return Phases(
            self.start[rows], self.stop[rows], self.kind[rows], self.value[rows], self.has_ended[rows]
        )


@dataclass(frozen=True)
class Training:
    """Steps and evaluations of one thread, ns. ``in_step`` [n] says which phases are the steps' own, ``start`` [n]
    where each begins; what an optimiser was handed to call is not counted as its own.
    """

    steps: Int64Array
    """int64 [steps, 2]"""
    evaluations: Int64Array
    """int64 [evaluations, 2]"""
    start: Int64Array
    in_step: Booleans


def order_of(start: Int64Array, stop: Int64Array) -> Int64Array:
    """The order that `Phases` wants."""
    return np.lexsort((-stop, start))


def outermost(start: Int64Array, stop: Int64Array) -> Booleans:
    """Which of these lie in no other [n]; in the order of `order_of`."""
    if not len(start):
        return np.zeros(0, bool)
    before = np.concatenate([[np.iinfo(np.int64).min], np.maximum.accumulate(stop)[:-1]])
    result: Booleans = start >= before
    return result


def understand(phases: Phases, resumes: npt.ArrayLike = ()) -> Training:
    """The steps of a thread's phases; ``resumes`` are moments at which the recording went on after a pause (ns)."""
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
    # The first optimiser of a unit tells it: rows are written last to first.
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
    """Starts [n]; an optimiser that calls a closure begins for us where the last forward or backward in it ended."""
    start = phases.start.copy()
    at = np.flatnonzero(top)
    inner = np.flatnonzero(~top & np.isin(phases.kind, _CLOSURE))
    inner = inner[phases.kind[at[unit[inner]]] == RangeKind.OPTIMIZER]
    np.maximum.at(start, at[unit[inner]], phases.stop[inner])
    return start


def _own(phases: Phases, top: Booleans, unit: Int64Array) -> Booleans:
    """Which phases count: the outermost, and forward and backward that an optimiser calls. What is called in
    backward (a forward that is computed again, say) is part of backward.
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
    """Which units are waits for a batch to train on [n]: of iterators after whose batch a backward came."""
    is_wait = units.kind == RangeKind.LOADER
    waits = np.flatnonzero(is_wait)
    result = np.zeros(len(is_wait), bool)
    if not len(waits):
        return result
    works = np.concatenate([[0], np.cumsum(optimizes | (units.kind == RangeKind.BACKWARD))])
    until = np.concatenate([waits[1:], [len(is_wait)]])
    is_followed = works[until] > works[waits]
    # `__iter__` has no number of its own: it is of the iterator that is waited for next.
    iterator = units.value[waits].copy()
    numbered = np.flatnonzero(iterator > 0)
    if len(numbered):
        following = np.searchsorted(numbered, np.arange(len(waits)))
        iterator = iterator[numbered[np.minimum(following, len(numbered) - 1)]]
    found, inverse = np.unique(iterator, return_inverse=True)
    trains = np.zeros(len(found), bool)
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
    # The wait that finds the epoch over begins no step: an evaluation may follow.
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
    # What comes between the end of a step and the next one's first phase belongs to that one.
    since = np.where(floor >= 0, floor + 1, first)
    since[comes_between] = aside[before[comes_between]] + 1
    return np.column_stack([start, units.stop[last]]), since, last


def _repeats(identity: Int64Array, takes_batch: Booleans) -> Booleans:
    """Whether after each optimiser but the last one comes that has stepped already in the same step [n - 1]."""
    if (identity == identity[0]).all():
        return np.ones(len(identity) - 1, bool)
    result = np.zeros(len(identity) - 1, bool)
    seen = {int(identity[0])}
    for place, (optimizer, is_new) in enumerate(
        zip(identity[1:].tolist(), takes_batch.tolist(), strict=True)
    ):
        if is_new or optimizer in seen:
            result[place] = True
            seen.clear()
        seen.add(optimizer)
    return result


def _evaluations(units: Phases, trains: Booleans) -> Int64Array:
    """Runs of evaluation and its waits for batches, [n, 2] ns; a checkpoint between does not end one."""
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
