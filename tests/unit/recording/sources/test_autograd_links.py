"""Operators of forward and backward that belong together, by PyTorch's sequence numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from warpline.recording.sources.torch.autograd import Numbered, forward_of


def columns(events: list[tuple[int, int, int]]) -> Numbered:
    """(start, sequence, thread) of each."""
    start, sequence, thread = (np.array(column, np.int64) for column in zip(*events, strict=True))
    return Numbered(start, sequence, thread)


def test_a_node_belongs_to_the_last_operator_that_began_before_it() -> None:
    # linear begins with 5, its t makes node 5, addmm begins with 6 and makes it; the inner one of it sees 7 already.
    forward, backward = forward_of(
        columns([(0, 5, 1), (1, 5, 1), (2, 6, 1), (3, 7, 1), (10, -2 - 6, 1), (12, -2 - 5, 1)])
    )
    assert (forward.tolist(), backward.tolist()) == ([2, 1], [4, 5])


def test_threads_count_for_themselves_and_unknown_ones_are_not_guessed() -> None:
    forward, backward = forward_of(
        columns([(0, 3, 1), (1, 3, 2), (5, -2 - 3, 2), (6, -2 - 3, 0), (7, -2 - 4, 1), (8, -1, 1)])
    )
    assert (forward.tolist(), backward.tolist()) == ([1], [2])


@given(
    st.lists(st.tuples(st.integers(-6, 4), st.integers(0, 2)), min_size=1, max_size=40),
)
def test_as_a_search_for_each_node_finds_it(events: list[tuple[int, int]]) -> None:
    found = columns([(start, sequence, thread) for start, (sequence, thread) in enumerate(events)])
    expected = {}
    for place, (sequence, thread) in enumerate(events):
        if sequence <= -2 and thread:
            before = [
                other
                for other, (number, its_thread) in enumerate(events[:place])
                if number == -2 - sequence and its_thread == thread
            ]
            if before:
                expected[place] = before[-1]
    forward, backward = forward_of(found)
    assert dict(zip(backward.tolist(), forward.tolist(), strict=True)) == expected
