"""Unions, overlaps, gaps and nesting against brute force, one nanosecond at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from warpline.analysis.framework.nesting import (
    NestedEvents,
    enclosing,
    enclosing_rows,
    flat_parents,
    levels,
    outermost,
    self_times,
    uncovered_times,
    window_extremes,
    window_pairs,
    window_sums,
    windows,
)
from warpline.analysis.gpu.queue_length import queue_lengths
from warpline.analysis.steps.step_breakdown import exclusive_times
from warpline.analysis.structure.gpu_gaps import LATENCY_NS, split_gap
from warpline.analysis.structure.overlap import (
    combination_times,
    concurrency_times,
    covered_ns,
    gaps,
    time_of,
    time_of_all,
)
from warpline.model.intervals import merge_grouped, merge_intervals

interval = st.tuples(st.integers(-5, 45), st.integers(0, 20)).map(lambda pair: (pair[0], pair[0] + pair[1]))
intervals = st.lists(interval, max_size=8)


def columns(found: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return (
        np.array([start for start, _ in found], np.int64),
        np.array([stop for _, stop in found], np.int64),
    )


def covers(found: list[tuple[int, int]], moment: int) -> bool:
    return any(start <= moment < stop for start, stop in found)


@settings(max_examples=50)
@given(st.lists(intervals, min_size=1, max_size=3), st.integers(0, 20), st.integers(0, 30))
def test_combinations_equal_counting_every_nanosecond(
    sets: list[list[tuple[int, int]]], start: int, length: int
) -> None:
    stop = start + length
    times = combination_times([columns(found) for found in sets], start, stop)
    expected = [0] * (1 << len(sets))
    for moment in range(start, stop):
        expected[sum(1 << bit for bit, found in enumerate(sets) if covers(found, moment))] += 1
    assert times.tolist() == expected
    assert times.sum() == length
    everything = (1 << len(sets)) - 1
    assert time_of(times, everything) == sum(expected[1:])
    assert time_of_all(times, everything) == expected[-1]
    for any_of in range(1, everything + 1):
        for none_of in range(everything + 1):
            alone = [t for mask, t in enumerate(expected) if mask & any_of and not mask & none_of]
            assert time_of(times, any_of, none_of) == sum(alone)
        together = [t for mask, t in enumerate(expected) if mask & any_of == any_of]
        assert time_of_all(times, any_of) == sum(together)
    busy = concurrency_times([columns(found) for found in sets], start, stop)
    for count in range(len(sets) + 1):
        assert busy[count] == sum(t for mask, t in enumerate(expected) if mask.bit_count() == count)


@settings(max_examples=50)
@given(intervals, intervals)
def test_covered_time_equals_counting(busy: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    merged = merge_intervals(*columns(busy))
    result = covered_ns(merged, *columns(asked))
    assert result.tolist() == [sum(covers(busy, t) for t in range(a, b)) for a, b in asked]


@settings(max_examples=50)
@given(intervals, st.integers(0, 10), st.integers(0, 40))
def test_gaps_and_busy_time_fill_the_range(found: list[tuple[int, int]], start: int, length: int) -> None:
    stop = start + length
    free = gaps(*merge_intervals(*columns(found)), start, stop)
    for moment in range(start, stop):
        assert covers(list(zip(*free, strict=True)), moment) != covers(found, moment)


@settings(max_examples=50)
@given(st.lists(intervals, min_size=1, max_size=3), st.lists(st.integers(1, 12), max_size=4))
def test_exclusive_times_give_each_moment_to_the_first_active_category(
    sets: list[list[tuple[int, int]]], lengths: list[int]
) -> None:
    stops = np.cumsum(np.array(lengths, np.int64)).astype(np.int64)
    starts = stops - np.array(lengths, np.int64)
    result = exclusive_times([merge_intervals(*columns(found)) for found in sets], starts, stops)
    for row, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
        expected = [0] * (len(sets) + 1)
        for moment in range(start, stop):
            active = [place for place, found in enumerate(sets) if covers(found, moment)]
            expected[active[0] if active else len(sets)] += 1
        assert result[row].tolist() == expected


@st.composite
def forests(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """Properly nested events (start, stop, depth) of one thread."""
    events: list[tuple[int, int, int]] = []

    def fill(start: int, stop: int, depth: int) -> None:
        at = start
        while at < stop and depth < 4 and len(events) < 40:
            at += draw(st.integers(0, 3))
            end = at + draw(st.integers(1, 12))
            if end > stop:
                return
            events.append((at, end, depth))
            fill(at, end, depth + 1)
            at = end

    fill(0, 60, 0)
    return events


def nested(lanes: list[list[tuple[int, int]]]) -> NestedEvents:
    """The lanes that are not empty, each with its own rows."""
    lanes = [lane for lane in lanes if lane]
    start, stop = columns([event for lane in lanes for event in lane])
    return NestedEvents(start, stop, np.arange(len(start)) + 100, np.cumsum([0, *map(len, lanes)]))


def lanes_of(events: list[tuple[int, int, int]]) -> tuple[NestedEvents, list[tuple[int, int, int]]]:
    ordered = sorted(events, key=lambda event: (event[2], event[0]))
    depths = sorted({depth for _, _, depth in events})
    return nested([[(a, b) for a, b, depth in ordered if depth == level] for level in depths]), ordered


@settings(max_examples=50)
@given(forests(), st.lists(st.integers(0, 62), max_size=10))
def test_the_innermost_event_around_a_moment(events: list[tuple[int, int, int]], moments: list[int]) -> None:
    lanes, ordered = lanes_of(events)
    rows = enclosing_rows(lanes, np.array(moments, np.int64))
    for moment, row in zip(moments, rows.tolist(), strict=True):
        around = [(depth, place) for place, (a, b, depth) in enumerate(ordered) if a <= moment < b]
        assert row == (max(around)[1] + 100 if around else -1)


@settings(max_examples=50)
@given(forests())
def test_parents_levels_and_own_times(events: list[tuple[int, int, int]]) -> None:
    lanes, ordered = lanes_of(events)
    parent = flat_parents(lanes)
    assert levels(parent).tolist() == [depth for _, _, depth in ordered]
    duration = np.array([b - a for a, b, _ in ordered], np.int64)
    own = self_times(duration, parent)
    for place, (a, b, depth) in enumerate(ordered):
        inside = sum(d - c for c, d, below in ordered if below == depth + 1 and a <= c and d <= b)
        assert own[place] == b - a - inside
    assert own.sum() == sum(b - a for a, b, depth in ordered if depth == 0)


def apart(events: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The events of a lane: sorted, without those that overlap one before; empty ones may share a moment."""
    reach, own = -6, []
    for start, stop in sorted(events):
        if start >= reach:
            own.append((start, stop))
            reach = stop
    return own


