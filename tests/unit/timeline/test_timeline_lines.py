"""Compiled loops of lines and pixels against their numpy twins, and both against what they are to draw."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtGui import QImage
from tests.unit.effort import rounds

from warpline_app.look.painting import painting
from warpline_app.look.theme import DARK
from warpline_app.timeline.draw import codes, compiled, compositor
from warpline_app.timeline.draw import lane_codes as lines
from warpline_app.timeline.draw.codes import ColorTable
from warpline_app.timeline.draw.compositor import Bars, Frame, Place, empty_codes, make_bars
from warpline_app.timeline.draw.lane_codes import Boxes
from warpline_app.timeline.model.group_columns import GroupColumns
from warpline_app.timeline.model.time_model import TimeScale

needs_library = pytest.mark.skipif(compiled.library() is None, reason="the loops are not compiled here")
SEEDS = st.integers(0, 2**32 - 1)
EXAMPLES = settings(max_examples=rounds(25), deadline=None)


def random_scale(rng: np.random.Generator, start_ns: int = 0) -> TimeScale:
    length = int(rng.choice([7, 900, 10**5, 10**9]))
    return TimeScale(start_ns, start_ns + length, int(rng.integers(1, 400)))


def random_events(
    rng: np.random.Generator, scale: TimeScale, n: int, *, overlap: bool = False
) -> tuple[Any, Any]:
    unit = max(1, int(scale.ns_per_px * rng.choice([0.1, 1, 20])))
    duration = rng.integers(0, 2 * unit + 1, n)
    gap = rng.integers(0, unit + 1, n)
    start = np.cumsum(gap if overlap else gap + np.r_[0, duration[:-1]])
    return (start + scale.start_ns - int(rng.integers(0, max(1, int(start[-1]))))).astype(np.int64), duration


def random_boxes(rng: np.random.Generator, scale: TimeScale, line_count: int, n: int) -> Boxes:
    start, duration = random_events(rng, scale, n)
    return Boxes(
        line=np.sort(rng.integers(0, line_count, n)),
        row=np.arange(n),
        start=start,
        stop=start + duration,
        color=rng.integers(1, codes.FIRST_CUSTOM, n).astype(np.int32),
        dim=rng.random(n) < 0.2,
    )


@needs_library
@EXAMPLES
@given(SEEDS)
def test_boxes_are_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = random_scale(rng, int(rng.choice([0, 2**60])))
    boxes = random_boxes(rng, scale, 3, 60)
    flags = rng.integers(0, 64, 60).astype(np.uint8)
    ours = rng.integers(0, 9, (3, scale.width_px)).astype(np.uint16)
    theirs = ours.copy()
    phase = int(rng.integers(0, codes.PHASES))
    lines.draw_boxes(ours, boxes, flags, scale, phase)
    lines._boxes_with_numpy(theirs, boxes, flags, scale, phase)
    assert np.array_equal(ours, theirs)


@needs_library
@pytest.mark.parametrize("time_ns", [-(2**63), 2**63 - 1, -(2**62), 2**62])
def test_damaged_times_stay_inside_their_line(time_ns: int) -> None:
    scale = TimeScale(0, 1000, 50)
    out = np.zeros((3, 50), np.uint16)
    boxes = random_boxes(np.random.default_rng(1), scale, 3, 4)
    boxes = replace(
        boxes, line=np.ones(4, np.int64), start=np.full(4, time_ns), stop=np.array([time_ns, 5, -5, 500])
    )
    lines.draw_boxes(out, boxes, np.full(4, 255, np.uint8), scale, 0)
    assert not out[[0, 2]].any()
    for n in (1, 300):
        group = GroupColumns.of(
            np.arange(4 * n), np.tile(boxes.start, n), np.tile([time_ns, -1, 0, 10**6], n)
        )
        found = lines.draw_groups(out[1:2], [group], [100], scale)
        assert len({len(column) for column in found}) == 1
    assert not out[[0, 2]].any()


@needs_library
@EXAMPLES
@given(SEEDS)
def test_columns_are_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (3, int(rng.integers(1, 300)))
    busy = np.where(rng.random(shape) < 0.5, rng.random(shape), rng.choice([0, 1, 0.5, 1 / 16], shape))
    strip: Any = SimpleNamespace(
        busy=busy.astype(np.float32),
        mark_row=rng.integers(-1, 2, shape),
        mark_kind=rng.integers(0, 256, shape).astype(np.uint8),
        mark_flags=rng.integers(0, 256, shape).astype(np.uint8),
    )
    code_of = rng.integers(0, 40_000, (256, 256)).astype(np.uint16)
    dim = None if seed % 2 else rng.random(shape[0] * shape[1]) < 0.3
    bin_px = int(rng.integers(1, 4))
    width = max(1, shape[1] * bin_px - int(rng.integers(0, bin_px)))
    ours, theirs = (np.full((3, width), 7, np.uint16) for _ in range(2))
    lines.draw_density(ours, strip, code_of, dim, bin_px)
    lines._density_with_numpy(theirs, strip, code_of, dim, bin_px)
    assert np.array_equal(ours, theirs)
    empty = np.repeat((strip.mark_row < 0) & (strip.busy == 0), bin_px, axis=1)[:, :width]
    assert not ours[empty].any()


@needs_library
@EXAMPLES
@given(SEEDS)
def test_groups_are_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = random_scale(rng, int(rng.choice([0, 2**60])))
    groups = []
    # So many on so few pixels that columns come from sums, a few, and one.
    for n in (4000 if seed % 2 else 400, 30, 1):
        start, duration = random_events(rng, scale, n, overlap=bool(rng.integers(0, 2)))
        groups.append(GroupColumns.of(rng.integers(0, 10**6, n), start, duration))
    below = [640, 1000, 20_000]
    ours, theirs = (np.full((3, scale.width_px), 7, np.uint16) for _ in range(2))
    found = lines.draw_groups(ours, groups, below, scale)
    expected = lines._groups_with_numpy(theirs, groups, below, scale)
    assert np.array_equal(ours, theirs)
    for column, other in zip(found, expected, strict=True):
        assert np.array_equal(column, other)
    start, duration = groups[0].start, groups[0].duration
    seen = (start < scale.stop_ns) & (start + duration > scale.start_ns) & (duration >= scale.ns_per_px)
    assert np.array_equal(found[2][found[0] == 0], start[seen])


@needs_library
@EXAMPLES
@given(SEEDS)
def test_damaged_groups_stay_inside_their_line(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = random_scale(rng)
    out = np.zeros((3, scale.width_px), np.uint16)
    n = int(rng.choice([3, 5000]))
    wild = rng.integers(-(2**63), 2**63 - 1, (2, n)) >> rng.integers(0, 60, (2, n))
    start, duration = wild[0], wild[1]
    start[: n // 2].sort()
    lines.draw_groups(out[1:2], [GroupColumns.of(np.arange(n), start, duration)], [100], scale)
    assert not out[[0, 2]].any()


class Bar(SimpleNamespace):
    """What `make_bars` needs of a bar."""


def random_frame(rng: np.random.Generator) -> Frame:
    """In memory of its own, or in a wider picture of somebody's."""
    width, height, origin = (int(rng.integers(1, most)) for most in (300, 90, 40))
    stride = width + origin
    place = Place(np.empty(stride * height, np.uint32), origin, stride) if rng.integers(2) else None
    frame = Frame(width, height, 1.0, place)
    frame.pixels[:] = rng.integers(0, 2**32, frame.pixels.shape)
    first = int(rng.integers(0, frame.width))
    frame.limit(first, int(rng.integers(first, frame.width)) + 1)
    return frame


