"""Which rows there are, in which order, and where they lie."""

from __future__ import annotations

import gc
import gzip
import weakref
from pathlib import Path

import numpy as np
import pytest
from tests.gui.timeline_sample import MS, SPAN_NS, US
from tests.unit.timeline.timeline_tools import MAIN, STREAM, lane_of

from warpline.storage import Capture, CaptureBuilder, open_capture
from warpline_app.state.timeline_state import Filter, TimelineState
from warpline_app.timeline.model import curves
from warpline_app.timeline.model.curves import row_figure
from warpline_app.timeline.model.layout import PINNED_KEY, Layout, make_layout
from warpline_app.timeline.model.name_rows import nearest_of
from warpline_app.timeline.model.row import Content, TimelineRow
from warpline_app.timeline.model.row_defaults import fold_counters, fold_idle
from warpline_app.timeline.model.rows import RowTree

CORPUS = Path(__file__).resolve().parents[2] / "data" / "corpus"


def test_the_tree_shows_states_on_threads_and_leaves_out_a_single_context(capture: Capture) -> None:
    tree = RowTree(capture)
    assert [row.key for row in tree.root.children] == ["gpu/0", "cpu", "process/71.1", "system/load"]
    main = tree.get(MAIN)
    assert main is not None
    assert main.lanes == tuple(capture.track_lanes(capture.track(f"{MAIN}/state").index))
    assert tree.row_of_track(capture.track(f"{MAIN}/state").index) is main
    gpu = tree.get("gpu/0")
    assert gpu is not None
    assert [row.role for row in gpu.children] == ["streams", "stream", "stream", "projection"]


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


def test_a_tree_that_was_replaced_is_let_go_at_once(capture: Capture) -> None:
    former = RowTree(capture)
    layout = make_layout(former, TimelineState(0, SPAN_NS))
    gc.disable()  # live timelines replace it twice a second: its capture must not wait for the collector
    try:
        seen = weakref.ref(former)
        former.let_go()
        del former
        assert seen() is None
    finally:
        gc.enable()
    assert layout.rows


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


def test_a_process_is_added_up_lane_by_lane(capture: Capture) -> None:
    row = RowTree(capture).get("process/71.1")
    assert row is not None
    assert len(row.lanes) > 2
    parts: list[int] = []
    while (part := curves.process_busy_ns(capture, row, 0, 100 * MS, len(parts))) is not None:
        parts.append(part)
    assert sum(parts) == sum(capture.busy_ns(lane, 0, 100 * MS) for lane in row.lanes) > 0


def test_counting_ends_where_it_is_enough(capture: Capture) -> None:
    lanes = range(len(capture.lanes))
    every = capture.count_in(lanes, *capture.span)
    assert capture.count_in(lanes, *capture.span, every) == every
    assert 0 < capture.count_in(lanes, *capture.span, 0) < every


def visible(layout: Layout) -> list[str]:
    return [placed.row.key for placed in layout.rows]


def test_rows_are_hidden_ordered_pinned_and_filtered(capture: Capture, state: TimelineState) -> None:
    tree = RowTree(capture)
    state.set_order("cpu", ["cpu/1", "cpu/0"])
    state.set_expanded("cpu", True)
    keys = visible(make_layout(tree, state))
    assert [key for key in keys if key.startswith("cpu")] == ["cpu", "cpu/1", "cpu/0"]
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
    """Many cores, busy helper threads and a dozen counters: the streams and the main thread still come first."""
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
            "GPU 0",
            "Utilization",
            "Stream 7",
            "gemm",
            "Annotations",
            "5 counters",
            "CPU cores",
            "python [71]",
            *("71", "NVTX"),  # the main thread, though it has least to tell
            *("73", "NVTX"),  # the busiest
            "72",
            "6 counters",
        ]
        # The profiler's annotation says when it looked, not when the GPU worked.
        assert layout.by_key["gpu/0"].row.lanes == (lane_of(opened, "gpu/0/context/1/stream/7"),)


