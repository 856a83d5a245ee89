"""Lines of codes: the colour of each kind, density, what a filter dims, and every event shown."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.gui.timeline_sample import MS, OWN_COLOR, US
from tests.unit.timeline.timeline_tools import MAIN, STREAM, lane_of

from warpline.storage import Capture, CaptureBuilder, open_capture
from warpline_app.look.theme import DARK
from warpline_app.timeline.draw import codes
from warpline_app.timeline.draw.codes import ColorTable
from warpline_app.timeline.draw.emphasis import emphasis_for
from warpline_app.timeline.draw.event_colors import EventColors
from warpline_app.timeline.draw.lane_cache import StripCache, compose_lanes
from warpline_app.timeline.model.time_model import TimeScale
from warpline_app.timeline.model.why.chain import EventChains


def colors_of(capture: Capture) -> EventColors:
    return EventColors(capture, ColorTable(DARK))


def color_at(capture: Capture, colors: EventColors, uri: str, time_ns: int, depth: int = 0) -> int:
    scale = TimeScale(0, 100 * MS, 1000)
    lines = compose_lanes(colors, np.array([lane_of(capture, uri, depth)]), scale)
    return int(lines.codes[0, int(scale.to_px(time_ns))]) // codes.VARIANTS


def test_kinds_have_their_colours(capture: Capture) -> None:
    colors = colors_of(capture)
    at = {
        (f"{MAIN}/state", 20 * MS): "running",
        (f"{MAIN}/state", 45 * MS): "runnable",
        (f"{MAIN}/state", 60 * MS): "blocked",
        (f"{MAIN}/state", 80 * MS): "empty",
        (STREAM, 10 * MS + 200 * US): "kernel",
        (STREAM, 72 * MS): "communication",
        (STREAM, 80 * MS + 500 * US): "copy_to_device",
        (STREAM, 90 * MS + 500 * US): "copy_to_host",
        (f"{MAIN}/api", 8 * MS + 50 * US): "api",
    }
    found = {key: codes.FIXED[color_at(capture, colors, *key)] for key in at}
    assert found == at


def test_own_colours_of_ranges_are_honoured(capture: Capture) -> None:
    colors = colors_of(capture)
    color = color_at(capture, colors, f"{MAIN}/nvtx/default", 62 * MS)
    assert color >= codes.FIRST_CUSTOM
    channels = [(colors.table.rgb(color) >> shift) & 255 for shift in (16, 8, 0)]
    assert np.abs(np.array(channels) - [0x20, 0xC0, 0x40]).max() <= 8
    assert OWN_COLOR & 0xFFFFFF == 0x20C040
    outer = color_at(capture, colors, f"{MAIN}/nvtx/default", 11 * MS)
    assert codes.FIRST_HUE <= outer < codes.FIRST_CUSTOM


def test_density_shows_the_busy_fraction(capture: Capture) -> None:
    colors = colors_of(capture)
    # 25 of every 50 us; a pixel is 1 ms.
    lines = compose_lanes(
        colors, np.array([lane_of(capture, "process/71.1/thread/72.1/state")]), TimeScale(0, 100 * MS, 100)
    )
    level = lines.codes[0, 5:95].astype(int) % codes.VARIANTS - codes.DENSITY + 1
    assert np.all(np.abs(level - codes.LEVELS // 2) <= 1)
    instants = compose_lanes(
        colors, np.array([lane_of(capture, f"{MAIN}/memory")]), TimeScale(0, 100 * MS, 100)
    )
    assert np.flatnonzero(instants.codes[0]).tolist() == [30]


def test_what_a_filter_leaves_out_is_dimmed(capture: Capture) -> None:
    colors = colors_of(capture)
    names = capture.strings.find("ncclAllReduce").astype(np.int64)
    emphasis = emphasis_for(capture, names, frozenset())
    scale = TimeScale(0, 100 * MS, 1000)
    line = compose_lanes(colors, np.array([lane_of(capture, STREAM)]), scale, emphasis=emphasis).codes[0]
    assert line[int(scale.to_px(72 * MS))] % codes.VARIANTS == codes.SOLID
    assert line[int(scale.to_px(80 * MS + 500 * US))] % codes.VARIANTS == codes.DIM


def test_a_chain_is_lit_where_it_is_less_than_a_pixel_and_while_panning(capture: Capture) -> None:
    colors = colors_of(capture)
    lane = lane_of(capture, STREAM)
    kernel = capture.event_at(lane, 15 * MS + 200 * US)
    assert kernel is not None
    emphasis = emphasis_for(capture, None, frozenset(), chain=EventChains(capture).of(kernel))
    lanes = (lane, lane_of(capture, f"{MAIN}/nvtx/default"), lane_of(capture, f"{MAIN}/nvtx/default", 1))
    far = compose_lanes(colors, np.array(lanes), TimeScale(0, 100 * MS, 100), emphasis=emphasis).codes
    is_dim = far[0] % codes.VARIANTS >= codes.DIM_DENSITY
    assert np.flatnonzero((far[0] > 0) & ~is_dim)[:1] == 15
    assert is_dim[[14, 16]].all()
    assert (far[1:, 13] % codes.VARIANTS == codes.SOLID).all()
    assert (far[1, 61:63] % codes.VARIANTS == codes.DIM).all()
    cache, scale = StripCache(colors), TimeScale(0, 40 * MS, 1900)
    for _ in range(30):
        scale = scale.moved(17)
        panned = cache.lines(lanes, (), scale, emphasis=emphasis).codes
    assert np.array_equal(panned, compose_lanes(colors, np.array(lanes), scale, emphasis=emphasis).codes)


@st.composite
def lanes_of_events(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    gaps = draw(st.lists(st.integers(0, 3000), min_size=1, max_size=120))
    lengths = draw(st.lists(st.integers(0, 4000), min_size=len(gaps), max_size=len(gaps)))
    start = np.cumsum(np.array(gaps) + np.r_[0, np.array(lengths[:-1])])
    return start, np.array(lengths)


@given(lanes_of_events(), st.integers(0, 40_000), st.integers(2_000, 400_000))
@example((np.array([0, 0, 17]), np.array([0, 8, 0])), 1, 2000)
@settings(max_examples=15)
def test_lines_show_every_event(
    tmp_path_factory: pytest.TempPathFactory, events: tuple[np.ndarray, np.ndarray], first: int, length: int
) -> None:
    """Against brute force: what is a pixel or longer fills its pixels, everything shorter has a mark."""
    start, duration = events
    path = tmp_path_factory.mktemp("lines") / "x.h5"
    with CaptureBuilder(path) as builder:
        builder.set_span(0, 1_000_000)
        track = builder.track("process/1/thread/1/api", title="API", role="api")
        builder.add_events(track, "cuda_api", start, duration, builder.string("call"))
        builder.finish()
    scale = TimeScale(first, first + length, 257)
    with open_capture(path) as opened:
        lanes = np.arange(len(opened.lanes))
        line = compose_lanes(colors_of(opened), lanes, scale).codes.max(axis=0)
    for begin, size in zip(start.tolist(), duration.tolist(), strict=True):
        left, right = scale.to_px(begin), scale.to_px(begin + size)
        if right <= 0 or left >= 257:
            continue
        if left < 0 and right < 1 and size >= scale.ns_per_px:
            continue  # both its edges round down: it fills the pixel before the first, wherever one pans
        low = int(max(0, np.floor(left)))
        whole = line[int(max(0, np.ceil(left))) : int(min(257, np.floor(right)))]
        if size >= scale.ns_per_px:
            assert np.all(whole != 0)
            assert line[low : low + 2].any()
        elif left >= 0:
            assert line[max(0, low - 1) : low + 2].any()


@pytest.mark.parametrize("steps", [[17] * 40, [-5, 300, -700, 3, 3, -90], [1000, -1000, 250]])
def test_panning_shows_what_a_full_redraw_shows(capture: Capture, steps: list[int]) -> None:
    colors = colors_of(capture)
    cache = StripCache(colors)
    lanes = tuple(range(len(capture.lanes)))
    scale = TimeScale(40 * MS, 60 * MS, 1900)
    cache.lines(lanes, (), scale)
    for step in steps:
        scale = scale.moved(step)
        lines = cache.lines(lanes, (), scale)
    whole = StripCache(colors).lines(lanes, (), scale)
    differing = np.count_nonzero((lines.codes == 0) != (whole.codes == 0))
    # A short event may fall into the neighbouring pixel when bins begin elsewhere.
    assert differing <= lines.codes.size * 0.002
    rows = set(lines.boxes.row.tolist())
    assert rows == set(whole.boxes.row.tolist())