def twin(frame: Frame) -> Frame:
    other = Frame(frame.width, frame.height, 1.0)
    other.pixels[:] = frame.pixels
    other.limit(frame.first, frame.stop)
    return other


@needs_library
@EXAMPLES
@given(SEEDS)
def test_pixels_are_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = ColorTable(DARK)
    frame = random_frame(rng)
    other = twin(frame)
    places: Any = [
        Bar(top=int(rng.integers(-20, 90)), height=int(rng.integers(2, 30)), clip=int(rng.integers(0, 40)),
            background=int(rng.integers(2**24)))
        for _ in range(4)
    ]  # fmt: skip
    bars = make_bars(table, places)
    wide = rng.integers(0, len(table) * codes.VARIANTS + 70, (4, frame.width + 9)).astype(np.uint16)
    wide[:, rng.random(wide.shape[1]) < 0.3] = 0
    line_codes = wide[:, 3 : 3 + frame.width]
    grid = np.unique(rng.integers(0, frame.width, 5))
    paused = np.arange(*np.sort(rng.integers(0, frame.width + 1, 2)))
    empty = empty_codes(frame.width, grid, paused, int(rng.integers(0, codes.PHASES)))
    bands = np.zeros(3, compiled.BAND)
    bands["first"], bands["rgb"] = rng.integers(-5, 95, 3), rng.integers(0, 2**24, 3)
    bands["last"] = bands["first"] + rng.integers(0, 30, 3)
    frame.bands(bands, grid, 0xFF112233)
    frame.bars(bars, line_codes, empty)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "library", lambda: None)
        other.bands(bands, grid, 0xFF112233)
        other.bars(bars, line_codes, empty)
    assert np.array_equal(frame.pixels, other.pixels)


