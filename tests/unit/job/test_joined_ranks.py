"""Where joined ranks are placed, and how far they may still be apart."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from warpline.analysis.jobs.clocks import RankClock
from warpline_app.job.joined_ranks import _offsets


def test_the_residual_covers_what_two_ranks_disagree_by() -> None:
    rng = np.random.default_rng(3)
    errors = {0: 0, 1: 5_000_000, 2: -70_000}
    ends = {rank: error + rng.integers(-2_000, 2_000, 40) for rank, error in errors.items()}
    common = np.mean([ends[rank] - error for rank, error in errors.items()], axis=0)
    clocks = {
        rank: RankClock(
            rank=rank,
            reference=0,
            offset_ns=error,
            residual_ns=int(np.ceil(np.abs(ends[rank] - error - common).max())),
            collectives=40,
            agreeing=1.0,
        )
        for rank, error in errors.items()
    }
    offsets = _offsets(cast("Any", SimpleNamespace(clocks=clocks)), [1, 0, 2])
    for rank, (offset, method, residual) in offsets.items():
        assert method == "collectives"
        assert residual is not None
        assert np.abs(ends[rank] - offset - ends[1]).max() <= residual
    assert offsets[1] == (0, "collectives", 0)


def test_common_steps_leave_their_largest_deviation() -> None:
    starts = {0: np.array([10, 20, 30, -1]), 1: np.array([110, 121, 133, 140]), 2: np.array([10, -1, -1, -1])}
    steps = SimpleNamespace(ranks=np.array([0, 1, 2]), starts=starts.__getitem__)
    offsets = _offsets(cast("Any", SimpleNamespace(clocks={}, steps=steps)), [0, 1, 2])
    assert offsets == {0: (0, "steps", 0), 1: (101, "steps", 2), 2: (0, "steps", None)}
