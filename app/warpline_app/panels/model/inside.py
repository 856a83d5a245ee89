"""Selects the modules inside a module and the order of their calls, for the graph."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.report import Table
from warpline.analysis.steps.module_flow import NOBODY, ModuleFlow

TOP = -1
"""In place of a row: modules without a caller."""
MOST_NODES = 80
_WHOLE = {
    "self_ns": "total_ns",
    "gpu_self_ns": "gpu_total_ns",
    "backward_self_ns": "backward_ns",
    "gpu_self_kept_bytes": "gpu_kept_bytes",
    "host_self_kept_bytes": "host_kept_bytes",
    "self_parameters": "parameters",
    "count": "count",
}
"""Inclusive columns for the exclusive ones."""


def rows_inside(table: Table, root: int) -> list[int]:
    """Rows of the modules that a row's module calls; `TOP`: those without a caller."""
    depth = np.asarray(table.depth)
    level = 0 if root == TOP else int(depth[root]) + 1
    below = depth[root + 1 :]
    ends = np.flatnonzero(below < level)
    stop = root + 1 + (int(ends[0]) if len(ends) else len(below))
    return (root + 1 + np.flatnonzero(depth[root + 1 : stop] == level)).tolist()


def row_above(table: Table, row: int) -> int:
    """Row of the calling module; `TOP` if there is none."""
    depth = np.asarray(table.depth)
    above = np.flatnonzero(depth[: max(row, 0)] < depth[row]) if row >= 0 else depth[:0]
    return int(above[-1]) if len(above) else TOP


def first_with_choice(table: Table, root: int = TOP) -> int:
    """Where to start: skips modules that contain only one other module."""
    while len(rows := rows_inside(table, root)) == 1 and rows_inside(table, rows[0]):
        root = rows[0]
    return root


def shares_inside(table: Table, root: int, rows: list[int], measure: str) -> list[float]:
    """Share 0–1 of each row in the enclosing module."""
    values = np.maximum(np.asarray(table.data[_WHOLE[measure]]).astype(np.float64), 0.0)
    whole = values[rows].sum() if root == TOP or measure == "count" else values[root]
    # One module may retain memory that a nested one releases.
    return [min(float(value), 1.0) for value in values[rows] / max(whole, 1.0)]


def graph_inside(table: Table, flow: ModuleFlow, root: int) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Rows of the modules inside one, first called first, and their edges (index, index, count)."""
    rows = rows_inside(table, root)[:MOST_NODES]
    names = (
        np.asarray(table.targets.names) if table.targets.names is not None else np.zeros(len(table), np.int64)
    )
    caller = NOBODY if root == TOP else int(names[root])
    row_of = {int(names[row]): row for row in reversed(rows)}
    pairs = [
        (row_of[first], row_of[second], count)
        for first, second, count in flow.inside(caller)
        if first in row_of and second in row_of and first != second
    ]
    # A starting module is left once more than it is entered.
    surplus = dict.fromkeys(rows, 0)
    for first, second, count in pairs:
        surplus[first] += count
        surplus[second] -= count
    rows.sort(key=lambda row: -surplus[row])
    place = {row: number for number, row in enumerate(rows)}
    return rows, [(place[first], place[second], count) for first, second, count in pairs]
