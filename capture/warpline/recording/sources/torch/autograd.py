"""Matches autograd nodes with the operators that created them. Pure functions over columns.

PyTorch numbers the nodes that a thread creates. An operator records the number of the next node at its start, and a
node its own number. The last operator with a number created the node, because earlier ones created none. (Kineto links
them by the same rule, but leaves out more at the start.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Numbered:
    """Operators and nodes of one process [n]: start ns, ``sequence`` and ``thread`` as recorded."""

    start: Int64Array
    sequence: Int64Array
    thread: Int64Array

    @property
    def is_node(self) -> npt.NDArray[np.bool_]:
        """Which entries are executed nodes [n]."""
        return self.sequence <= -2

    @property
    def number(self) -> Int64Array:
        """The number of the node, or of the next node at an operator's start; −1 if unknown [n]."""
        return np.where(self.is_node, -2 - self.sequence, self.sequence)


def forward_of(table: Numbered) -> tuple[Int64Array, Int64Array]:
    """Indexes of operators and of the nodes of their derivatives, [k] each, in the order of the nodes' starts."""
    node = np.flatnonzero(table.is_node & (table.thread > 0))
    operator = np.flatnonzero((table.sequence >= 0) & (table.thread > 0))
    none = np.empty(0, np.int64)
    if not len(node) or not len(operator):
        return none, none
    node = node[np.argsort(table.start[node], kind="stable")]
    number = table.number
    order = operator[np.lexsort((table.start[operator], number[operator], table.thread[operator]))]
    threads, numbers, starts = table.thread[order], number[order], table.start[order]
    # Equal numbers of a thread are adjacent and sorted by start: find the last one before the node's start.
    group = np.concatenate([[0], np.cumsum((np.diff(threads) != 0) | (np.diff(numbers) != 0))])
    heads = np.flatnonzero(np.concatenate([[True], np.diff(group) != 0]))
    keys = _keys(threads[heads], numbers[heads])
    wanted = _keys(table.thread[node], number[node])
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    known = keys[at] == wanted
    rank = np.argsort(np.argsort(np.concatenate([starts, table.start[node]]), kind="stable"), kind="stable")
    step = len(rank) + 1
    place = np.searchsorted(group * step + rank[: len(starts)], at * step + rank[len(starts) :]) - 1
    known &= place >= 0
    known[known] = group[place[known]] == at[known]
    return order[place[known]], node[known]


def _keys(thread: Int64Array, number: Int64Array) -> Int64Array:
    """One ascending key for both; node numbers of a program stay below 2**48."""
    return (thread << 48) + np.minimum(number, (1 << 48) - 1)
