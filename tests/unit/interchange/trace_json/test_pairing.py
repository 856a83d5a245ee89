"""Begins match ends, and flow points match events."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds

from warpline.interchange.framework.pairing import SliceIndex, match_borders, match_flows


@pytest.mark.fuzz
@given(
    st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.integers(0, 2)), max_size=14),
)
@settings(max_examples=rounds(60, 5_000))
def test_matching_borders_equals_a_stack(borders: list[tuple[int, bool, int]]) -> None:
    key = np.array([border[0] for border in borders], np.int64)
    begin = np.array([border[1] for border in borders], bool)
    name = np.array([border[2] for border in borders], np.int64)
    pairs = match_borders(key, np.arange(len(borders)), begin, name)
    expected: dict[int, int] = {}
    lone = renamed = 0
    for thread in range(3):
        stack: list[int] = []
        for index in np.flatnonzero(key == thread).tolist():
            if begin[index]:
                stack.append(index)
                continue
            same = [place for place, opened in enumerate(stack) if name[opened] == name[index]]
            if same:
                expected[stack.pop(same[-1])] = index
            elif stack:
                renamed += 1
                expected[stack.pop()] = index
            else:
                lone += 1
    found = dict(zip(pairs.begin.tolist(), pairs.end.tolist(), strict=True))
    assert found == {index: expected.get(index, -1) for index in np.flatnonzero(begin).tolist()}
    assert (pairs.lone_ends, pairs.renamed) == (lone, renamed)


@pytest.mark.fuzz
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), min_size=1, max_size=25),
    st.lists(st.integers(-2, 45), min_size=1, max_size=10),
)
@settings(max_examples=rounds(40, 5_000))
def test_the_enclosing_event_is_the_innermost(slices: list[tuple[int, int]], times: list[int]) -> None:
    start = np.array([begin for begin, _length in slices])
    stop = start + np.array([length for _begin, length in slices])
    found = SliceIndex.of(start, stop, np.arange(len(slices))).enclosing(np.array(times))
    for time, event in zip(times, found.tolist(), strict=True):
        ends = np.maximum(stop, start + 1)
        around = np.flatnonzero((start <= time) & (time < ends))
        if not len(around):
            around = np.flatnonzero((start <= time) & (time <= ends))
        if not len(around):
            assert event == -1
        else:
            assert event in around
            assert start[event] == start[around].max()


def test_a_reused_flow_id_begins_a_new_chain() -> None:
    found = match_flows(np.zeros(4, np.int64), np.array([0, 5, 10, 15]), np.array([0, 2, 0, 2], np.uint8))
    assert list(zip(found.source.tolist(), found.target.tolist(), strict=True)) == [(0, 1), (2, 3)]
    assert found.loose == 0


def test_an_end_a_little_before_its_start_is_kept() -> None:
    key = np.array([0, 0, 1, 1, 2, 2, 3, 3, 3])
    time = np.array([100, 98, 0, 5_000_000, 9_000_000, 1, 10, 20, 5])
    phase = np.array([0, 2, 0, 2, 0, 2, 0, 2, 2], np.uint8)
    found = match_flows(key, time, phase)
    # Of key 2 the start follows nine milliseconds later; of key 3 it has an end of its own.
    assert sorted(zip(found.source.tolist(), found.target.tolist(), strict=True)) == [(0, 1), (2, 3), (6, 7)]
    assert (found.backward, found.loose) == (1, 3)
