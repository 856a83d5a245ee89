"""Draws events as codes (`codes`): columns for events shorter than a pixel, runs for boxes. Device pixels.

Each function writes to ``out``, uint16 of shape (lines, width), with compiled code (`compiled`) if available and else
with numpy; the results are equal.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.compiled import address
from warpline.model import Flag
from warpline_app.timeline.draw import codes, compiled
from warpline_app.timeline.model.group_columns import GroupColumns
from warpline_app.timeline.model.time_model import TimeScale

if TYPE_CHECKING:
    from warpline.storage.columns.strip import Strip
    from warpline_app.timeline.draw.event_colors import EventColors

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
UInt8Array = npt.NDArray[np.uint8]
UInt16Array = npt.NDArray[np.uint16]

HAIR_PX = 1 / 64
_HATCHED = np.zeros(codes.MAX_COLORS, bool)
_HATCHED[list(codes.HATCHED_COLORS)] = True


@dataclass(frozen=True, kw_only=True)
class Boxes:
    """Boxes: line, event row, start and stop (int64 ns), colour number, whether dimmed.

    A negative row is the number of a name (`OwnNames`): of an event that a query made.
    """

    line: Int64Array
    row: Int64Array
    start: Int64Array
    stop: Int64Array
    color: npt.NDArray[np.int32]
    dim: BoolArray

    def chosen(self, keep: BoolArray | Int64Array) -> Boxes:
        """The boxes where ``keep`` is true, or at the positions in it."""
        if keep.dtype == np.bool_:
            keep = np.flatnonzero(keep)
        return Boxes(
            line=self.line[keep],
            row=self.row[keep],
            start=self.start[keep],
            stop=self.stop[keep],
            color=self.color[keep],
            dim=self.dim[keep],
        )


def joined_boxes(parts: list[Boxes]) -> Boxes:
    """Concatenate boxes; at least one part."""
    some = [part for part in parts if len(part.row)]
    if len(some) <= 1:
        return some[0] if some else parts[0]
    return Boxes(
        **{
            name: np.concatenate([getattr(part, name) for part in some])
            for name in ("line", "row", "start", "stop", "color", "dim")
        }
    )


def draw_density(
    out: UInt16Array, strip: Strip, code_of: UInt16Array, dim: BoolArray | None, bin_px: int
) -> None:
    """Draw events shorter than a pixel: a column in the lane's hue, as high as the pixel is busy.

    ``strip`` has a column per ``bin_px`` pixels; ``code_of`` of shape (256, 256) is the code below the lowest column
    for each kind and flags; ``dim`` says for each cell of the strip whether its mark is dimmed.
    """
    lib = compiled.library()
    if lib is None:
        _density_with_numpy(out, strip, code_of, dim, bin_px)
        return
    lanes, columns = strip.busy.shape
    lib.warpline_density(
        lanes,
        columns,
        address(strip.busy),
        address(strip.mark_row),
        address(strip.mark_kind),
        address(strip.mark_flags),
        address(code_of),
        None if dim is None else address(dim),
        bin_px,
        out.shape[1],
        address(out),
    )


def _density_with_numpy(
    out: UInt16Array, strip: Strip, code_of: UInt16Array, dim: BoolArray | None, bin_px: int
) -> None:
    cells = np.zeros(strip.busy.shape, np.uint16)
    filled = np.flatnonzero((strip.mark_row.ravel() >= 0) | (strip.busy.ravel() > 0))
    busy = strip.busy.ravel()[filled]
    level = np.clip(np.ceil(busy * codes.LEVELS), 2, codes.LEVELS).astype(np.uint16)
    level[busy == 0] = codes.LEVELS // 2
    code = code_of[strip.mark_kind.ravel()[filled], strip.mark_flags.ravel()[filled]] + level
    if dim is not None:
        code[dim.ravel()[filled]] += codes.DIM_DENSITY - codes.DENSITY
    cells.ravel()[filled] = code
    out[:] = np.repeat(cells, bin_px, axis=1)[:, : out.shape[1]] if bin_px > 1 else cells


def color_waits(out: UInt16Array, strip: Strip, lanes: Int64Array, colors: EventColors, bin_px: int) -> None:
    """Give columns that `draw_density` drew as blocked the colour of their wait kind.

    One lookup per pixel of a thread's row, however many events it covers.
    """
    if colors.state_code < 0:
        return
    idle = strip.mark_flags & (Flag.IDLE | Flag.WAITING) == Flag.IDLE
    is_blocked = (strip.mark_kind == colors.state_code) & idle
    cell = np.flatnonzero(is_blocked & (strip.mark_row >= 0))
    columns, width = is_blocked.shape[1], out.shape[1]
    line = cell // columns
    code = _MORE_THAN_BLOCKED[colors.waiting_on(lanes, line, strip.mark_row.ravel()[cell])]
    flat = out.reshape(-1)
    if bin_px == 1:
        flat[cell] += code
        return
    for place in range(bin_px):
        x = (cell - line * columns) * bin_px + place
        inside = np.flatnonzero(x < width)
        flat[line[inside] * width + x[inside]] += code[inside]


_MORE_THAN_BLOCKED = ((np.arange(codes.MAX_COLORS) - codes.INDEX["blocked"]) * codes.VARIANTS).astype(
    np.uint16
)


def draw_boxes(out: UInt16Array, boxes: Boxes, flags: UInt8Array, scale: TimeScale, phase: int) -> None:
    """Write exact boxes as runs of codes, with a darker leading edge where there is room."""
    if not len(boxes.row):
        return
    lib = compiled.library()
    if lib is None:
        _boxes_with_numpy(out, boxes, flags, scale, phase)
        return
    columns = [
        np.ascontiguousarray(column)
        for column in (boxes.line, boxes.start, boxes.stop, boxes.color, boxes.dim, flags)
    ]
    described = compiled.CBoxes(
        *(address(column) for column in columns),
        len(boxes.row),
        address(_HATCHED),
        scale.start_ns,
        scale.width_px / scale.length_ns,
        HAIR_PX,
        phase,
    )
    lib.warpline_boxes(ctypes.byref(described), address(out), scale.width_px)


def _boxes_with_numpy(
    out: UInt16Array, boxes: Boxes, flags: UInt8Array, scale: TimeScale, phase: int
) -> None:
    width = scale.width_px
    # Shifted slightly right: an event at a pixel's edge stays in that pixel when a pan rounds by a nanosecond.
    low = np.floor(scale.to_px_array(boxes.start) + HAIR_PX).astype(np.int64)
    high = np.maximum(np.floor(scale.to_px_array(boxes.stop) + HAIR_PX).astype(np.int64), low + 1)
    first, last = np.clip(low, 0, width), np.clip(high, 0, width)
    n = last - first
    total = int(n.sum())
    if not total:
        return
    flat = out.ravel()
    origin = boxes.line * width + first
    position = np.repeat(origin - (np.cumsum(n) - n), n) + np.arange(total)
    hatched = _HATCHED[boxes.color]
    estimated = (flags & Flag.ESTIMATED) != 0
    plain = np.where(boxes.dim, codes.DIM, np.where(estimated, codes.ESTIMATED, codes.SOLID))
    variant = np.where(hatched, np.where(boxes.dim, codes.DIM_HATCH, codes.HATCH), plain)
    code = np.repeat(boxes.color * codes.VARIANTS + variant, n)
    if hatched.any():
        inside = np.repeat(hatched, n)
        code[inside] += (position[inside] % width + phase) % codes.HATCH_PHASES
    flat[position] = code
    base = boxes.color * codes.VARIANTS
    edged = np.flatnonzero((n >= 3) & (low >= 0) & ~hatched)
    flat[origin[edged]] = base[edged] + np.where(boxes.dim[edged], codes.DIM_EDGE, codes.EDGE)
    cut = np.flatnonzero((flags & (Flag.CUT_START | Flag.CUT_END)) != 0)
    for index in cut[n[cut] >= 8].tolist():
        torn = base[index] + (codes.DIM_CUT if boxes.dim[index] else codes.CUT)
        if flags[index] & Flag.CUT_START and low[index] >= 0:
            flat[origin[index] : origin[index] + 4] = torn
        if flags[index] & Flag.CUT_END and high[index] <= width:
            flat[origin[index] + n[index] - 4 : origin[index] + n[index]] = torn


def draw_groups(
    out: UInt16Array, groups: Sequence[GroupColumns], below: Sequence[int], scale: TimeScale
) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """Draw groups, a line each: events shorter than a pixel as columns on the code ``below``.

    Longer events are returned, to be drawn as boxes: line, row, start, stop.
    """
    lib = compiled.library()
    columns_of = [(g.start, g.duration, g.row, g.before, g.longest_of) for g in groups]
    if lib is None or not all(compiled.fits(column, np.int64) for some in columns_of for column in some):
        return _groups_with_numpy(out, groups, below, scale)
    described = np.zeros(len(groups), compiled.GROUP)
    for number, group in enumerate(groups):
        places = map(address, columns_of[number])
        described[number] = (*places, len(group.start), group.longest, below[number])
    busy, count = np.empty(scale.width_px), np.empty(scale.width_px, np.int64)
    capacity = len(groups) * (scale.width_px + 2)
    while True:
        columns = np.empty((4, capacity), np.int64)
        found = compiled.CFound(*(address(column) for column in columns), capacity, 0)
        lib.warpline_groups(
            address(described), len(groups), scale.start_ns, scale.stop_ns, scale.ns_per_px, scale.width_px,
            address(busy), address(count), address(out), ctypes.byref(found),
        )  # fmt: skip
        n = int(found.count)
        if n <= capacity:
            line, row, start, stop = columns[:, :n]
            return line, row, start, stop
        # Overlapping events can be more.
        capacity = n


def _groups_with_numpy(
    out: UInt16Array, groups: Sequence[GroupColumns], below: Sequence[int], scale: TimeScale
) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    pixel, width = scale.ns_per_px, scale.width_px
    columns_of_groups = []
    for number, group in enumerate(groups):
        low = int(group.start.searchsorted(scale.start_ns - group.longest, "left"))
        high = int(group.start.searchsorted(scale.stop_ns, "left"))
        begin, length = group.start[low:high] - scale.start_ns, group.duration[low:high]
        is_box = length >= pixel
        small = np.flatnonzero(~is_box & (begin >= 0))
        column = np.minimum(begin[small] / pixel, width - 1).astype(np.int64)
        busy = np.bincount(column, length[small], minlength=width) / pixel
        level = np.clip(np.ceil(busy * codes.LEVELS), 2, codes.LEVELS).astype(np.int64)
        out[number] = np.where(np.bincount(column, minlength=width) > 0, below[number] + level, 0)
        box = np.flatnonzero(is_box & (begin + length > 0)) + low
        start = group.start[box]
        columns_of_groups.append(
            (np.full(len(box), number), group.row[box], start, start + group.duration[box])
        )
    line, row, start, stop = (np.concatenate(column) for column in zip(*columns_of_groups, strict=True))
    return line, row, start, stop
