"""Times as text become exact nanoseconds."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpline.model import parse_range, parse_time

SCALES = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "": 10**9}


@given(
    st.integers(0, 10**12),
    st.text("0123456789", max_size=30),
    st.sampled_from(sorted(SCALES)),
    st.sampled_from(["", "-", "+"]),
)
def test_every_digit_of_a_time_counts(whole: int, fraction: str, unit: str, sign: str) -> None:
    number = Fraction(f"{whole}.{fraction or 0}")
    # Digits below a nanosecond are cut off, not rounded.
    expected = int(number * SCALES[unit])
    assert parse_time(f"{sign}{whole}.{fraction}{unit}") == (-expected if sign == "-" else expected)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1.5s", 1_500_000_000),
        ("20ms", 20_000_000),
        ("300us", 300_000),
        ("5ns", 5),
        (" 2 m ", 120 * 10**9),
        ("7", 7 * 10**9),
    ],
)
def test_times_as_people_write_them(text: str, ns: int) -> None:
    assert parse_time(text) == ns


@pytest.mark.parametrize("text", ["", "s", "1.5 h", "1,5s", ".5s", "1s2", "--1s", "1e3s", "\u0663s"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a time"):
        parse_time(text)


def test_ranges_have_two_ends_each_of_which_may_be_left_out() -> None:
    assert parse_range("1.2s:1.3s") == (1_200_000_000, 1_300_000_000)
    assert parse_range(":500ms") == (None, 500_000_000)
    assert parse_range("1s:") == (10**9, None)
    assert parse_range(":") == (None, None)
    assert parse_range("1s:1s") == (10**9, 10**9)
    with pytest.raises(ValueError, match="ends before it starts"):
        parse_range("2s:1s")
    with pytest.raises(ValueError, match="not a range"):
        parse_range("1s")
