"""Stacks get one number each, from the compiled table as from its twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds

from warpline.storage.columns.schema import NO_STACK
from warpline.storage.write.packing import library
from warpline.storage.write.stack_ids import CompiledStackIds, StackIds

chains = st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=20)


def compiled() -> CompiledStackIds:
    loaded = library()
    if loaded is None:
        pytest.skip("the compiled table is missing")
    return CompiledStackIds(loaded)


def pieces(stacks: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    frames = [frame for stack in stacks for frame in stack]
    return np.array(frames, np.uint32), np.array([len(stack) for stack in stacks], np.int64)


@pytest.mark.fuzz
@given(st.lists(chains, max_size=4))
@settings(max_examples=rounds(50, 5_000))
def test_whole_stacks_equal_the_twin(batches: list[list[list[int]]]) -> None:
    ours, twin = compiled(), StackIds()
    for batch in batches:
        assert ours.add_chains(*pieces(batch)).tolist() == twin.add_chains(*pieces(batch)).tolist()
    assert [column.tolist() for column in ours.columns()] == [column.tolist() for column in twin.columns()]


def test_a_growing_table_keeps_its_numbers() -> None:
    ours = compiled()
    roots = [ours.add(frame, NO_STACK) for frame in range(3000)]
    assert roots == list(range(3000))
    sizes = np.full(50, 100, np.int64)
    frames = np.arange(5000, dtype=np.uint32)
    numbers = ours.add_chains(frames, sizes)
    assert numbers.tolist() == ours.add_chains(frames, sizes).tolist()
    assert [ours.add(frame, NO_STACK) for frame in range(3000)] == roots
    frame, parent = ours.columns()
    assert len(frame) == 3000 + 5000 - 30  # the first 30 of them begin with a known root
    assert parent[numbers[0]] == numbers[0] - 1


def test_frames_must_add_up() -> None:
    with pytest.raises(ValueError, match="add up"):
        compiled().add_chains(np.zeros(3, np.uint32), np.array([1, 1], np.int64))
