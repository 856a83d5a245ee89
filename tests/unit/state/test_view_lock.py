"""Two timelines kept aligned."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpline_app.state.timeline_state import TimelineState
from warpline_app.state.view_lock import LockMode, ViewLock


def states() -> tuple[TimelineState, TimelineState]:
    return TimelineState(1_000, 11_000), TimelineState(500_000, 506_000)


def test_both_views_have_the_same_scale_and_offset_from_the_start() -> None:
    a, b = states()
    lock = ViewLock(a, b)
    assert lock.mode is LockMode.START
    a.set_view(3_000, 4_000)
    assert b.view == (502_000, 503_000)
    b.set_view(501_000, 505_000)
    assert a.view == (2_000, 6_000)
    # Beyond the end of the shorter one the longer one can still be looked at.
    a.set_view(9_000, 11_000)
    assert b.view == (508_000, 510_000)


def test_the_middle_step_starts_at_the_same_position() -> None:
    a, b = states()
    ViewLock(a, b, [2_000, 4_000, 6_000], [501_000, 502_000, 503_000])
    a.set_view(2_000, 3_000)
    assert b.view == (501_000, 502_000)
    a.set_view(6_000, 7_000)
    assert b.view == (503_000, 504_000)
    b.set_view(502_000, 502_500)
    assert a.view == (4_000, 4_500)


def test_marks_are_aligned() -> None:
    a, b = states()
    lock = ViewLock(a, b)
    assert not lock.can(LockMode.MARK)
    a.add_mark(2_000)
    a.add_mark(5_000, "loaded")
    b.add_mark(501_500, "loaded")
    assert lock.can(LockMode.MARK)
    lock.set_mode(LockMode.MARK)
    a.set_view(4_500, 5_500)
    assert b.view == (501_000, 502_000)


def test_free_mode_moves_one_view_only() -> None:
    a, b = states()
    lock = ViewLock(a, b)
    lock.set_mode(LockMode.FREE)
    assert a.span == (1_000, 11_000)
    a.set_view(3_000, 4_000)
    a.select_range(3_100, 3_200)
    assert b.range_selection is None
    b.show_all()
    assert b.view == (500_000, 506_000)


def test_selecting_and_clearing_a_range_affects_both() -> None:
    a, b = states()
    ViewLock(a, b)
    a.select_range(3_000, 4_000)
    assert b.range_selection == (502_000, 503_000)
    b.select_range(None)
    assert a.range_selection is None


def test_a_pair_of_ranges_is_aligned_until_the_view_leaves_it() -> None:
    a, b = states()
    lock = ViewLock(a, b, [2_000, 4_000], [501_000, 502_000])
    lock.show_pair((4_100, 4_600), (501_200, 501_300), margin=0.1)
    assert (a.view[0] - 4_100, a.view[1] - a.view[0]) == (b.view[0] - 501_200, b.view[1] - b.view[0])
    assert a.view[0] <= 4_100
    assert a.view[1] >= 4_600
    a.set_view(9_000, 9_500)
    assert b.view == (507_000, 507_500)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(-20_000, 30_000), st.integers(1, 30_000)), max_size=12),
    st.booleans(),
)
def test_both_views_always_have_the_same_scale(moves: list[tuple[bool, int, int]], has_steps: bool) -> None:
    a, b = states()
    steps = ([2_000, 4_000, 9_000], [501_000, 505_000, 505_500]) if has_steps else ((), ())
    ViewLock(a, b, *steps)
    for is_a, start, length in moves:
        state = a if is_a else b
        state.set_view(state.span[0] + start, state.span[0] + start + length)
        assert a.view[1] - a.view[0] == b.view[1] - b.view[0]


@pytest.mark.parametrize("mode", list(LockMode))
def test_every_mode_can_be_changed(mode: LockMode) -> None:
    a, b = states()
    lock = ViewLock(a, b, [2_000], [501_000])
    lock.set_mode(mode)
    lock.set_mode(LockMode.STEP)
    a.set_view(2_000, 2_100)
    assert b.view == (501_000, 501_100)
