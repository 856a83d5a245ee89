"""Waits and what ended them, as columns: held against a look at every pair."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from warpline.recording.agent import waits as module
from warpline.recording.agent.waits import NOBODY, Releases, Waits, cover, match_releases


def make_waits(rows: list[tuple[int, int, int, int]]) -> Waits:
    """Waits from (thread, start, length, object), as `read_waits` sorts them."""
    table = np.array(rows, np.int64).reshape(-1, 4)
    table = table[np.lexsort((-(table[:, 1] + table[:, 2]), table[:, 1], table[:, 0]))]
    count = len(table)
    none = module._no_waits()
    wide = {
        name: np.zeros(count, getattr(none, name).dtype)
        for name in (
            "function",
            "kind",
            "result",
            "stack",
            "place",
            "text",
            "caller",
            "is_open",
            "holder_place",
        )
    }
    return replace(
        none,
        thread=table[:, 0],
        start_ns=table[:, 1],
        stop_ns=table[:, 1] + table[:, 2],
        process=np.full(count, 7, np.uint32),
        object=table[:, 3].astype(np.uint64),
        holder=np.full(count, NOBODY),
        release=np.full(count, -1),
        **wide,
    )


def make_releases(rows: list[tuple[int, int, int]]) -> Releases:
    """Releases from (thread, time, object), by time."""
    table = np.array(sorted(rows, key=lambda row: row[1]), np.int64).reshape(-1, 3)
    short = np.zeros(len(table), np.uint32)
    return Releases(
        thread=table[:, 0],
        time_ns=table[:, 1],
        process=short + 7,
        object=table[:, 2].astype(np.uint64),
        stack=short,
        place=short,
        own_place=short,
    )


small = st.integers(0, 40)
threads = st.integers(0, 3)


@given(
    st.lists(st.tuples(threads, small, small, st.integers(1, 3)), max_size=12),
    st.lists(st.tuples(threads, st.integers(0, 90), st.integers(1, 3)), max_size=12),
)
def test_a_wait_ends_with_the_last_release_of_its_object_during_it(
    waiting: list[tuple[int, int, int, int]], given_back: list[tuple[int, int, int]]
) -> None:
    waits, releases = make_waits(waiting), make_releases(given_back)
    found = match_releases(waits, releases)
    for row in range(len(waits)):
        times = [
            int(releases.time_ns[at])
            for at in range(len(releases))
            if releases.object[at] == waits.object[row]
            and waits.start_ns[row] <= releases.time_ns[at] <= waits.stop_ns[row]
        ]
        assert (found[row] >= 0) == bool(times)
        if times:
            assert releases.time_ns[found[row]] == max(times)
            assert releases.object[found[row]] == waits.object[row]


@given(st.lists(st.tuples(threads, st.integers(0, 9), st.integers(1, 9)), max_size=10))
def test_a_blocked_state_belongs_to_the_innermost_enclosing_call(calls: list[tuple[int, int, int]]) -> None:
    unit = 10 * module.SAME_MOMENT_NS
    spans: list[tuple[int, int, int]] = []
    for thread, start, length in calls:  # calls of a thread follow each other, or lie one inside the other
        stop = start + length
        if all(
            thread != other or stop <= low or start >= high or (low < start and stop < high)
            for other, low, high in spans
        ):
            spans.append((thread, start, stop))
    waits = make_waits([(t, a * unit, (b - a) * unit, 1) for t, a, b in spans])
    states = [(t, a * unit + 1, b * unit - 1) for t in range(4) for a in range(18) for b in range(a + 1, 19)]
    columns = np.array(states, np.int64)
    found = cover(waits, columns[:, 0], columns[:, 1], columns[:, 2])
    for row, (t, low, high) in enumerate(states):
        around = [
            (waits.stop_ns[at] - waits.start_ns[at], at)
            for at in range(len(waits))
            if waits.thread[at] == t and waits.start_ns[at] <= low and high <= waits.stop_ns[at]
        ]
        assert found[row] == (min(around)[1] if around else -1)
