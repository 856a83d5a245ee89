"""The phases inside a run of a static graph, from the roles of its operators. Pure functions over columns.

Paddle's executor marks each run (``StandaloneExecutor::run``) and each operator, on whatever thread it runs. A program
has forward operators, their gradients (``…_grad``), and operators that update parameters (``adam_`` …).
"""

from __future__ import annotations

import re
from enum import IntEnum

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
RUN = "StandaloneExecutor::run"
PHASES = ("Forward", "Backward", "Optimization")
_GRADIENT = re.compile(r"(_grad)+_?$")
_UPDATE = re.compile(
    r"^(pd_op\.)?((fused|merged|distributed_fused|sparse)_)?(adadelta|adagrad|adam|adamax|adamw|asgd|decayed_adagrad"
    r"|dgc_momentum|dpsgd|ftrl|lamb|lars_momentum|momentum|nadam|radam|rmsprop|rprop|sgd)_?$"
)


class OperatorRole(IntEnum):
    """What an operator is for."""

    FORWARD = 0
    BACKWARD = 1
    OPTIMIZE = 2


def role_of(name: str) -> OperatorRole:
    """The role of the operator of this name."""
    if _GRADIENT.search(name):
        return OperatorRole.BACKWARD
    return OperatorRole.OPTIMIZE if _UPDATE.match(name) else OperatorRole.FORWARD


def phases_of_runs(
    run_start: Int64Array, run_stop: Int64Array, start: Int64Array, stop: Int64Array, role: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """(run, phase, start, stop) of the phases inside runs that train; times in ns, phases by index in `PHASES`.

    ``start``, ``stop``, ``role`` are of the operators of all threads of the process, in any order. The backward pass
    lasts from the first gradient to the end of the last one; updates that run beside it belong to it, and the
    optimisation is what follows. Runs without gradients have no phases.
    """
    order = np.argsort(start, kind="stable")
    start, stop, role = start[order], stop[order], role[order]
    found: list[tuple[int, int, int, int]] = []
    for run, (begin, end) in enumerate(zip(run_start.tolist(), run_stop.tolist(), strict=True)):
        inside = slice(*np.searchsorted(start, (begin, end)).tolist())
        roles = role[inside]
        gradients = np.flatnonzero(roles == OperatorRole.BACKWARD)
        if not len(gradients):
            continue
        first, last = int(start[inside][gradients[0]]), int(stop[inside][gradients].max())
        found.append((run, OperatorRole.FORWARD, int(start[inside][0]), first))
        found.append((run, OperatorRole.BACKWARD, first, min(last, end)))
        updates = stop[inside][roles == OperatorRole.OPTIMIZE]
        if len(updates) and updates.max() > last:
            found.append((run, OperatorRole.OPTIMIZE, last, min(int(updates.max()), end)))
    columns = np.array([row for row in found if row[3] > row[2]], np.int64).reshape(-1, 4)
    return columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3]
