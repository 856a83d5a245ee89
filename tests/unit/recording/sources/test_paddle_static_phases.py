"""Phases inside runs of Paddle's static graphs."""

from __future__ import annotations

import numpy as np
import pytest

from warpline.recording.sources.paddle.static_phases import PHASES, OperatorRole, phases_of_runs, role_of

# The operators that Paddle 3.3 marked in a run of a network of one layer with Adam; updates run beside gradients.
STEP = (
    ("pd_op.full", 0, 5), ("pd_op.matmul", 10, 20), ("pd_op.relu_", 20, 30), ("pd_op.mean", 30, 40),
    ("pd_op.mean_grad", 50, 60), ("pd_op.relu_grad_", 60, 70), ("pd_op.adam_", 66, 75),
    ("pd_op.matmul_grad", 70, 90), ("pd_op.adam_", 92, 97),
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("pd_op.matmul", OperatorRole.FORWARD),
        ("pd_op.subtract_grad", OperatorRole.BACKWARD),
        ("pd_op.square_grad_", OperatorRole.BACKWARD),
        ("matmul_v2_grad_grad", OperatorRole.BACKWARD),
        ("pd_op.adamw_", OperatorRole.OPTIMIZE),
        ("merged_momentum", OperatorRole.OPTIMIZE),
        ("sgd", OperatorRole.OPTIMIZE),
        ("pd_op.adaptive_avg_pool", OperatorRole.FORWARD),
        ("pd_op.gradient_merge", OperatorRole.FORWARD),
    ],
)
def test_names_tell_the_role_of_an_operator(name: str, role: OperatorRole) -> None:
    assert role_of(name) is role


def test_a_run_that_trains_has_three_phases_and_another_one_none() -> None:
    operators = [
        (name, start + 1000 * run, stop + 1000 * run) for run in (0, 2) for name, start, stop in STEP
    ]
    operators += [("pd_op.matmul", 1010, 1020), ("pd_op.mean", 1020, 1030)]  # an evaluation
    operators.reverse()
    names, start, stop = zip(*operators, strict=True)
    runs = np.array([-1, 1000, 1999])
    run, phase, begin, end = phases_of_runs(
        runs, runs + 101, np.array(start), np.array(stop), np.array([role_of(name) for name in names])
    )
    expected = [("Forward", 0, 50), ("Backward", 50, 90), ("Optimization", 90, 97)]
    found = [(PHASES[which], first, last) for which, first, last in zip(phase, begin, end, strict=True)]
    assert found[:3] == expected
    assert found[3:] == [(name, first + 2000, last + 2000) for name, first, last in expected]
    assert run.tolist() == [0, 0, 0, 2, 2, 2]


def test_nothing_to_optimise_and_nothing_at_all() -> None:
    none = np.empty(0, np.int64)
    assert [len(part) for part in phases_of_runs(none, none, none, none, none)] == [0, 0, 0, 0]
    columns = (np.array([0, 10]), np.array([10, 20]), np.array([OperatorRole.FORWARD, OperatorRole.BACKWARD]))
    _, phase, _, end = phases_of_runs(np.array([0]), np.array([15]), *columns)
    assert phase.tolist() == [OperatorRole.FORWARD, OperatorRole.BACKWARD]
    assert end.tolist() == [10, 15], "what a run did not end is cut"
