"""Ticks of the ruler and their texts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpline_app.timeline.model.ticks import make_ticks, tick_step_ns


@pytest.mark.parametrize(
    ("length_ns", "width", "step"),
    [
        (10**9, 1000, 100_000_000),
        (1000, 1000, 100),
        (1, 2000, 1),
        (2_600_000, 1300, 200_000),
        (90, 1, 10_000),
    ],
)
def test_tick_steps_leave_room_for_their_texts(length_ns: int, width: int, step: int) -> None:
    assert tick_step_ns(length_ns, width) == step


def test_the_ruler_has_a_fixed_base_and_short_offsets() -> None:
    ticks = make_ticks(716_354_000, 718_954_000, 1300, 0)
    assert ticks.base == "716 ms"
    assert ticks.texts[:2] == ("400 µs", "600 µs")
    assert ticks.times[:2].tolist() == [716_400_000, 716_600_000]
    moved = make_ticks(716_384_000, 718_984_000, 1300, 0)
    assert moved.base == ticks.base
    # Counted from a mark, the same moments have other names.
    assert make_ticks(716_354_000, 718_954_000, 1300, 716_354_000).texts[0] == "0 µs"
    around = make_ticks(716_354_000, 718_954_000, 1300, 716_800_000)
    assert (around.base, around.texts[:4]) == ("", ("-400 µs", "-200 µs", "0 µs", "200 µs"))
    ahead = make_ticks(716_354_000, 718_954_000, 1300, 720_954_000)
    assert (ahead.base, ahead.texts[-1]) == ("-2 ms", "0 µs")
    assert (ahead.texts[-2], int(ahead.times[-2])) == ("-200 µs", 720_954_000 - 2_200_000)


@given(st.integers(0, 1 << 60), st.integers(1, 10**13), st.integers(0, 1 << 60))
@settings(max_examples=60)
def test_ticks_add_up(start: int, length: int, origin: int) -> None:
    ticks = make_ticks(start, start + length, 1500, origin)
    assert np.all((ticks.times - origin) % ticks.step_ns == 0)
    assert np.all((ticks.times >= start) & (ticks.times <= start + length))
    assert len(ticks.texts) == len(ticks.times) <= 18
