"""Times as text: rounded, never cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from warpline.model.times import format_time, parse_time


def test_a_time_is_rounded_over_the_border_of_a_unit() -> None:
    assert format_time(1_294_789_545, 1_294_789) == "1.295 s"
    assert format_time(999_999_700, 1_000) == "1.000000 s"
    assert format_time(-1_600_000, 1_000_000) == "-2 ms"


@given(st.integers(0, 10**13), st.sampled_from([1, 10, 1_000, 100_000, 10**6]))
def test_a_time_is_shown_to_half_of_what_can_be_told_apart(time_ns: int, resolution_ns: int) -> None:
    assert abs(parse_time(format_time(time_ns, resolution_ns)) - time_ns) <= resolution_ns // 2
