"""Time and pixels without a window."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpline_app.timeline.model.time_model import AnchoredZoom, HeldMotion, TimeScale

FAR = 1 << 60


@given(st.integers(0, FAR), st.integers(1, 10**15), st.integers(1, 5000), st.integers(0, 5000))
def test_the_moment_under_a_pixel_lies_in_that_pixel(start: int, length: int, width: int, x: int) -> None:
    scale = TimeScale(start, start + length, width)
    x %= width
    moment = scale.to_ns(x)
    # Exact, in integers: moment is the last nanosecond at or before the pixel's left edge.
    assert (moment - start) * width <= x * length < (moment - start + 1) * width


@given(st.integers(2, 10**14), st.floats(0, 1), st.floats(1.05, 3), st.integers(0, FAR))
def test_zooming_to_one_nanosecond_and_back_ends_where_it_began(
    length: int, fraction: float, factor: float, start: int
) -> None:
    span = (start, start + length)
    view = span
    zoom = AnchoredZoom()
    steps = 0
    while view[1] - view[0] > 1 and steps < 2000:
        view = zoom.zoom(view, span, fraction, 1 / factor)
        steps += 1
        assert span[0] <= view[0] < view[1] <= span[1]
    assert view[1] - view[0] == 1
    for _ in range(steps):
        view = zoom.zoom(view, span, fraction, factor)
    assert view == span


@given(st.integers(1, 10**12), st.floats(0, 1), st.integers(0, 60))
def test_zooming_in_and_out_by_the_same_steps_is_no_drift(start: int, fraction: float, steps: int) -> None:
    span = (0, 10**13)
    view = first = (start, start + 10**9)
    zoom = AnchoredZoom()
    for _ in range(steps):
        view = zoom.zoom(view, span, fraction, 0.8)
    if view[1] - view[0] > 1:
        for _ in range(steps):
            view = zoom.zoom(view, span, fraction, 1.25)
        assert view == first


def test_the_anchor_stays_under_the_pointer() -> None:
    zoom = AnchoredZoom()
    view = zoom.zoom((0, 1_000_000), (0, 1_000_000), 0.25, 0.5)
    assert view == (125_000, 625_000)


@pytest.mark.parametrize(("view", "zoomed"), [((900, 1000), (800, 1000)), ((0, 100), (0, 200))])
def test_zooming_out_at_an_end_stays_in_the_capture(view: tuple[int, int], zoomed: tuple[int, int]) -> None:
    assert AnchoredZoom().zoom(view, (0, 1000), 0.5, 2.0) == zoomed


@given(st.integers(0, FAR), st.integers(2_000_000, 10**12), st.integers(-400, 400))
def test_a_pan_by_pixels_is_recognised_as_such(start: int, length: int, pixels: int) -> None:
    scale = TimeScale(start, start + length, 1999)
    assert scale.shift_px(scale.moved(pixels)) == pixels


def test_a_pan_below_a_nanosecond_still_moves() -> None:
    scale = TimeScale(100, 101, 2000)
    assert scale.moved(3).start_ns == 101
    assert scale.moved(-3).start_ns == 99


def test_another_length_is_no_neighbour() -> None:
    assert TimeScale(0, 1000, 100).shift_px(TimeScale(0, 1001, 100)) is None
    assert TimeScale(0, 100_000, 100).shift_px(TimeScale(500, 100_500, 100)) is None


def test_a_held_key_gets_faster() -> None:
    motion = HeldMotion()
    first = motion.advance(0.05)
    for _ in range(40):
        last = motion.advance(0.05)
    assert first == pytest.approx(0.05)
    assert last == pytest.approx(0.05 * motion.top_speed)
