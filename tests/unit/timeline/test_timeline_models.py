"""State, ticks, rows, layout, colours and lines of codes: everything of the timeline that needs no window."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.gui.timeline_sample import MS, OWN_COLOR, SPAN_NS, US, write_timeline_sample

from warpline.storage import Capture, CaptureBuilder, open_capture
from warpline_app.look.theme import CONTRAST, CONTRAST_LIGHT, DARK, LIGHT, Theme, contrast_ratio, to_rgb
from warpline_app.session.layout_state import TimeMark
from warpline_app.session.saved_layout import apply_layout, layout_of
from warpline_app.session.timeline_state import Filter, TimelineState
from warpline_app.timeline.draw import codes
from warpline_app.timeline.draw.codes import ColorTable
from warpline_app.timeline.draw.event_colors import Painter
from warpline_app.timeline.draw.labels import is_cause
from warpline_app.timeline.draw.lane_cache import StripCache, compose_lanes, emphasis_for
from warpline_app.timeline.model.curves import CurveTask, counter_text, row_figure, share_text
from warpline_app.timeline.model.event_text import describe_event
from warpline_app.timeline.model.layout import PINNED_KEY, Layout, make_layout
from warpline_app.timeline.model.links import links_in_view, links_of_event, related_rows
from warpline_app.timeline.model.rows import Content, RowTree
from warpline_app.timeline.model.search import Query, find_events, parse_query
from warpline_app.timeline.model.ticks import make_ticks, tick_step_ns
from warpline_app.timeline.model.time_model import TimeScale
from warpline_app.timeline.widgets.overview import side_by_side

MAIN = "process/71.1/thread/71.1"
STREAM = "gpu/0/process/71.1/context/1/stream/7"


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Capture]:
    with open_capture(write_timeline_sample(tmp_path_factory.mktemp("timeline") / "sample.h5")) as opened:
        yield opened


@pytest.fixture
def state(capture: Capture) -> TimelineState:
    return TimelineState(*capture.span)


def lane_of(capture: Capture, uri: str, depth: int = 0) -> int:
    return capture.track_lanes(capture.track(uri).index)[depth]


# state


def test_a_field_that_does_not_change_says_nothing(state: TimelineState) -> None:
    heard: list[object] = []
    for signal in (state.view_changed, state.selection_changed, state.filter_changed, state.pins_changed):
        signal.connect(heard.append)
    state.set_view(*state.view)
    state.select(None)
    state.set_filter(Filter())
    state.set_pins(())
    assert not heard
    state.select(3)
    assert heard == [3]


def test_zoom_and_filter_are_undone_in_the_order_they_were_done(state: TimelineState) -> None:
    state.set_view(10, 1000)
    state.set_filter(Filter(names="gemm"))
    state.set_view(20, 500)
    state.undo()
    assert state.view == (10, 1000)
    assert state.filter.names == "gemm"
    state.undo()
    assert state.filter.is_empty
    state.undo()
    assert state.view == state.span
    assert not state.can_undo
    for _ in range(3):
        state.redo()
    assert (state.view, state.filter.names) == ((20, 500), "gemm")


def test_hiding_rows_is_undone_among_the_other_steps(state: TimelineState) -> None:
    state.hide([MAIN])
    state.set_view(10, 1000)
    state.hide([MAIN, STREAM])
    state.hide([STREAM, MAIN])  # nothing changes: no step
    state.undo()
    assert state.hidden == {MAIN}
    state.undo()
    state.undo()
    assert not state.hidden
    assert not state.can_undo
    state.redo()
    assert state.hidden == {MAIN}


def test_a_held_key_is_one_step_of_undo(state: TimelineState) -> None:
    for stop in range(90_000_000, 10_000_000, -1_000_000):
        state.set_view(0, stop, gesture="keys")
    state.end_gesture()
    state.set_view(0, 1_000_000, gesture="keys")
    state.undo()
    assert state.view == (0, 11_000_000)
    state.undo()
    assert state.view == state.span


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_a_view_stays_in_the_capture(start: int, stop: int) -> None:
    state = TimelineState(1000, 50_000)
    state.set_view(start, stop)
    low, high = state.view
    assert 1000 <= low < high <= 50_000


def test_escape_lets_go_of_one_thing_after_the_other(state: TimelineState) -> None:
    state.select(1)
    state.select_range(5, 9)
    state.set_highlight([3])
    state.set_filter(Filter(names="x"))
    state.clear()
    assert state.range_selection is None
    still = state.selection
    assert still == 1
    state.clear()
    assert state.selection is None
    state.clear()
    assert not state.highlight
    state.clear()
    assert state.filter.is_empty


def test_marks_keep_their_order_and_one_text_per_moment(state: TimelineState) -> None:
    state.add_mark(500, "b")
    state.add_mark(100, "a")
    state.add_mark(500, "c")
    assert list(state.marks) == [TimeMark(100, "a"), TimeMark(500, "c")]
    state.remove_mark(100)
    assert list(state.marks) == [TimeMark(500, "c")]


def test_a_layout_comes_back_as_it_was_and_damaged_ones_are_survived(state: TimelineState) -> None:
    state.set_pins([STREAM])
    state.set_order("cpu", ["cpu/1", "cpu/0"])
    state.set_hidden(["system/load"])
    state.set_height(MAIN, 30)
    state.set_expanded("cpu", False)
    state.add_mark(7, "seven")
    state.set_view(1_000, 2_000)
    state.set_origin(7)
    kept = layout_of(state)
    other = TimelineState(*state.span)
    apply_layout(other, kept)
    assert layout_of(other) == kept
    damaged = {"view": ["a", 2], "pins": 3, "order": {"x": 1}, "marks": [[1], "x"], "heights": {"a": "b"}}
    apply_layout(other, damaged)
    assert other.view == (1_000, 2_000)


# ruler


@pytest.mark.parametrize(
    ("length_ns", "width", "step"),
    [
        (10**9, 1000, 100_000_000),
        (1000, 1000, 100),
        (1, 2000, 1),
        (2_600_000, 1300, 200_000),
        (90, 1, 10_000),
    ],
)
def test_tick_steps_leave_room_for_their_texts(length_ns: int, width: int, step: int) -> None:
    assert tick_step_ns(length_ns, width) == step


def test_the_ruler_has_a_fixed_base_and_short_offsets() -> None:
    ticks = make_ticks(716_354_000, 718_954_000, 1300, 0)
    assert ticks.base == "716 ms"
    assert ticks.texts[:2] == ("400 µs", "600 µs")
    assert ticks.times[:2].tolist() == [716_400_000, 716_600_000]
    moved = make_ticks(716_384_000, 718_984_000, 1300, 0)
    assert moved.base == ticks.base
    # Counted from a mark, the same moments have other names.
    assert make_ticks(716_354_000, 718_954_000, 1300, 716_354_000).texts[0] == "0 µs"
    around = make_ticks(716_354_000, 718_954_000, 1300, 716_800_000)
    assert (around.base, around.texts[:4]) == ("", ("-400 µs", "-200 µs", "0 µs", "200 µs"))
    ahead = make_ticks(716_354_000, 718_954_000, 1300, 720_954_000)
    assert (ahead.base, ahead.texts[-1]) == ("-2 ms", "0 µs")
    assert (ahead.texts[-2], int(ahead.times[-2])) == ("-200 µs", 720_954_000 - 2_200_000)


@given(st.integers(0, 1 << 60), st.integers(1, 10**13), st.integers(0, 1 << 60))
@settings(max_examples=60)
def test_ticks_add_up(start: int, length: int, origin: int) -> None:
    ticks = make_ticks(start, start + length, 1500, origin)
    assert np.all((ticks.times - origin) % ticks.step_ns == 0)
    assert np.all((ticks.times >= start) & (ticks.times <= start + length))
    assert len(ticks.texts) == len(ticks.times) <= 18


# rows


def test_the_tree_shows_states_on_threads_and_leaves_out_a_single_context(capture: Capture) -> None:
    tree = RowTree(capture)
    assert [row.key for row in tree.root.children] == ["cpu", "process/71.1", "gpu/0", "system/load"]
    main = tree.get(MAIN)
    assert main is not None
    assert main.lanes == tuple(capture.track_lanes(capture.track(f"{MAIN}/state").index))
    assert tree.row_of_track(capture.track(f"{MAIN}/state").index) is main
    gpu = tree.get("gpu/0")
    assert gpu is not None
    assert [row.role for row in gpu.children] == ["streams", "stream", "stream"]


def test_little_active_threads_are_folded(capture: Capture) -> None:
    tree = RowTree(capture)
    process = tree.get("process/71.1")
    assert process is not None
    more = process.children[-1]
    assert more.content is Content.MORE
    assert [child.title.split()[1] for child in more.children] == [str(n) for n in range(2, 12)]
    assert tree.get("process/71.1/thread/75.1") in more.children


def test_a_stream_has_a_row_per_kernel_name_and_direction(capture: Capture) -> None:
    tree = RowTree(capture)
    stream = tree.get(STREAM)
    assert stream is not None
    tree.open(stream)
    titles = [child.title for child in stream.children]
    assert titles[0] == "ncclAllReduce_f32"
    assert sorted(titles[1:6]) == [f"void gemm<{i}, 64>(float*)" for i in range(5)]
    assert titles[6:] == ["Copies host → device", "Copies device → host"]
    families = [child.family for child in stream.children]
    assert families == ["communication"] + ["kernel"] * 5 + ["copy_to_device", "copy_to_host"]
    assert [child.count for child in stream.children] == [1, 10, 10, 10, 10, 10, 3, 1]


def test_shares_of_the_visible_range_are_exact(capture: Capture) -> None:
    tree = RowTree(capture)
    stream = tree.get(STREAM)
    assert stream is not None
    tree.open(stream)
    nccl, *_, to_device, _to_host = stream.children

    def figure(row: object, start: int, stop: int) -> str:
        return row_figure(capture, row, start, stop, None)  # type: ignore[arg-type]

    assert figure(nccl, 60 * MS, 80 * MS) == "25.0 %"
    assert figure(nccl, 72 * MS, 73 * MS) == "100 %"
    assert figure(nccl, 0, 50 * MS) == "0 %"
    assert figure(to_device, 80 * MS + 500 * US, 82 * MS + 500 * US) == "50.0 %"
    assert figure(stream, 10 * MS, 60 * MS) == "40.0 %"
    assert figure(tree.get(MAIN), 0, 100 * MS) == "50.0 %"
    assert figure(tree.get("cpu"), 0, 100 * MS) == "40.0 %"
    assert figure(tree.get("system/load"), 10 * MS, 30 * MS) == "75 %"


def visible(layout: Layout) -> list[str]:
    return [placed.row.key for placed in layout.rows]


def test_rows_are_hidden_ordered_pinned_and_filtered(capture: Capture, state: TimelineState) -> None:
    tree = RowTree(capture)
    state.set_order("cpu", ["cpu/1", "cpu/0"])
    keys = visible(make_layout(tree, state))
    assert keys[:3] == ["cpu", "cpu/1", "cpu/0"]
    state.set_hidden(["cpu"])
    assert "cpu/1" not in visible(make_layout(tree, state))
    state.set_pins([STREAM, "gone"])
    layout = make_layout(tree, state)
    assert [placed.row.key for placed in layout.pinned] == [PINNED_KEY, STREAM]
    assert layout.pinned_height == sum(placed.height for placed in layout.pinned)
    assert layout.pinned[1].top == layout.pinned[0].height
    state.set_expanded(PINNED_KEY, False)
    assert [placed.row.key for placed in make_layout(tree, state).pinned] == [PINNED_KEY]
    state.set_hidden(())
    state.set_filter(Filter(rows="core 1"))
    assert visible(make_layout(tree, state)) == ["cpu", "cpu/1"]
    state.set_filter(Filter(rows="^core [01]$", regex=True))
    assert visible(make_layout(tree, state)) == ["cpu", "cpu/1", "cpu/0"]
    state.set_filter(Filter(only=(STREAM,)))
    assert visible(make_layout(tree, state))[:2] == ["gpu/0", STREAM]
    assert all(key.startswith("gpu/0") for key in visible(make_layout(tree, state)))


def test_what_the_hardware_waited_for_is_seen_first(tmp_path: Path) -> None:
    """Many cores, busy helper threads and a dozen counters: the main thread and the streams still come first."""
    with CaptureBuilder(tmp_path / "busy.h5") as builder:
        builder.set_span(0, SPAN_NS)
        cores = builder.track("cpu", title="CPU cores", role="cores")
        for core in range(16):
            track = builder.track(f"cpu/{core}", title=f"Core {core}", role="core", parent=cores)
            builder.add_events(track, "cpu_slice", [0], [MS], builder.string("python"))
        process = builder.add_process(71, name="python")
        group = builder.track("process/71", title="python [71]", role="process", process=process)
        for tid, count in ((73, 900), (72, 500), (71, 10)):
            thread = builder.add_thread(process, tid)
            row = builder.track(
                f"process/71/thread/{tid}", title=str(tid), role="thread", parent=group, thread=thread
            )
            ranges = builder.track(f"process/71/thread/{tid}/nvtx", title="NVTX", role="ranges", parent=row)
            builder.add_events(ranges, "range", np.arange(count) * 10 * US, 5 * US, builder.string("r"))
        gpu = builder.track("gpu/0", title="GPU 0", role="gpu")
        for owner in (group, gpu):
            for number in range(6):
                name = "Utilization" if owner == gpu and number == 3 else f"Counter {number}"
                track = builder.track(
                    f"{'gpu' if owner == gpu else 'process'}/c{number}",
                    title=name,
                    role="counter",
                    parent=owner,
                )
                builder.add_counter(track, name, "%", np.array([0, MS]), np.array([1.0, 2.0]))
        notes = builder.track("gpu/0/context/0", title="Context 0", role="context", parent=gpu)
        marks = builder.track("gpu/0/context/0/notes", title="Annotations", role="ranges", parent=notes)
        builder.add_events(marks, "range", [0], [90 * MS], builder.string("step"))
        context = builder.track("gpu/0/context/1", title="Context 1", role="context", parent=gpu)
        stream = builder.track("gpu/0/context/1/stream/7", title="Stream 7", role="stream", parent=context)
        builder.add_events(stream, "kernel", np.arange(9) * MS, 10 * US, builder.string("gemm"))
        builder.finish()
    with open_capture(tmp_path / "busy.h5") as opened:
        layout = make_layout(RowTree(opened), TimelineState(*opened.span))
        titles = [placed.row.title for placed in layout.rows]
        assert titles == [
            "CPU cores",
            "python [71]",
            *("71", "NVTX"),  # the main thread, though it has least to tell
            "72",
            *("73", "NVTX"),  # the one that has most
            "6 counters",
            "GPU 0",
            "Utilization",
            "Stream 7",
            "gemm",
            "Annotations",
            "5 counters",
        ]
        # The profiler's annotation says when it looked, not when the GPU worked.
        assert layout.by_key["gpu/0"].row.lanes == (lane_of(opened, "gpu/0/context/1/stream/7"),)


def test_rows_lie_under_each_other_without_gaps(capture: Capture, state: TimelineState) -> None:
    layout = make_layout(RowTree(capture), state)
    top = 0
    for placed in layout.rows:
        assert placed.top == top
        assert all(line.top >= 0 and line.top + line.height <= placed.height for line in placed.lines)
        assert layout.at(top, pinned=False) is placed
        assert layout.at(top + placed.height - 1, pinned=False) is placed
        top += placed.height
    assert layout.height == top
    assert layout.at(top, pinned=False) is None
    state.set_height("cpu/0", 40)
    assert make_layout(RowTree(capture), state).by_key["cpu/0"].height == 40


# colours


@pytest.mark.parametrize("theme", [DARK, LIGHT, CONTRAST, CONTRAST_LIGHT], ids=lambda theme: theme.name)
def test_text_meets_wcag_aa(theme: Theme) -> None:
    for surface in ("canvas", "alternate", "header", "group", "panel"):
        for ink in ("text", "muted"):
            assert contrast_ratio(theme.rgb(ink), theme.rgb(surface)) >= 4.5, (surface, ink)
        assert contrast_ratio(theme.rgb("selection"), theme.rgb(surface)) >= 3.0


@pytest.mark.parametrize("theme", [DARK, LIGHT, CONTRAST, CONTRAST_LIGHT], ids=lambda theme: theme.name)
def test_ink_on_bars_is_legible(theme: Theme) -> None:
    table = ColorTable(theme)
    dark = table.wants_dark_ink()
    for color in range(1, codes.FIRST_CUSTOM):
        if color in codes.HATCHED_COLORS:
            continue
        ink = to_rgb(theme.ink_dark if dark[color] else theme.ink_light)
        assert contrast_ratio(ink, table.rgb(color)) >= 4.5, codes.FIXED[color] if color < 22 else color


# Dichromats in linear RGB: Viénot, Brettel, Mollon 1999 (protan, deutan); Brettel 1997 simplified (tritan).
_SIMULATIONS = {
    "protan": [[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]],
    "deutan": [[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]],
    "tritan": [[1.0, 0.1446, -0.1446], [0.0, 0.8592, 0.1408], [0.0, 0.8592, 0.1408]],
}


@pytest.mark.parametrize("kind", sorted(_SIMULATIONS))
@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_states_differ_without_colour_vision(theme: Theme, kind: str) -> None:
    """Shapes tell states apart anyway: the patterns of the three states differ in where they are filled."""
    table = ColorTable(theme)
    background = theme.rgb("canvas")
    lookup = table.table(16, background)
    filled = {}
    for name in ("running", "runnable"):
        filled[name] = lookup[:, codes.INDEX[name] * codes.VARIANTS + codes.SOLID] != background
    assert filled["running"].sum() > filled["runnable"].sum()
    assert filled["runnable"][:8].sum() == 0
    base = codes.INDEX["blocked"] * codes.VARIANTS + codes.HATCH
    hatch = lookup[:, base : base + codes.HATCH_PHASES]
    assert len(np.unique(hatch)) >= 3
    simulate = np.array(_SIMULATIONS[kind])

    def seen(rgb: int) -> np.ndarray:
        channels = np.array([(rgb >> shift) & 255 for shift in (16, 8, 0)]) / 255
        return simulate @ channels**2.2

    for first, second in (("kernel", "copy_to_host"), ("running", "runnable"), ("selection", "link")):
        assert np.abs(seen(theme.rgb(first)) - seen(theme.rgb(second))).max() > 0.05, (first, second)


def painter_of(capture: Capture) -> Painter:
    return Painter(capture, ColorTable(DARK))


def color_at(capture: Capture, painter: Painter, uri: str, time_ns: int, depth: int = 0) -> int:
    scale = TimeScale(0, 100 * MS, 1000)
    lines = compose_lanes(painter, np.array([lane_of(capture, uri, depth)]), scale)
    return int(lines.codes[0, int(scale.to_px(time_ns))]) // codes.VARIANTS


def test_kinds_have_their_colours(capture: Capture) -> None:
    painter = painter_of(capture)
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
    found = {key: codes.FIXED[color_at(capture, painter, *key)] for key in at}
    assert found == at


def test_own_colours_of_ranges_are_honoured(capture: Capture) -> None:
    painter = painter_of(capture)
    color = color_at(capture, painter, f"{MAIN}/nvtx/default", 62 * MS)
    assert color >= codes.FIRST_CUSTOM
    channels = [(painter.table.rgb(color) >> shift) & 255 for shift in (16, 8, 0)]
    assert np.abs(np.array(channels) - [0x20, 0xC0, 0x40]).max() <= 8
    assert OWN_COLOR & 0xFFFFFF == 0x20C040
    outer = color_at(capture, painter, f"{MAIN}/nvtx/default", 11 * MS)
    assert codes.FIRST_HUE <= outer < codes.FIRST_CUSTOM


def test_density_tells_the_busy_fraction(capture: Capture) -> None:
    painter = painter_of(capture)
    # 25 of every 50 us; a pixel is 1 ms.
    lines = compose_lanes(
        painter, np.array([lane_of(capture, "process/71.1/thread/72.1/state")]), TimeScale(0, 100 * MS, 100)
    )
    level = lines.codes[0, 5:95].astype(int) % codes.VARIANTS - codes.DENSITY + 1
    assert np.all(np.abs(level - codes.LEVELS // 2) <= 1)
    instants = compose_lanes(
        painter, np.array([lane_of(capture, f"{MAIN}/memory")]), TimeScale(0, 100 * MS, 100)
    )
    assert np.flatnonzero(instants.codes[0]).tolist() == [30]


def test_what_a_filter_leaves_out_is_dimmed(capture: Capture) -> None:
    painter = painter_of(capture)
    names = capture.strings.find("ncclAllReduce").astype(np.int64)
    emphasis = emphasis_for(capture, names, frozenset())
    scale = TimeScale(0, 100 * MS, 1000)
    line = compose_lanes(painter, np.array([lane_of(capture, STREAM)]), scale, emphasis=emphasis).codes[0]
    assert line[int(scale.to_px(72 * MS))] % codes.VARIANTS == codes.SOLID
    assert line[int(scale.to_px(80 * MS + 500 * US))] % codes.VARIANTS == codes.DIM


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
        line = compose_lanes(painter_of(opened), lanes, scale).codes.max(axis=0)
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
    painter = painter_of(capture)
    cache = StripCache(painter)
    lanes = tuple(range(len(capture.lanes)))
    scale = TimeScale(40 * MS, 60 * MS, 1900)
    cache.lines(lanes, (), scale)
    for step in steps:
        scale = scale.moved(step)
        lines = cache.lines(lanes, (), scale)
    whole = StripCache(painter).lines(lanes, (), scale)
    differing = np.count_nonzero((lines.codes == 0) != (whole.codes == 0))
    # A short event may fall into the neighbouring pixel when bins begin elsewhere.
    assert differing <= lines.codes.size * 0.002
    rows = set(lines.boxes.row.tolist())
    assert rows == set(whole.boxes.row.tolist())


# curves, texts, links, search


def test_a_curve_is_the_mean_number_of_busy_lanes(capture: Capture) -> None:
    cores = tuple(lane_of(capture, f"cpu/{core}") for core in range(2))
    task = CurveTask(capture, cores, 0, 100 * MS, 50)
    while not task.step():
        pass
    expected = np.zeros(50)
    for core in range(2):
        for begin in range(core * 10, 100, 20):
            expected[begin // 2 : begin // 2 + 4] += 1
    assert task.curve.values == pytest.approx(expected, abs=0.01)


def test_figures_read_well() -> None:
    assert [share_text(value) for value in (0, 0.0001, 0.021, 0.914, 1)] == [
        "0 %",
        "< 0.1 %",
        "2.1 %",
        "91.4 %",
        "100 %",
    ]
    assert counter_text(3 * 2**30, "bytes") == "3 GiB"
    assert counter_text(1020 * 2**20, "bytes") == "1,020 MiB"
    assert counter_text(512, "bytes") == "512 B"
    assert counter_text(12.345, "W") == "12.3 W"


def test_a_tooltip_tells_when_where_shape_and_what_matters(capture: Capture) -> None:
    lane = lane_of(capture, STREAM)
    row = capture.event_at(lane, 20 * MS + 100 * US)
    assert row is not None
    text = describe_event(capture, row, 0)
    assert text.title == "void gemm<0, 64>(float*)"
    assert text.lines[0] == "400.0 µs   at 20.000 ms   GPU 0 · Stream 7"
    assert "grid 8×8×8" in text.lines[1]
    assert text.lines[2] == "queued 2.000 ms after cudaLaunchKernel"
    state = capture.event_at(lane_of(capture, f"{MAIN}/state"), 95 * MS)
    assert state is not None
    assert "had not ended when the recording did" in describe_event(capture, state, 0).lines


def test_links_both_ways_and_ends_outside(capture: Capture) -> None:
    graph = capture.event_at(lane_of(capture, f"{MAIN}/api"), 5 * MS + 10)
    assert graph is not None
    found = links_of_event(capture, graph)
    assert [link.from_row for link in found.links] == [graph] * 3
    assert found.total == 3
    assert links_of_event(capture, graph, limit=2).is_cut
    nccl = capture.event_at(lane_of(capture, STREAM), 72 * MS)
    assert nccl is not None
    assert [link.from_row for link in links_of_event(capture, nccl).links] == [-1]
    every = np.arange(len(capture.lanes))
    in_view = links_in_view(capture, every, 0, 100 * MS, limit=20)
    assert in_view is not None
    assert (in_view.total, len(in_view.links)) == (53, 20)


def test_a_range_knows_what_is_nested_and_launched_in_it(capture: Capture) -> None:
    outer = capture.event_at(lane_of(capture, f"{MAIN}/nvtx/default"), 11 * MS)
    assert outer is not None
    nested, launched = related_rows(capture, outer)
    assert [capture.strings[int(capture.events.name[row])] for row in nested] == ["inner"]
    starts = np.sort(capture.event_times(launched)[0])
    # Calls at 10, 11 … 29 ms lie in the range; their kernels start 2 ms later.
    assert starts.tolist() == [(12 + i) * MS for i in range(20)]


def test_search_finds_events_by_name_in_time_order(capture: Capture) -> None:
    found = find_events(capture, Query("GEMM"))
    assert len(found.rows) == 50
    assert np.all(np.diff(found.times) > 0)
    assert len(find_events(capture, Query("GEMM", case=True)).rows) == 0
    assert len(find_events(capture, Query(r"gemm<[01],", regex=True)).rows) == 20
    assert parse_query("/a+b/") == Query("a+b", regex=True)
    assert parse_query("/a+b/c") == Query("a+b", regex=True, case=True)
    assert parse_query("Abc") == Query("Abc", case=True)


def test_only_what_tells_a_state_apart_stands_on_its_bar() -> None:
    assert is_cause("futex")
    assert is_cause("waiting for a lock")
    assert not is_cause("")
    assert not is_cause("includes the wait for a core; wake-ups were not traced")


@given(st.sets(st.integers(0, 60)))
def test_ticks_side_by_side_are_painted_as_one(columns: set[int]) -> None:
    runs = side_by_side(np.array(sorted(columns), np.int64))
    assert [column for first, stop in runs for column in range(first, stop)] == sorted(columns)
    assert all(stop < first for (_, stop), (first, _) in itertools.pairwise(runs))


def test_helpers_of_a_shell_stand_below_one_row(tmp_path: Path) -> None:
    path = tmp_path / "shell.h5"
    with CaptureBuilder(path) as builder:
        running = builder.string("running")
        for number, events in enumerate([200, 150, *range(1, 11)]):
            process = builder.track(f"process/{number + 1}", title=f"bash [{number + 1}]", role="process")
            state = builder.track(
                f"process/{number + 1}/thread/{number + 1}/state", title="State", role="state", parent=process
            )
            starts = np.arange(events) * MS
            builder.add_events(state, "thread_state", starts, np.full(events, US), running)
        builder.set_span(0, 1000 * MS)
        builder.finish()
    with open_capture(path) as capture:
        top = RowTree(capture).root.children
        assert [row.title for row in top] == ["bash [1]", "bash [2]", "10 more processes…"]
        assert [row.title for row in top[2].children] == [f"bash [{n}]" for n in range(3, 13)]
