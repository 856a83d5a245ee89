"""The time-independent layout of a frame; kept while the view pans and zooms."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline_app.look.theme import Theme
from warpline_app.timeline.draw import compiled
from warpline_app.timeline.model.layout import Layout, Line, PlacedRow
from warpline_app.timeline.model.name_rows import NameGroup
from warpline_app.timeline.model.row import Content

Int64Array = npt.NDArray[np.int64]

_COVERED = -1


@dataclass(frozen=True)
class Spot:
    """A visible row in device pixels: top, height, clip border, background."""

    row: PlacedRow
    top: int
    height: int
    clip: int
    background: int


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A visible line of codes in device pixels."""

    row: PlacedRow
    line: Line
    top: int
    height: int
    clip: int
    background: int


@dataclass(frozen=True, kw_only=True)
class FramePlan:
    """``bars`` are those of ``lanes``, then those of ``groups``; ``tops`` and ``heights`` are their columns.

    ``whole`` marks bars not cut by the pinned area. ``bands`` (`compiled.BAND`) are the background between the bars.
    """

    layout: Layout
    spots: tuple[Spot, ...]
    curves: tuple[Spot, ...]
    bars: tuple[Bar, ...]
    lanes: tuple[int, ...]
    groups: tuple[NameGroup, ...]
    bands: npt.NDArray[Any]
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
                row=place.row,
                line=line,
                top=place.top + px(line.top),
                height=px(line.height),
                clip=place.clip,
                background=place.background,
            )
            if bar.top < height and bar.top + bar.height > bar.clip:
                (of_lanes if line.group is None else of_groups).append(bar)
    bars = (*of_lanes, *of_groups)
    tops = np.array([bar.top for bar in bars] or [0], np.int64)
    return FramePlan(
        layout=layout,
        spots=tuple(spots),
        curves=tuple(place for place in spots if place.row.row.content in {Content.CURVE, Content.COUNTER}),
        bars=bars,
        lanes=tuple(bar.line.lane for bar in of_lanes),
        groups=tuple(bar.line.group for bar in of_groups if bar.line.group is not None),
        bands=_bands(spots, bars, height, colors, max(1, int(ratio))),
        tops=tops,
        heights=np.array([bar.height for bar in bars] or [1], np.int64),
        whole=tops >= np.array([bar.clip for bar in bars] or [0], np.int64),
    )


def _bands(
    spots: list[Spot], bars: Sequence[Bar], height: int, colors: dict[str, int], thin: int
) -> npt.NDArray[Any]:
    """Row backgrounds, with a hairline above each group, where no bar covers them."""
    rows = np.full(max(1, height), colors["canvas"], np.int64)
    for place in spots:
        rows[max(place.top, place.clip, 0) : max(0, place.top + place.height)] = place.background
    for place in spots:
        if place.row.row.is_group and place.top >= place.clip:
            rows[max(0, place.top) : max(0, place.top + thin)] = colors["hairline"]
    for bar in bars:
        rows[max(bar.top, bar.clip, 0) : max(0, bar.top + bar.height)] = _COVERED
    edges = np.concatenate([[0], np.flatnonzero(np.diff(rows)) + 1, [len(rows)]])
    shown = rows[edges[:-1]] != _COVERED
    bands = np.zeros(int(shown.sum()), compiled.BAND)
    bands["first"], bands["last"], bands["rgb"] = edges[:-1][shown], edges[1:][shown], rows[edges[:-1][shown]]
    return bands


def sibling_index(row: PlacedRow) -> int:
    """Alternates from row to row: counted among siblings, so that expanding other rows does not change it."""
    parent = row.row.parent
    return parent.children.index(row.row) if parent is not None else 0
