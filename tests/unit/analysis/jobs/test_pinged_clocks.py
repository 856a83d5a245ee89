"""Ranks whose clocks were compared by pings while they were recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import Table
from warpline.analysis.jobs.clocks import RankClock
from warpline.analysis.jobs.pinged_clocks import (
    BOUND,
    ORIGIN,
    REFERENCE,
    PingedClock,
    pinged_clock,
    pinged_clocks,
)


def _facts(reference: str | None, origin_ns: int = 0, bound_ns: int = 0) -> Table:
    data: Any = {REFERENCE: [reference], ORIGIN: np.array([origin_ns]), BOUND: np.array([bound_ns])}
    columns = (
        Column(REFERENCE, "Clock", Role.CODE),
        Column(ORIGIN, "Start", Role.TIME),
        Column(BOUND, "Error", Role.DURATION),
    )
    return Table(columns, data)


def _met(rank: int, reference: int) -> RankClock:
    return RankClock(rank=rank, reference=reference, offset_ns=0, residual_ns=0, collectives=9, agreeing=1.0)


def test_a_capture_begins_on_the_clock_that_pinged_its_machine() -> None:
    clock: dict[str, Any] = {"reference": "here", "offset_ns": 40, "bound_ns": 3}
    meta: dict[str, Any] = {"start_monotonic_ns": 1_000, "host": {"clock": clock}}
    assert pinged_clock(meta) == PingedClock("here", 960, 3)
    for key, value in (("offset_ns", "4"), ("offset_ns", None), ("bound_ns", 1 << 62), ("reference", 5)):
        assert pinged_clock({**meta, "host": {"clock": {**clock, key: value}}}) is None
    assert pinged_clock({"host": {"clock": clock}}) is None
    assert pinged_clock({"host": "box"}) is None


def test_ranks_of_one_clock_are_aligned_within_both_bounds() -> None:
    facts = {
        0: _facts("a", 1_000, 5),
        1: _facts("a", 700, 8),
        2: _facts(None),
        3: _facts("b", 1),
        4: Table((), {}),
    }
    clocks = pinged_clocks(facts, {})
    assert {rank: (clock.offset_ns, clock.residual_ns) for rank, clock in clocks.items()} == {
        0: (0, 0),
        1: (300, 13),
    }
    assert all(clock.fits and clock.reference == 0 for clock in clocks.values())


@pytest.mark.parametrize(("reference", "expected"), [(1, 1), (4, 0)])
def test_clocks_by_collectives_are_left_and_joined_where_they_can_be(reference: int, expected: int) -> None:
    facts = {rank: _facts("a", 100 * rank, 1) for rank in range(3)}
    known = {1: _met(1, reference), 4: _met(4, reference)}
    clocks = pinged_clocks(facts, known)
    assert sorted(clocks) == [0, 2]
    assert {clock.reference for clock in clocks.values()} == {expected}
