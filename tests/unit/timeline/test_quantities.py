"""Texts of quantities in the window at the borders of their units."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds

pytest.importorskip("PySide6")

from warpline.analysis.framework.column import Column, Role  # Qt may be missing
from warpline_app.dialogs.align_ranks import parse_shift, shift_text
from warpline_app.panels.charts.chart import duration_ticks, linear_ticks
from warpline_app.panels.table.report_columns import text_of
from warpline_app.timeline.model.curves import counter_text, share_text

UNITS_NS = {"ns": 1, "µs": 10**3, "ms": 10**6, "s": 10**9}


def number(text: str) -> float:
    return float(re.sub(r"[^\d.e+-]", "", text))


@given(st.floats(0, 3), st.floats(0, 3))
@example(0.9995, 0.99949)
@example(0.0004999, 0.0005)
@settings(max_examples=rounds(300))
def test_shares_keep_their_order_and_are_0_or_100_only_when_they_are(one: float, other: float) -> None:
    small, large = sorted((one, other))
    assert number(share_text(small).replace("< 0.1", "0.01")) <= number(
        share_text(large).replace("< 0.1", "0.01")
    )
    assert (share_text(small) == "0 %") == (small == 0)
    assert abs(number(share_text(large)) - large * 100) <= (0.5 if large > 0.9995 else 0.1)


@given(st.integers(0, 1 << 45), st.integers(0, 1 << 45))
@example((1 << 20) - 1, 1 << 20)
@settings(max_examples=rounds(300))
def test_counters_of_bytes_never_read_1024_of_a_unit(one: int, other: int) -> None:
    steps = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
    said = []
    for size in sorted((one, other)):
        amount, unit = counter_text(float(size), "bytes").split(" ")
        assert unit == "TiB" or number(amount) < 1024
        said.append(number(amount) * steps[unit])
    assert said[0] <= said[1]


@given(st.integers(0, 10**13))
@example(9_999_990)
@example(9_999_999_999)
@settings(max_examples=rounds(300))
def test_a_column_of_times_stays_below_five_digits(value: int) -> None:
    text, unit = text_of(Column("total_ns", "Total", Role.DURATION), np.array([value]))
    said = number(text(0).replace("<", ""))
    assert unit == "s" or said < 10_000, text(0)
    assert said > 0 or value == 0
    places = len(text(0).partition(".")[2])
    assert abs(said * UNITS_NS[unit] - value) <= UNITS_NS[unit] / 2 / 10**places + 1e-6 * value


@given(st.floats(1, 1e13), st.integers(2, 12))
@example(1000.0, 2)
@example(999_999.0, 4)
@settings(max_examples=rounds(200))
def test_ticks_of_durations_differ_and_stay_below_a_thousand(high: float, most: int) -> None:
    values = linear_ticks(0.0, high, most)
    texts = duration_ticks(values, values[-1] - values[-2] if len(values) > 1 else high)
    assert len(set(texts)) == len(texts)
    for text in texts:
        amount, unit = text.split(" ")
        assert unit == "s" or number(amount) < 1000, text


@given(st.integers(-(10**15), 10**15), st.sampled_from(["ns", "µs", "ms"]))
@settings(max_examples=rounds(200))
def test_a_shift_reads_back_exactly(shift: int, unit: str) -> None:
    assert parse_shift(shift_text(shift, unit), unit) == shift
