"""Texts of quantities at the borders of their units: no 1000 of a unit, no order turned around, no digit that lies."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds

from warpline.analysis.framework.cell_text import NS_PER_UNIT, format_value, unit_below
from warpline.analysis.framework.column import Column, Role
from warpline.model.sizes import format_bytes
from warpline.model.times import format_duration, format_time

DURATION_UNITS = {"ns": 1, "µs": 10**3, "ms": 10**6, "s": 10**9}
SIZE_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
LONGEST_NS = 10**15
BORDERS = [10**power + away for power in range(1, 14) for away in (-501, -500, -499, -51, -50, -1, 0, 1, 49)]

durations = st.integers(0, LONGEST_NS) | st.sampled_from([abs(border) for border in BORDERS])
sizes = st.integers(0, 1 << 45) | st.builds(
    lambda power, away: max((1 << power) + away, 0), st.integers(0, 44), st.integers(-600, 600)
)


def parsed(text: str, units: dict[str, int]) -> tuple[Fraction, Fraction, str]:
    """What a text says, half of what its last digit stands for, and its unit."""
    match = re.fullmatch(r"(-?[\d,]+)(\.\d+)? (\S+)", text)
    assert match is not None, text
    number = Decimal((match[1] + (match[2] or "")).replace(",", ""))
    half = Fraction(units[match[3]], 2 * 10 ** max(len(match[2] or ".") - 1, 0))
    return Fraction(number) * units[match[3]], half, match[3]


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1.000 µs"),
        (999_949, "999.9 µs"),
        (999_950, "1.000 ms"),
        (999_999, "1.000 ms"),
        (9_999_600, "10.00 ms"),
        (999_999_999, "1.000 s"),
        (-999_999, "-1.000 ms"),
        (1_234_567, "1.235 ms"),
        (3_600_000_000_000, "3600 s"),
    ],
)
def test_durations_read_so(duration: int, text: str) -> None:
    assert format_duration(duration) == text


@given(durations, st.integers(1, 7))
@example(999_999, 4)
@example(999_999_999, 3)
@settings(max_examples=rounds(300))
def test_a_duration_says_what_it_is_to_its_last_digit(duration: int, digits: int) -> None:
    text = format_duration(duration, digits)
    said, half, unit = parsed(text, DURATION_UNITS)
    assert abs(said - duration) <= half, text
    assert unit == "s" or said < 1000 * DURATION_UNITS[unit], text
    assert unit == "ns" or said >= DURATION_UNITS[unit], text
    assert format_duration(-duration, digits) == (f"-{text}" if duration else text)
    if unit != "ns":
        # As many digits as asked for, as long as the whole part leaves room.
        assert len(re.sub(r"\D", "", text)) == max(digits, len(re.split(r"\D", text)[0]))


@given(durations, durations, st.integers(1, 7))
@settings(max_examples=rounds(300))
def test_a_longer_duration_never_reads_shorter(one: int, other: int, digits: int) -> None:
    short, long = sorted((one, other))
    assert (
        parsed(format_duration(short, digits), DURATION_UNITS)[0]
        <= (parsed(format_duration(long, digits), DURATION_UNITS)[0])
    )


@given(durations, st.integers(0, 9))
@settings(max_examples=rounds(300))
def test_a_time_loses_nothing_its_resolution_tells(time: int, power: int) -> None:
    text = format_time(time, 10**power)
    said, half, unit = parsed(text, DURATION_UNITS)
    # Digits are cut off, never rounded up: a moment is not shown before it has come.
    assert 0 <= time - said < 2 * half or half * 2 == DURATION_UNITS[unit], text
    assert time - said < 10**power, text
    assert unit == "s" or said < 1000 * DURATION_UNITS[unit], text


@given(durations, durations, st.integers(0, 9))
@settings(max_examples=rounds(300))
def test_a_later_time_never_reads_earlier(one: int, other: int, power: int) -> None:
    early, late = sorted((one, other))
    first, second = (parsed(format_time(time, 10**power), DURATION_UNITS)[0] for time in (early, late))
    assert first <= second


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (9_999, "9,999 B"),
        (10_000, "9.766 KiB"),
        ((1 << 20) - 1, "1 MiB"),
        ((1 << 40) - 1, "1 TiB"),
    ],
)
def test_sizes_read_so(size: int, text: str) -> None:
    assert format_bytes(size) == text


@given(sizes, st.sampled_from([(3, None), (4, None), (6, None), (4, 2)]), st.sampled_from([1024, 10_000]))
@example((1 << 20) - 1, (4, None), 1024)
@example((1 << 30) - 1, (4, 2), 1024)
@settings(max_examples=rounds(300))
def test_a_size_says_what_it_is_to_its_last_digit(
    size: int, how: tuple[int, int | None], exact_below: int
) -> None:
    digits, decimals = how
    text = format_bytes(size, digits, decimals=decimals, exact_below=exact_below)
    said, _, unit = parsed(text, SIZE_UNITS)
    assert unit == "TiB" or said < 1024 * SIZE_UNITS[unit] or (unit == "B" and size < exact_below), text
    precision = Fraction(SIZE_UNITS[unit], 10**decimals) if decimals else Fraction(size, 10 ** (digits - 1))
    assert abs(said - size) <= (precision if unit != "B" else 0), text
    assert format_bytes(-size, digits, decimals=decimals, exact_below=exact_below) == (
        f"-{text}" if size else text
    )


@given(sizes, sizes, st.sampled_from([(3, None), (4, None), (4, 2)]))
@settings(max_examples=rounds(300))
def test_a_larger_size_never_reads_smaller(one: int, other: int, how: tuple[int, int | None]) -> None:
    small, large = sorted((one, other))
    first, second = (
        parsed(format_bytes(size, how[0], decimals=how[1], exact_below=1024), SIZE_UNITS)[0]
        for size in (small, large)
    )
    assert first <= second


def test_a_size_that_is_no_number_says_so() -> None:
    assert format_bytes(float("nan")) == "nan B"


@given(st.lists(durations, min_size=1, max_size=5))
@example([9_999_999])
@settings(max_examples=rounds(200))
def test_a_column_of_a_report_has_no_time_of_five_digits_where_a_unit_is_left(values: list[int]) -> None:
    column = Column("total_ns", "Total", Role.DURATION)
    unit = unit_below(max(values))
    texts = [format_value(value, column, unit) for value in values]
    largest = max(Fraction(Decimal(text.replace(",", ""))) for text in texts)
    assert unit == "s" or largest < 10_000, texts
    for value, text in zip(values, texts, strict=True):
        said = Fraction(Decimal(text.replace(",", ""))) * NS_PER_UNIT[unit]
        places = len(text.partition(".")[2])
        assert abs(said - value) <= Fraction(NS_PER_UNIT[unit], 2 * 10**places), text
        assert said or not value, "what is there is no 0"


@given(st.lists(durations, min_size=2, max_size=2))
@settings(max_examples=rounds(200))
def test_times_in_a_column_keep_their_order(values: list[int]) -> None:
    column = Column("total_ns", "Total", Role.DURATION)
    unit = unit_below(max(values))
    first, second = (Decimal(format_value(v, column, unit).replace(",", "")) for v in sorted(values))
    assert first <= second