@pytest.mark.parametrize(
    ("gpus", "streams", "expanded", "folded"), [(1, 12, 1, 8), (1, 6, 1, 0), (2, 3, 2, 0), (4, 3, 2, 0)]
)
def test_gpus_leave_room_for_threads(
    tmp_path: Path, gpus: int, streams: int, expanded: int, folded: int
) -> None:
    """The least busy of many streams are folded, and not every one of many GPUs is expanded."""
    with CaptureBuilder(tmp_path / "gpus.h5") as builder:
        builder.set_span(0, SPAN_NS)
        idle = builder.track("gpu/9", title="GPU 9", role="gpu")
        clock = builder.track("gpu/9/clock", title="Clock", role="counter", parent=idle)
        builder.add_counter(clock, "Clock", "MHz", np.array([0, MS]), np.array([1.0, 2.0]))
        process = builder.track("process/71", title="python [71]", role="process")
        thread = builder.track("process/71/thread/71", title="71", role="thread", parent=process)
        builder.add_events(thread, "range", [0], [MS], builder.string("step"))
        for number in range(gpus):
            gpu = builder.track(f"gpu/{number}", title=f"GPU {number}", role="gpu")
            for stream in range(streams):
                uri = f"gpu/{number}/stream/{stream}"
                track = builder.track(uri, title=f"Stream {stream}", role="stream", parent=gpu)
                length = (stream + 1) * MS
                builder.add_events(track, "kernel", [0, length], [length, 1], builder.string("gemm"))
        builder.finish()
    with open_capture(tmp_path / "gpus.h5") as opened:
        tree = RowTree(opened)
        top = tree.root.children
        assert [row.key for row in top] == [*(f"gpu/{n}" for n in range(gpus)), "process/71", "gpu/9"]
        assert sum(row.is_open for row in top[:gpus]) == expanded
        more = [row for row in top[0].children if row.content is Content.MORE]
        assert [row.title for row in more] == ([f"{folded} more…"] if folded else [])
        assert {child.title for row in more for child in row.children} == {
            f"Stream {stream}" for stream in range(folded)
        }


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
    state.set_expanded("cpu", True)
    state.set_height("cpu/0", 40)
    assert make_layout(RowTree(capture), state).by_key["cpu/0"].height == 40


def test_a_part_of_the_rows_is_all_that_reach_into_it(capture: Capture, state: TimelineState) -> None:
    layout = make_layout(RowTree(capture), state)
    assert len(layout.rows) > 5
    for top in range(0, layout.height, 7):
        for bottom in (top + 1, top + 30, top + 200):
            expected = [placed for placed in layout.rows if placed.top < bottom and placed.bottom > top]
            assert list(layout.between(top, bottom)) == expected


def test_rows_that_were_moved_stand_before_those_that_were_not(
    capture: Capture, state: TimelineState
) -> None:
    tree = RowTree(capture)
    state.set_expanded("process/71.1", True)
    process = tree.get("process/71.1")
    assert process is not None
    before = [child.key for child in process.children]
    assert len(before) > 2
    state.set_order("process/71.1", [before[2]])
    shown = [key for key in visible(make_layout(tree, state)) if key in before]
    assert shown == [before[2], *before[:2], *before[3:]]


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


def test_folding_compares_no_rows_with_each_other() -> None:
    class Row(TimelineRow):
        def __eq__(self, other: object) -> bool:
            raise AssertionError("each compared with each: the square of their number")

        __hash__ = object.__hash__

    def row(role: str, number: int) -> Row:
        return Row(
            key=f"{role} {number}", title=str(number), content=Content.LANES, role=role, count=number // 90
        )

    parent = row("process", 0)
    shown = fold_counters(parent, [row("thread", 0), *(row("counter", i) for i in range(100))])
    assert [(child.role, len(child.children)) for child in shown] == [("thread", 0), ("more", 100)]
    threads = fold_idle(None, parent, [row("thread", i) for i in range(100)])  # type: ignore[arg-type]
    assert [child.role for child in threads] == ["thread"] * 10 + ["more"]


def test_events_that_the_index_of_names_lacks_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "damaged.h5"
    path.write_bytes(gzip.decompress((CORPUS / "index_without_names.h5.gz").read_bytes()))
    with open_capture(path) as damaged:
        tree = RowTree(damaged)
        waiting = [tree.root]
        streams = 0
        while waiting:
            row = waiting.pop()
            tree.open(row)
            waiting += row.children
            streams += row.role == "stream"
        assert streams


def test_all_streams_have_their_events_in_lines_without_overlaps(capture: Capture) -> None:
    tree = RowTree(capture)
    gpu = tree.get("gpu/0")
    assert gpu is not None
    everything, *streams = [row for row in gpu.children if row.role in {"streams", "stream"}]
    assert not everything.is_open
    tree.open(everything)
    (events,) = everything.children
    assert events.content is Content.SUBSET
    assert events.group is not None
    lines = (events.group, *events.more_groups)
    rows = np.concatenate([line.rows for line in lines])
    shown = {name for name, table in capture.kinds.items() if name not in {"sync", "overhead"}}
    of_streams = np.concatenate([np.arange(*_bounds(capture, row.track)) for row in streams])
    wanted = [
        row for row in of_streams.tolist() if capture.kind_of_code[int(capture.events.kind[row])] in shown
    ]
    assert sorted(rows.tolist()) == wanted
    for line in lines:
        columns = line.columns(capture)
        assert (columns.start[1:] >= (columns.start + columns.duration)[:-1]).all()
        # What is under the pointer is the event itself.
        assert nearest_of(line, capture, int(columns.start[0]), 0) == int(columns.row[0])


def _bounds(capture: Capture, track: int) -> tuple[int, int]:
    part = capture.rows_of_track(track)
    return part.start, part.stop
