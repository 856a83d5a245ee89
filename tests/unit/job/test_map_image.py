"""Cells as pixels: exact where they fit, the largest of a pixel's cells where they do not, and colours that order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpline_app.job.color_scale import MISSING, STEPS, color_table, missing_color
from warpline_app.job.map_geometry import Axis
from warpline_app.job.map_image import (
    colored,
    largest_in_blocks,
    ordered_cells,
    values_image,
    with_outliers_marked,
)
from warpline_app.job.value_range import ValueRange, value_range
from warpline_app.look.theme import CONTRAST, CONTRAST_LIGHT, DARK, LIGHT, Theme, contrast_ratio, luminance


def cells_of(rows: int, steps: int, seed: int = 1) -> npt.NDArray[np.float32]:
    return np.random.default_rng(seed).normal(100, 5, (rows, steps)).astype(np.float32)


@given(st.integers(1, 60), st.integers(1, 25), st.integers(0, 1 << 16))
def test_blocks_hold_the_largest_of_their_rows(count: int, pixels: int, seed: int) -> None:
    values = cells_of(count, 3, seed)
    edges = np.floor(np.linspace(0, count, pixels + 1)).astype(np.int64)
    found = largest_in_blocks(values, edges)
    for block, (first, last) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        first = min(first, count - 1)
        assert found[block].tolist() == values[first : max(last, first + 1)].max(axis=0).tolist()


@given(st.integers(1, 400), st.integers(1, 300), st.integers(0, 399), st.integers(0, 299))
def test_one_outlier_is_seen_however_many_cells_share_its_pixel(
    rows: int, steps: int, row: int, step: int
) -> None:
    row, step = row % rows, step % steps
    cells = cells_of(rows, steps)
    cells[row, step] = 900
    size = (37, 23)
    axes = Axis.whole(rows, size[1], 30.0), Axis.whole(steps, size[0], 110.0)
    shown, is_tall, is_wide = values_image(cells, *axes, size)
    assert (is_tall, is_wide) == (rows > size[1], steps > size[0])
    assert shown.shape == (size[1] if is_tall else rows, size[0] if is_wide else steps)
    assert (shown == 900).sum() == 1
    y = int(row * size[1] / rows) if is_tall else row
    x = int(step * size[0] / steps) if is_wide else step
    at = np.argwhere(shown == 900)[0]
    assert abs(at[0] - y) <= 1
    assert abs(at[1] - x) <= 1


def test_zoomed_in_the_cells_in_view_are_shown_as_they_are() -> None:
    cells = cells_of(500, 400)
    rows = Axis.whole(500, 100.0, 30.0).between(100, 109)
    steps = Axis.whole(400, 200.0, 110.0).between(50, 59)
    shown, is_tall, is_wide = values_image(cells, rows, steps, (200, 100))
    assert not is_tall
    assert not is_wide
    assert np.array_equal(shown, cells[99:111, 49:61])


def test_moving_by_less_than_a_pixel_changes_no_pixel() -> None:
    cells = cells_of(1_000, 900)
    steps = Axis.whole(900, 100.0, 110.0)
    rows = Axis.whole(1_000, 80.0, 30.0).zoomed(0.5, 0.0).moved(100)
    first, *_ = values_image(cells, rows, steps, (100, 80))
    second, *_ = values_image(cells, rows.moved(6.25 * 5), steps, (100, 80))
    assert np.array_equal(first[5:], second[:-5])


def test_what_was_not_recorded_has_a_colour_that_no_value_has() -> None:
    cells = cells_of(3, 3)
    cells[1] = np.nan
    shown = ordered_cells(cells, np.array([1, 0, 2]))
    found = value_range(cells)
    assert found is not None
    pixels = colored(shown, found, color_table(DARK))
    assert set(pixels[0].tolist()) == {missing_color(DARK)}
    assert missing_color(DARK) not in pixels[1:]
    assert missing_color(DARK) not in color_table(DARK)[:STEPS]


def test_outliers_do_not_wash_the_others_out() -> None:
    cells = cells_of(64, 100)
    cells[7, 3] = 100_000
    found = value_range(cells)
    assert found is not None
    assert found.is_cut_above
    assert found.most == 100_000
    assert found.high < 150
    shades = found.shades(cells)
    assert shades[7, 3] == STEPS - 1
    assert np.delete(shades.ravel(), 7 * 100 + 3).std() > 20
    whole = value_range(cells, is_full=True)
    assert whole == ValueRange(found.least, 100_000, found.least, 100_000)


def test_of_a_few_values_none_is_an_outlier() -> None:
    found = value_range(np.array([[172, 165], [134, 169]], np.float32))
    assert found == ValueRange(134, 172, 134, 172)


def test_one_rank_that_waits_stands_out_of_ranks_that_do_not() -> None:
    cells = np.zeros((4_096, 50), np.float32)
    cells[77, ::5] = 3_000_000
    found = value_range(cells)
    assert found is not None
    assert (found.low, found.high) == (0, 3_000_000)
    assert found.shades(cells)[77, 0] == STEPS - 1


def test_differences_of_a_thousandth_are_not_painted_as_if_they_mattered() -> None:
    cells = (100 + 0.05 * cells_of(20, 20) / 100).astype(np.float32)
    found = value_range(cells)
    assert found is not None
    assert found.shades(cells).max() < STEPS // 20


@pytest.mark.parametrize("cells", [np.full((2, 2), np.nan, np.float32), np.empty((3, 0), np.float32)])
def test_without_values_there_is_no_range(cells: npt.NDArray[np.float32]) -> None:
    assert value_range(cells) is None


def test_equal_values_have_one_colour() -> None:
    found = value_range(np.full((3, 4), 7, np.float32))
    assert found is not None
    assert len(set(found.shades(np.full((3, 4), 7, np.float32)).ravel().tolist())) == 1


# Matrices of Machado, Oliveira, Fernandes (2009), severity 1.0, for linear RGB.
_BLINDNESS = {
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


@pytest.mark.parametrize("theme", [DARK, LIGHT, CONTRAST, CONTRAST_LIGHT], ids=lambda theme: theme.name)
@pytest.mark.parametrize("kind", [None, *_BLINDNESS])
def test_lightness_tells_the_order_to_everybody(theme: Theme, kind: str | None) -> None:
    colors = color_table(theme)[:STEPS]
    channels = np.stack([(colors >> shift) & 0xFF for shift in (16, 8, 0)], axis=1) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    if kind is not None:
        linear = np.clip(linear @ np.array(_BLINDNESS[kind]).T, 0, 1)
    light = linear @ np.array([0.2126, 0.7152, 0.0722])
    steps = np.diff(light) * (1 if theme.is_dark else -1)
    assert (steps > -1e-3).all()
    assert abs(light[-1] - light[0]) > 0.5
    # What stands out does so against the ground; what is usual is near to it.
    assert contrast_ratio(int(colors[-1]), theme.rgb("canvas")) > 7
    assert contrast_ratio(int(colors[0]), theme.rgb("canvas")) < 2
    assert luminance(int(colors[0])) != luminance(int(colors[MISSING - 1]))


def test_a_lone_outlier_is_marked_on_its_neighbours_and_many_are_not() -> None:
    values = np.ones((6, 7), np.float32)
    values[0, 3] = 9
    marked = with_outliers_marked(values, 5, 10)
    assert (marked == 9).sum() == 6
    assert (marked[:2, 2:5] == 9).all()
    assert with_outliers_marked(values, 5, 0) is values
    assert with_outliers_marked(values, 10, 10) is values
