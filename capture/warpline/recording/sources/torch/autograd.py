"""Nodes of autograd -> the operators that they are the derivatives of. Pure functions over columns.

PyTorch numbers the nodes that a thread makes. An operator knows the number that the next node will get when it begins,
and a node its own. Of all operators that begin with a number, the last is the one that made the node: what ran before
it made none (the rule of Kineto's links, which leaves out more of them at the start).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Numbered:
    """Operators and nodes of one process [n]: start ns, ``sequence`` and ``thread`` as they are recorded."""

    start: Int64Array
    sequence: Int64Array
    thread: Int64Array

    @property
    def is_node(self) -> npt.NDArray[np.bool_]:
        """Which are nodes that ran [n]."""
        return self.sequence <= -2

    @property
    def number(self) -> Int64Array:
        """Of the node that ran, or that the operator was the next to make; −1 not known [n]."""
        return np.where(self.is_node, -2 - self.sequence, self.sequence)


def forward_of(found: Numbered) -> tuple[Int64Array, Int64Array]:
    """Places of operators, and of the nodes that are their derivatives, [k] each; in the order of the nodes' starts."""
    node = np.flatnonzero(found.is_node & (found.thread > 0))
    made = np.flatnonzero((found.sequence >= 0) & (found.thread > 0))
    none = np.empty(0, np.int64)
    if not len(node) or not len(made):
        return none, none
    node = node[np.argsort(found.start[node], kind="stable")]
    number = found.number
    order = made[np.lexsort((found.start[made], number[made], found.thread[made]))]
    threads, numbers, starts = found.thread[order], number[order], found.start[order]
    # Equal numbers of one thread stand together, by their starts: wanted is the last one before the node's start.
    group = np.concatenate([[0], np.cumsum((np.diff(threads) != 0) | (np.diff(numbers) != 0))])
    heads = np.flatnonzero(np.concatenate([[True], np.diff(group) != 0]))
    keys = _keys(threads[heads], numbers[heads])
    wanted = _keys(found.thread[node], number[node])
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    known = keys[at] == wanted
    rank = np.argsort(np.argsort(np.concatenate([starts, found.start[node]]), kind="stable"), kind="stable")
    step = len(rank) + 1
    place = np.searchsorted(group * step + rank[: len(starts)], at * step + rank[len(starts) :]) - 1
    known &= place >= 0
    known[known] = group[place[known]] == at[known]
    return order[place[known]], node[known]


def _keys(thread: Int64Array, number: Int64Array) -> Int64Array:
    """One number for both, ascending with them: numbers count nodes of one program and stay below 2**48."""
    return (thread << 48) + np.minimum(number, (1 << 48) - 1)
