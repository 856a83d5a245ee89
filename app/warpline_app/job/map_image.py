"""The cells of a map as an image: one pixel per cell, or the largest value among cells that share a pixel.

Painting costs one pass over the cells in view: a few milliseconds for 4,096 ranks × 1,000 steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warpline_app.job.color_scale import ColorTable
from warpline_app.job.map_geometry import Axis
from warpline_app.job.value_range import ValueRange

Float32Array = npt.NDArray[np.float32]
PixelArray = npt.NDArray[np.uint32]


def ordered_cells(cells: Float32Array, order: npt.NDArray[np.int64]) -> Float32Array:
    """Rows in display order, float32 (rows, steps); missing values become −inf, below every value."""
    found = cells[order]
    found[np.isnan(found)] = -np.inf
    return found


def largest_in_blocks(values: npt.NDArray[Any], edges: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Maximum over rows ``edges[i]`` to ``edges[i + 1]`` (at least one), for each column.

    Makes one pass per row of the largest block over whole rows: much faster than `maximum.reduceat`.
    """
    first = np.minimum(edges[:-1], len(values) - 1)
    last = np.maximum(np.minimum(edges[1:], len(values)), first + 1) - 1
    found: npt.NDArray[Any] = values[first]
    for depth in range(1, int((last - first).max(initial=0)) + 1):
        np.maximum(found, values[np.minimum(first + depth, last)], out=found)
    return found


def _block_edges(axis: Axis, pixels: int) -> npt.NDArray[np.int64]:
    """Borders of the cells that share each pixel. They stay in place while the view moves, to avoid flicker."""
    per_pixel = (axis.stop - axis.start) / pixels
    begin = np.floor(axis.start / per_pixel) * per_pixel
    edges = np.floor(begin + per_pixel * np.arange(pixels + 1) + 1e-9).astype(np.int64)
    edges[-1] = max(edges[-1], cells_in_view(axis)[1])
    clipped: npt.NDArray[np.int64] = np.clip(edges, 0, axis.count)
    return clipped


def cells_in_view(axis: Axis) -> tuple[int, int]:
    """The first visible cell and the one after the last."""
    return max(int(axis.start), 0), min(int(np.ceil(axis.stop - 1e-9)), axis.count)


def values_image(
    cells: Float32Array, rows: Axis, steps: Axis, size_px: tuple[int, int]
) -> tuple[Float32Array, bool, bool]:
    """The values to colour, float32 (down, across), and whether each direction was reduced to pixels.

    A direction that was not reduced has one pixel per cell of `cells_in_view`. ``size_px`` is (across, down) in
    screen pixels.
    """
    across, down = size_px
    top, bottom = cells_in_view(rows)
    left, right = cells_in_view(steps)
    is_tall, is_wide = rows.stop - rows.start > down, steps.stop - steps.start > across
    view = cells[:, left:right]
    if is_tall:
        view = largest_in_blocks(view, _block_edges(rows, down))
    else:
        view = view[top:bottom]
    if is_wide:
        edges = np.maximum(_block_edges(steps, across) - left, 0)
        view = np.ascontiguousarray(largest_in_blocks(np.ascontiguousarray(view.T), edges).T)
    return view, is_tall, is_wide


def with_outliers_marked(values: Float32Array, above: float, most: int) -> Float32Array:
    """Copy each value above a limit to its neighbours, if there are at most ``most``: one pixel would be missed."""
    places = np.argwhere(values > above)
    if not 0 < len(places) <= most:
        return values
    marked = values.copy()
    last = np.array(values.shape) - 1
    for down in (-1, 0, 1):
        for across in (-1, 0, 1):
            near = np.clip(places + np.array((down, across)), 0, last)
            np.maximum.at(marked, tuple(near.T), values[tuple(places.T)])
    return marked


def colored(values: Float32Array, found: ValueRange, colors: ColorTable) -> PixelArray:
    """Values as 0xffrrggbb, uint32 of the same shape."""
    return colors[found.shades(values)]