@settings(max_examples=300)
@given(st.lists(intervals, max_size=6))
def test_compiled_nesting_numpy_and_plain_python_agree(found: list[list[tuple[int, int]]]) -> None:
    # Lanes of several tracks of a thread need not nest: what overlaps without lying inside is no child.
    events = nested([apart(lane) for lane in found])
    parent = flat_parents(events, compiled=False)
    assert flat_parents(events).tolist() == parent.tolist()
    moments = np.array([*range(-6, 70), 3, 3, 0], np.int64)
    assert enclosing(events, moments).tolist() == enclosing(events, moments, compiled=False).tolist()
    above = parent.tolist()
    ancestors = [0 if up < 0 else 1 for up in above]
    for place, up in enumerate(above):
        while up >= 0 and above[up] >= 0:
            ancestors[place] += 1
            up = above[up]
    assert levels(parent).tolist() == ancestors
    duration = events.stop - events.start
    own = duration.tolist()
    for place, up in enumerate(above):
        if up >= 0:
            own[up] -= int(duration[place])
    assert self_times(duration, parent).tolist() == own
    begin = events.start
    left = uncovered_times(begin, begin + duration, parent, compiled=False)
    assert uncovered_times(begin, begin + duration, parent).tolist() == left.tolist()


@settings(max_examples=100)
@given(st.lists(st.integers(-9, 40), max_size=40), st.lists(st.tuples(interval, st.booleans()), max_size=12))
def test_windows_hold_the_moments_inside_them(
    moments: list[int], found: list[tuple[tuple[int, int], bool]]
) -> None:
    times = sorted(moments)
    # Ranges in any order; some end before they begin, as in a damaged file.
    ranges = [pair[::-1] if turned else pair for pair, turned in found]
    first, last = windows(np.array(times, np.int64), *columns(ranges))
    for (start, stop), low, high in zip(ranges, first.tolist(), last.tolist(), strict=True):
        assert times[low:high] == [moment for moment in times if start <= moment < stop]


@settings(max_examples=50)
@given(forests())
def test_outermost_events(events: list[tuple[int, int, int]]) -> None:
    _, ordered = lanes_of(events)
    start, stop = columns([(a, b) for a, b, _ in ordered])
    found = outermost(np.zeros(len(ordered), np.int64), start, stop)
    assert found.tolist() == [depth == 0 for _, _, depth in ordered]


