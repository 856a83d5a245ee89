"""Pictures as rectangles: nothing is lost, nothing is drawn twice."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from warpline_app.timeline.draw.shapes import Rectangles, rectangles_of


def painted(shapes: Rectangles, height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    picture, times = np.zeros((height, width), np.int64), np.zeros((height, width), np.int64)
    for x, y, w, h, rgb in zip(shapes.x, shapes.y, shapes.width, shapes.height, shapes.rgb, strict=True):
        picture[y : y + h, x : x + w] = rgb
        times[y : y + h, x : x + w] += 1
    return picture, times


@given(
    arrays(
        np.uint32,
        st.tuples(st.integers(1, 9), st.integers(1, 12)),
        elements=st.sampled_from([0xFF000000, 0xFF112233, 0xFFFFFFFF]),
    )
)
def test_rectangles_cover_every_pixel_once_in_its_colour(pixels: np.ndarray) -> None:
    picture, times = painted(rectangles_of(pixels), *pixels.shape)
    assert (times == 1).all()
    assert (picture == (pixels & 0xFFFFFF)).all()


def test_a_bar_is_one_rectangle() -> None:
    pixels = np.full((30, 100), 0xFF202020, np.uint32)
    pixels[10:20, 30:60] = 0xFF5588CC
    shapes = rectangles_of(pixels)
    at = int(np.flatnonzero(shapes.rgb == 0x5588CC)[0])
    assert [shapes.x[at], shapes.y[at], shapes.width[at], shapes.height[at]] == [30, 10, 30, 10]
    assert len(shapes) == 5, "and what is above, below and on both sides of it"


def test_nothing_has_no_rectangles() -> None:
    assert len(rectangles_of(np.empty((0, 5), np.uint32))) == 0
