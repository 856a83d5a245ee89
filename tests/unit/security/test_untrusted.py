"""Values of files: what is read has its type, or is refused in the one way that is said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpline.untrusted import natural_key, number_in, places_of, read_json


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "9" * 5000, b"\xff\xfe\x00", '{"a":' * 50_000])
def test_json_that_is_none_is_refused_in_one_way(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        read_json(text)


def test_numbers_in_texts() -> None:
    assert [number_in(text) for text in ("7", "007", "", "-1", "x", "²", "9" * 18)] == [
        7, 7, -1, -1, -1, -1, 10**18 - 1,
    ]  # fmt: skip
    assert number_in("9" * 5000) == -1
    assert number_in("x", 4) == 4


def test_names_are_sorted_as_people_count() -> None:
    names = ["Stream 13", "stream 7", "Stream", "7", "a²", "13", "", "x" + "9" * 5000, "x1"]
    assert sorted(names, key=natural_key) == [
        "", "7", "13", "a²", "Stream", "stream 7", "Stream 13", "x1", "x" + "9" * 5000,
    ]  # fmt: skip


@given(st.lists(st.text(max_size=8), max_size=6))
def test_any_two_names_can_be_compared(names: list[str]) -> None:
    sorted(names, key=natural_key)


@given(st.sets(st.integers(0, 2**32 - 1), max_size=8), st.lists(st.integers(0, 2**32 - 1), max_size=8))
def test_places_are_those_of_the_keys(keys: set[int], wanted: list[int]) -> None:
    ordered = sorted(keys)
    found = places_of(np.array(ordered, np.uint32), np.array(wanted, np.uint32))
    assert found.tolist() == [ordered.index(one) if one in keys else -1 for one in wanted]
