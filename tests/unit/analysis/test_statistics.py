"""Statistics by group against plain Python, whatever the portions in which they are computed."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds

from warpline.analysis.framework.nesting import library
from warpline.analysis.framework.statistics import (
    _sorted,
    batch_statistics,
    group_statistics,
    group_totals,
)
from warpline.analysis.framework.tables import Groups, combine_keys, group_order

values = st.one_of(st.integers(0, 50), st.integers(0, 10**12), st.integers(2**53, 2**53 + 10))
pairs = st.lists(st.tuples(st.integers(0, 6), values), max_size=60)


def brute(found: list[tuple[int, int]]) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = defaultdict(list)
    for key, value in found:
        groups[key].append(value)
    return dict(groups)


def check(stats: object, groups: dict[int, list[int]]) -> None:
    assert stats.key.tolist() == sorted(groups)  # type: ignore[attr-defined]
    for place, key in enumerate(sorted(groups)):
        members = groups[key]
        assert stats.count[place] == len(members)  # type: ignore[attr-defined]
        assert stats.total[place] == sum(members)  # type: ignore[attr-defined]
        assert stats.min[place] == min(members)  # type: ignore[attr-defined]
        assert stats.max[place] == max(members)  # type: ignore[attr-defined]
        assert stats.med[place] == pytest.approx(statistics.median(members), rel=1e-15)  # type: ignore[attr-defined]
        assert stats.avg[place] == pytest.approx(statistics.fmean(members), rel=1e-12)  # type: ignore[attr-defined]
        spread = statistics.stdev(members) if len(members) > 1 else 0.0
        assert stats.stddev[place] == pytest.approx(spread, rel=1e-6, abs=1e-6)  # type: ignore[attr-defined]


@pytest.mark.fuzz
@given(pairs)
@settings(max_examples=rounds(50, 5_000))
def test_statistics_equal_those_of_the_standard_library(found: list[tuple[int, int]]) -> None:
    keys = np.array([key for key, _ in found], np.uint32)
    column = np.array([value for _, value in found], np.int64)
    check(group_statistics(keys, column), brute(found))


@pytest.mark.fuzz
@given(pairs, st.integers(1, 20), st.integers(1, 25))
@settings(max_examples=rounds(50, 5_000))
def test_portions_change_nothing(found: list[tuple[int, int]], size: int, limit: int) -> None:
    keys = np.array([key for key, _ in found], np.uint32)
    column = np.array([value for _, value in found], np.int64)

    def batches() -> Iterator[tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]]:
        return ((keys[i : i + size], column[i : i + size]) for i in range(0, len(keys), size))

    check(batch_statistics(batches, limit, compiled=False), brute(found))


@pytest.mark.skipif(library() is None, reason="the sort is not compiled here")
@pytest.mark.fuzz
@given(
    st.integers(0, 2**32),
    st.sampled_from((1, 30, 400, 3_000)),
    st.integers(1, 6),
    st.integers(1, 40),
    st.sampled_from((20, 700, 1 << 22)),
)
@settings(max_examples=rounds(40, 2_000))
def test_the_compiled_sort_gives_the_same_statistics_as_numpy(
    seed: int, n: int, kinds: int, digits: int, limit: int
) -> None:
    random = np.random.default_rng(seed)
    keys = random.choice([0, 1, 5, 6, 1_500, 2_000], n) % random.choice([1, 7, 3_000])
    shapes = (
        lambda: random.lognormal(9, 2, n).astype(np.int64),
        lambda: random.choice(random.integers(0, 2**digits, kinds), n),
        lambda: random.integers(0, 2**digits, n),
        lambda: 2**digits + random.integers(0, 3, n),
    )
    column = shapes[seed % len(shapes)]()
    size = int(random.integers(1, n + 1))

    def batches() -> Iterator[tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]]:
        return ((keys[i : i + size], column[i : i + size]) for i in range(0, n, size))

    compiled, plain = (batch_statistics(batches, limit, flag) for flag in (True, False))
    for name in ("key", "count", "total", "avg", "med", "min", "max", "stddev"):
        assert getattr(compiled, name).tolist() == getattr(plain, name).tolist(), name


@pytest.mark.skipif(library() is None, reason="the sort is not compiled here")
@pytest.mark.fuzz
@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3) | st.integers(2**63, 2**63 + 9), max_size=60))
@settings(max_examples=rounds(60, 5_000))
def test_the_compiled_sort_orders_all_words(words: list[int]) -> None:
    assert _sorted(np.array(words, np.uint64), compiled=True).tolist() == sorted(words)


def test_keys_and_values_beyond_64_bits_have_the_same_statistics() -> None:
    keys = np.array([2**40, 3, 2**40, 3, 3], np.int64)
    column = np.array([2**60, 2**61, 5, 1, 9], np.int64)
    check(group_statistics(keys, column), {2**40: [2**60, 5], 3: [2**61, 1, 9]})


def test_a_group_larger_than_the_limit_has_its_exact_median() -> None:
    random = np.random.default_rng(3)
    column = random.lognormal(9, 2, 5_001).astype(np.int64)
    keys = np.zeros(len(column), np.uint32)
    stats = batch_statistics(lambda: [(keys, column)], limit=100, compiled=False)
    assert stats.med[0] == np.median(column)
    assert stats.stddev[0] == pytest.approx(np.std(column, ddof=1))


@given(pairs)
@settings(max_examples=30)
def test_totals_without_sorting_agree(found: list[tuple[int, int]]) -> None:
    keys = np.array([key for key, _ in found], np.int64)
    column = np.array([value % 2**40 for _, value in found], np.int64)
    count, total = group_totals(keys, column, 7)
    groups = brute([(key, value % 2**40) for key, value in found])
    for key in range(7):
        assert count[key] == len(groups.get(key, []))
        assert total[key] == sum(groups.get(key, []))


@pytest.mark.parametrize("n", [1, 100_000])
def test_negative_values_are_refused(n: int) -> None:
    with pytest.raises(ValueError, match="at least 0"):
        group_statistics(np.zeros(n, np.int64), np.full(n, -1))


wide = st.integers(-3, 2) | st.integers(0, 1 << 40)


@given(st.lists(st.tuples(wide, st.none() | wide, st.integers(0, 3)), max_size=30))
@settings(max_examples=rounds(60))
def test_combined_keys_number_distinct_rows_in_their_order(
    found: list[tuple[int, int | None, int]],
) -> None:
    columns = [
        np.ma.MaskedArray([row[i] or 0 for row in found], [row[i] is None for row in found], np.int64)
        for i in range(3)
    ]
    key, first = combine_keys(*columns)
    below = -(1 << 50)
    rows = [tuple(below if value is None else value for value in row) for row in found]
    distinct = sorted(set(rows))
    assert key.tolist() == [distinct.index(row) for row in rows]
    assert first.tolist() == [rows.index(row) for row in distinct]
    order = group_order(key)
    assert order.tolist() == sorted(range(len(rows)), key=lambda i: (rows[i], i))


def test_many_groups_are_ordered_in_several_passes() -> None:
    key = np.random.default_rng(3).permutation(np.repeat(np.arange(200_000), 2))
    assert np.array_equal(group_order(key), np.argsort(key, kind="stable"))


@given(st.lists(st.lists(st.tuples(wide, st.none() | wide), max_size=8), max_size=4))
@settings(max_examples=rounds(30))
def test_groups_across_batches(batches: list[list[tuple[int, int | None]]]) -> None:
    groups = Groups()
    numbers = []
    for batch in batches:
        first = np.array([a for a, _ in batch], np.int64)
        second = np.ma.MaskedArray([b or 0 for _, b in batch], [b is None for _, b in batch], np.int64)
        numbers += groups.codes(first, second).tolist()
    rows = [row for batch in batches for row in batch]
    assert len(set(numbers)) == len(set(rows))
    back = groups.columns(np.array(numbers, np.int64), 2)
    assert list(zip(back[0].tolist(), back[1].tolist(), strict=True)) == rows
