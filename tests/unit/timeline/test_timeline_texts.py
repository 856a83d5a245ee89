"""Curves, figures, tooltips, links and search: what is told about events."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gui.timeline_sample import MS, US
from tests.unit.timeline.timeline_tools import MAIN, STREAM, lane_of

from warpline.storage import Capture
from warpline_app.timeline.model.curves import CurveTask, counter_text, share_text
from warpline_app.timeline.model.event_text import describe_event
from warpline_app.timeline.model.links import links_in_view, links_of_event, related_rows
from warpline_app.timeline.model.search import SearchQuery, find_events, parse_query
from warpline_app.timeline.model.state_causes import is_cause
from warpline_app.timeline.widgets.overview import side_by_side


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
    assert text.lines[2] == "started 1.900 ms after cudaLaunchKernel returned"
    state = capture.event_at(lane_of(capture, f"{MAIN}/state"), 95 * MS)
    assert state is not None
    assert "still running when the recording ended" in describe_event(capture, state, 0).lines


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
    found = find_events(capture, SearchQuery("GEMM"))
    assert len(found.rows) == 50
    assert np.all(np.diff(found.times) > 0)
    assert len(find_events(capture, SearchQuery("GEMM", case=True)).rows) == 0
    assert len(find_events(capture, SearchQuery(r"gemm<[01],", regex=True)).rows) == 20
    assert parse_query("/a+b/") == SearchQuery("a+b", regex=True)
    assert parse_query("/a+b/c") == SearchQuery("a+b", regex=True, case=True)
    assert parse_query("Abc") == SearchQuery("Abc", case=True)


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
