"""Where everything of a frame goes that does not depend on time; kept while the view pans and zooms."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline_app.theme import Theme

from .layout import Layout, Line, PlacedRow
from .name_index import NameGroup
from .rows import Content

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Spot:
    """A visible row in device pixels: top, height, the border it is clipped at, its background."""

    row: PlacedRow
    top: int
    height: int
    clip: int
    background: int


@dataclass(frozen=True)
class Bar:
    """A visible line of codes in device pixels."""

    row: PlacedRow
    line: Line
    top: int
    height: int
    clip: int
    background: int


@dataclass(frozen=True)
class FramePlan:
    """``bars`` are those of ``lanes``, then those of ``groups``; ``tops`` and ``heights`` are their columns.

    ``whole`` tells which bars are not cut by the pinned area. ``fills`` are bands of one colour: first, last, rgb.
    """

    layout: Layout
    spots: tuple[Spot, ...]
    curves: tuple[Spot, ...]
    bars: tuple[Bar, ...]
    lanes: tuple[int, ...]
    groups: tuple[NameGroup, ...]
    fills: tuple[tuple[int, int, int], ...]
    tops: Int64Array
    heights: Int64Array
    whole: npt.NDArray[np.bool_]


def make_plan(
    layout: Layout, scroll_px: int, height_px: int, ratio: float, theme: Theme, failed: Container[str]
) -> FramePlan:
    """The plan for rows scrolled to ``scroll_px`` on a canvas of ``height_px`` (logical pixels)."""
    colors = {name: theme.rgb(name) for name in ("canvas", "alternate", "group", "hairline")}

    def px(logical: float) -> int:
        return round(logical * ratio)

    def spot(row: PlacedRow, top: int, clip: int, index: int) -> Spot:
        background = colors["group" if row.row.is_group else "alternate" if index % 2 else "canvas"]
        return Spot(row, px(top), px(row.height), px(clip), background)

    area = layout.pinned_height
    spots = [spot(row, row.top, 0, 0) for row in layout.pinned if row.top < height_px]
    spots += [
        spot(row, row.top + area - scroll_px, area, sibling_index(row))
        for row in layout.between(scroll_px, scroll_px + height_px - area)
    ]
    height = px(height_px)
    of_lanes: list[Bar] = []
    of_groups: list[Bar] = []
    for place in spots:
        if place.row.row.key in failed:
            continue
        for line in place.row.lines:
            bar = Bar(
                place.row, line, place.top + px(line.top), px(line.height), place.clip, place.background
            )
            if bar.top < height and bar.top + bar.height > bar.clip:
                (of_lanes if line.group is None else of_groups).append(bar)
    bars = (*of_lanes, *of_groups)
    tops = np.array([bar.top for bar in bars] or [0], np.int64)
    return FramePlan(
        layout,
        tuple(spots),
        tuple(place for place in spots if place.row.row.content in {Content.CURVE, Content.COUNTER}),
        bars,
        tuple(bar.line.lane for bar in of_lanes),
        tuple(bar.line.group for bar in of_groups if bar.line.group is not None),
        tuple(_fills(spots, height, colors, max(1, int(ratio)))),
        tops,
        np.array([bar.height for bar in bars] or [1], np.int64),
        tops >= np.array([bar.clip for bar in bars] or [0], np.int64),
    )


def _fills(spots: list[Spot], height: int, colors: dict[str, int], thin: int) -> list[tuple[int, int, int]]:
    """One fill for each run of rows with the same background, and a hairline above each group."""
    runs: list[tuple[int, int, int]] = []
    for place in spots:
        first, last = max(place.top, place.clip), min(place.top + place.height, height)
        if runs and runs[-1][2] == place.background and runs[-1][1] >= first:
            runs[-1] = (runs[-1][0], last, place.background)
        else:
            runs.append((first, last, place.background))
    fills: list[tuple[int, int, int]] = []
    reached = 0
    for first, last, rgb in runs:
        if first > reached:
            fills.append((reached, first, colors["canvas"]))
        fills.append((first, last, rgb))
        reached = max(reached, last)
    fills.append((reached, height, colors["canvas"]))
    fills += [
        (place.top, place.top + thin, colors["hairline"])
        for place in spots
        if place.row.row.is_group and place.top >= place.clip
    ]
    return fills


def sibling_index(row: PlacedRow) -> int:
    """A number that alternates from row to row: counted among siblings, so it stays when others open."""
    parent = row.row.parent
    return parent.children.index(row.row) if parent is not None else 0