@settings(max_examples=50)
@given(
    forests(), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30), st.integers(0, 30)), max_size=12)
)
def test_work_launched_inside_ranges(
    events: list[tuple[int, int, int]], launches: list[tuple[int, int, int]]
) -> None:
    """A launch is (moment of the call, delay, duration of the work)."""
    launches = sorted(launches)
    calls = np.array([call for call, _, _ in launches], np.int64)
    low = np.array([call + delay for call, delay, _ in launches], np.int64)
    high = low + np.array([duration for _, _, duration in launches], np.int64)
    start, stop = columns([(a, b) for a, b, _ in events])
    first, last = windows(calls, start, stop)
    total = window_sums(high - low, first, last)
    smallest, largest = window_extremes(low, high, first, last)
    window, inside = window_pairs(first, last)
    for place, (a, b, _) in enumerate(events):
        mine = [i for i, (call, _, _) in enumerate(launches) if a <= call < b]
        assert inside[window == place].tolist() == mine
        assert total[place] == sum(launches[i][2] for i in mine)
        assert smallest[place] == (min(low[i] for i in mine) if mine else 0)
        assert largest[place] == (max(high[i] for i in mine) if mine else 0)


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(1, 10**6), st.integers(-(10**6), 10**6), st.booleans()),
        max_size=20,
    )
)
def test_causes_of_a_gap_add_up_to_it(found: list[tuple[int, int, int, bool]]) -> None:
    start = np.array([a for a, _, _, _ in found], np.int64)
    stop = start + np.array([n for _, n, _, _ in found], np.int64)
    call = start + np.array([c for _, _, c, _ in found], np.int64)
    known = np.array([k for _, _, _, k in found], bool)
    parts = split_gap(start, stop, call, known)
    assert (parts[0] + parts[1] + parts[2] == stop - start).all()
    for place, (_, length, offset, is_known) in enumerate(found):
        waiting, latency, other = (int(part[place]) for part in parts)
        if not is_known:
            assert (waiting, latency, other) == (0, 0, length)
        elif offset <= 0:
            assert waiting == 0
            assert (latency, other) == ((length, 0) if length <= LATENCY_NS else (0, length))
        else:
            assert waiting == min(offset, length)
            assert other == 0


def test_gaps_up_to_ten_microseconds_are_launch_latency() -> None:
    length = np.array([10_000, 10_001], np.int64)
    start = np.array([50_000, 50_000], np.int64)
    parts = split_gap(start, start + length, start - 1, np.ones(2, bool))
    assert [part.tolist() for part in parts] == [[0, 0], [10_000, 0], [0, 10_001]]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 30)), min_size=1, max_size=15))
def test_queue_length_counts_launched_work_that_has_not_started(found: list[tuple[int, int]]) -> None:
    calls = np.array([call for call, _ in found], np.int64)
    begins = calls + np.array([delay for _, delay in found], np.int64)
    times, length = queue_lengths(calls, begins)
    assert length[-1] == 0
    # What begins at the moment of its call was launched first.
    assert length.min() >= 0
    for moment in set(times.tolist()):
        last = int(np.flatnonzero(times == moment)[-1])
        assert length[last] == sum(
            c <= moment < b for c, b in zip(calls.tolist(), begins.tolist(), strict=True)
        )


@given(st.lists(st.tuples(st.integers(0, 3), interval), max_size=20))
def test_unions_of_groups_are_those_of_each_alone(found: list[tuple[int, tuple[int, int]]]) -> None:
    group = np.array([number for number, _ in found], np.int64)
    merged = merge_grouped(group, *columns([event for _, event in found]))
    expected = [
        (number, *event)
        for number in range(4)
        for event in zip(*merge_intervals(*columns([e for n, e in found if n == number])), strict=True)
    ]
    assert list(zip(*(column.tolist() for column in merged), strict=True)) == expected


@given(intervals, intervals, st.data())
def test_masked_events_keep_their_lanes(
    first: list[tuple[int, int]], second: list[tuple[int, int]], data: st.DataObject
) -> None:
    events = nested([apart(first), apart(second)])
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=len(events), max_size=len(events))), bool)
    kept = events.where(keep)
    expected = [lane.row[keep[lane.row - 100]].tolist() for lane in events.lanes()]
    assert [lane.row.tolist() for lane in kept.lanes()] == [rows for rows in expected if rows]
    assert kept.lane.tolist() == [n for n, lane in enumerate(kept.lanes()) for _ in range(len(lane.row))]
