"""Rows and steps in view: zooming keeps the cell under the pointer, nothing moves beyond the cells there are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpline_app.job.map_geometry import Axis

_ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("zoom"), st.floats(0.2, 5.0), st.floats(0.0, 1.0)),
        st.tuples(st.just("move"), st.floats(-50.0, 50.0), st.just(0.0)),
        st.tuples(st.just("size"), st.floats(20.0, 3_000.0), st.just(0.0)),
        st.tuples(st.just("show"), st.floats(0.0, 1.0), st.just(0.0)),
    ),
    max_size=12,
)


@given(st.integers(1, 5_000), st.floats(20.0, 3_000.0), _ACTIONS)
def test_whatever_is_done_cells_stay_in_view(
    count: int, size_px: float, actions: list[tuple[str, float, float]]
) -> None:
    axis = Axis.whole(count, size_px, 30.0)
    for what, value, at in actions:
        if what == "zoom":
            axis = axis.zoomed(value, at * axis.size_px)
        elif what == "move":
            axis = axis.moved(value)
        elif what == "size":
            axis = axis.resized(value)
        else:
            cell = min(int(value * count), count - 1)
            axis = axis.showing(cell)
            if axis.length >= 1:
                assert axis.start <= cell + 1e-6
                assert cell + 1 <= axis.start + axis.length + 1e-6
        assert 0 <= axis.start <= axis.stop <= count
        assert axis.start + axis.length >= min(axis.length, count) - 1e-6
        assert axis.is_whole or axis.stop == pytest.approx(axis.start + axis.length)


@given(st.integers(10, 5_000), st.floats(0.05, 0.95), st.floats(1.05, 4.0))
def test_what_is_under_the_pointer_stays_there(count: int, at: float, factor: float) -> None:
    axis = Axis.whole(count, 800.0, 30.0).zoomed(0.25, 400.0)
    before = axis.start + at * 800 / axis.cell_px
    closer = axis.zoomed(1 / factor, at * 800)
    assert closer.start + at * 800 / closer.cell_px == pytest.approx(before)


def test_a_small_map_does_not_grow_huge_but_can_be_zoomed() -> None:
    axis = Axis.whole(4, 800.0, 30.0)
    assert axis.cell_px == 30
    assert axis.cell_at(119) == 3
    assert axis.cell_at(121) is None
    assert axis.zoomed(0.5, 0.0).cell_px == 60
    assert axis.zoomed(2.0, 0.0) == axis


def test_what_is_framed_is_in_view_with_its_neighbours() -> None:
    axis = Axis.whole(1_000, 800.0, 30.0).between(500, 509)
    assert axis.start == 499
    assert axis.stop == pytest.approx(511)
    assert Axis.whole(1_000, 800.0, 30.0).between(999, 999).stop == 1_000