@needs_library
@EXAMPLES
@given(SEEDS)
def test_curves_are_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = random_frame(rng)
    other = twin(frame)
    n = frame.stop - frame.first + 1
    values = np.where(
        rng.random(n) < 0.7, rng.random(n) * 1.2 - 0.1, rng.choice([np.nan, 0, 1, 0.5, np.inf], n)
    )
    top, height, clip = (int(rng.integers(low, high)) for low, high in ((-20, 80), (1, 40), (0, 50)))
    fill, outline = ((5, 6), (5, None), (None, 6))[seed % 3]
    step = int(rng.integers(1, 3))
    frame.area(values, top, height, fill, outline, clip, step=step)
    other._area_with_numpy(values, top, height, fill, outline, clip, step)
    assert np.array_equal(frame.pixels, other.pixels)


def test_a_curve_stands_on_its_baseline_and_has_no_holes() -> None:
    frame = Frame(6, 12, 1.0)
    frame.area(np.array([0, 0, 1, 0, 0.5, np.nan, 1]), 1, 10, 2, 3, 0)
    filled = (frame.pixels > 0).sum(axis=0).tolist()
    assert filled == [1, 10, 10, 5, 0, 10]
    assert (frame.pixels[1:, 1] == 3).sum() == 10, "a steep flank is outlined from top to bottom"
    assert not frame.pixels[[0, 11]].any()


def test_a_frame_pans_through_its_memory_and_back() -> None:
    """Columns that stay in view keep their pixels, however far one pans."""
    rng = np.random.default_rng(4)
    frame = Frame(50, 7, 1.0)
    frame.image.setDevicePixelRatio(2.0)
    world = rng.integers(0, 2**32, (7, 40_000), dtype=np.uint32)
    at = 20_000
    frame.pixels[:] = world[:, at : at + 50]
    steps = [*[37] * 500, *[-49] * 700, *rng.integers(-49, 50, 300).tolist()]
    for step in steps:
        if not step or not 0 <= at + step <= 39_950:
            continue
        at += step
        frame.shift(step)
        assert frame.stop - frame.first == abs(step)
        frame.pixels[:, frame.first : frame.stop] = world[:, at + frame.first : at + frame.stop]
        assert np.array_equal(frame.pixels, world[:, at : at + 50])
    assert frame.image.devicePixelRatio() == 2.0
    seen = np.frombuffer(frame.image.constBits(), np.uint32).reshape(7, 50)
    assert np.array_equal(seen, frame.pixels)


def test_a_frame_below_a_painter_is_drawn_on_its_very_pixels() -> None:
    image = QImage(41, 23, QImage.Format.Format_RGB32)
    image.fill(0xFF123456)
    expected = np.full((23, 41), 0xFF123456, np.uint32)
    values = np.array([np.nan, 0.2, 1.0, 0.5, 0.0])
    with painting(image) as painter:
        painter.translate(7, 5)
        frame = Frame.below(painter, 30, 18, 1.0)
        assert frame is not None
        assert not frame.is_own
        frame.limit(10, 14)
        frame.area(values, 2, 9, 0xFF00FF00, 0xFFFF0000, 0)
    own = Frame(30, 18, 1.0)
    own.fill(0, 18, 0xFF123456)
    own.limit(10, 14)
    own.area(values, 2, 9, 0xFF00FF00, 0xFFFF0000, 0)
    expected[5:, 7:37] = own.pixels
    assert np.array_equal(np.frombuffer(image.constBits(), np.uint32).reshape(23, 41), expected)


@pytest.mark.parametrize(
    ("format_", "left", "scale", "turn"),
    [
        (QImage.Format.Format_ARGB32, 0, 2, 0),
        (QImage.Format.Format_RGB16, 0, 2, 0),
        (QImage.Format.Format_RGB32, 0.5, 2, 0),
        (QImage.Format.Format_RGB32, 6, 2, 0),
        (QImage.Format.Format_RGB32, -1, 2, 0),
        (QImage.Format.Format_RGB32, 0, 1, 0),
        (QImage.Format.Format_RGB32, 0, 2, 90),
    ],
)
def test_pixels_that_are_not_a_frames_are_left_alone(
    format_: QImage.Format, left: float, scale: float, turn: float
) -> None:
    """Of another format, between two of the picture's, beyond its border, larger or turned."""
    image = QImage(40, 20, format_)
    with painting(image) as painter:
        painter.translate(left, 0)
        painter.scale(scale, scale)
        painter.rotate(turn)
        assert Frame.below(painter, 36, 10, 2.0) is None


def test_tables_of_other_colours_are_not_used_any_more() -> None:
    table = ColorTable(DARK)
    places: Any = [Bar(top=0, height=10, clip=0, background=1)]
    before, version = make_bars(table, places), table.version
    table.custom(0xFF123456)
    assert table.version > version
    after: Bars = make_bars(table, places)
    assert after.described["columns"][0] == before.described["columns"][0] + codes.VARIANTS
    assert compositor.make_bars(table, []).described.shape == (0,)
