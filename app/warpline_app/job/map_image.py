"""The cells of a map as an image: a pixel each where they fit, else the largest of the cells that share a pixel.

Painting costs the cells in view once, and pixels: 4,096 ranks × 1,000 steps are some milliseconds.
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
    """Rows in the order they are shown, float32 (rows, steps); what was not recorded is −inf, below every value."""
    found = cells[order]
    found[np.isnan(found)] = -np.inf
    return found


def largest_in_blocks(values: npt.NDArray[Any], edges: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """The largest of rows ``edges[i]`` to ``edges[i + 1]`` (at least one), for each column.

    One pass for each row of the largest block, each of them over whole rows: much faster than `maximum.reduceat`.
    """
    first = np.minimum(edges[:-1], len(values) - 1)
    last = np.maximum(np.minimum(edges[1:], len(values)), first + 1) - 1
    found: npt.NDArray[Any] = values[first]
    for depth in range(1, int((last - first).max(initial=0)) + 1):
        np.maximum(found, values[np.minimum(first + depth, last)], out=found)
    return found


def _block_edges(axis: Axis, pixels: int) -> npt.NDArray[np.int64]:
    """Which cells share each pixel; borders stay where they are while the view moves, so that nothing flickers."""
    per_pixel = (axis.stop - axis.start) / pixels
    begin = np.floor(axis.start / per_pixel) * per_pixel
    edges = np.floor(begin + per_pixel * np.arange(pixels + 1) + 1e-9).astype(np.int64)
    edges[-1] = max(edges[-1], cells_in_view(axis)[1])
    clipped: npt.NDArray[np.int64] = np.clip(edges, 0, axis.count)
    return clipped


def cells_in_view(axis: Axis) -> tuple[int, int]:
    """The first cell that is seen and the one after the last."""
    return max(int(axis.start), 0), min(int(np.ceil(axis.stop - 1e-9)), axis.count)


def values_image(
    cells: Float32Array, rows: Axis, steps: Axis, size_px: tuple[int, int]
) -> tuple[Float32Array, bool, bool]:
    """What is to be coloured of `ordered_cells`, float32 (down, across), and whether either direction was reduced to
    pixels; of a direction that was not, the image has a pixel for each cell of `cells_in_view`.

    ``size_px`` is (across, down) in pixels of the screen.
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
    """The same with each value above a limit on its neighbours, too, where there are at most ``most`` of them: one
    pixel of a screen is not seen.
    """
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
