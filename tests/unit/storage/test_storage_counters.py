"""Samples of counters, their pyramid, and what is asked of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds

from warpline.storage import CaptureBuilder, open_capture, verify

COUNTER_SAMPLES = st.tuples(
    st.integers(0, 2**32), st.integers(0, 3000), st.sampled_from([0, 2**60]), st.integers(1, 60)
)


@pytest.mark.fuzz
@given(COUNTER_SAMPLES)
@settings(max_examples=rounds(10), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_counters_agree_with_brute_force(tmp_path: Path, setup: tuple[int, int, int, int]) -> None:
    seed, n, origin, bins = setup
    rng = np.random.default_rng(seed)
    times = rng.integers(0, max(1, 3 * n), n) + origin
    values = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        track = builder.track("c", clock=builder.add_clock("other", 9))
        builder.add_counter(track, "first", "W", [origin], [1.0], interpolation="linear")
        for part in np.array_split(np.arange(n), 3):
            builder.add_counter(track, "second", "ratio", times[part], values[part])
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        assert list(verify(capture)) == []
        first, second = capture.counters_of_tracks[track]
        assert (first.name, first.unit, first.interpolation) == ("first", "W", "linear")
        assert (second.name, second.unit, second.interpolation) == ("second", "ratio", "step")
        order = np.argsort(times, kind="stable")
        assert np.array_equal(second.times, times[order] - 9)
        assert np.array_equal(second.values, values[order], equal_nan=True)
        times, values = second.times, second.values
        for start, stop in (
            (origin - 20, origin + 3 * n + 20),
            (origin + n, origin + n + bins),
            (origin, origin + 1),
        ):
            low, high, mean = second.query(start, stop, bins)
            # Far out, blocks of the pyramid may count in the bin in which they begin: compare whole ranges there.
            edges = [start + int(i * ((stop - start) / bins)) for i in range(bins)] + [stop]
            inside = (times >= start) & (times < stop)
            if inside.sum() / bins <= 32:
                for i in range(bins):
                    chosen = values[(times >= edges[i]) & (times < edges[i + 1])]
                    chosen = chosen[np.isfinite(chosen)]
                    if not len(chosen):
                        assert np.isnan([low[i], high[i], mean[i]]).all()
                    else:
                        assert (low[i], high[i]) == (chosen.min(), chosen.max())
                        assert mean[i] == pytest.approx(chosen.mean(), abs=1e-12)
            elif np.isfinite(values[inside]).any():
                assert np.nanmin(low) >= np.nanmin(values)
                assert np.nanmax(high) <= np.nanmax(values)


def test_every_level_of_a_counter_is_that_of_its_samples(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=10_000)
    values[200:800] = np.nan
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        builder.add_counter(builder.track("c"), "c", "", np.arange(10_000), values)
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        counter = capture.counters[0]
        low, high, mean = counter.pyramid
        at = 0
        for block in (16, 256, 4096):
            for begin in range(0, 10_000, block):
                chosen = values[begin : begin + block]
                chosen = chosen[np.isfinite(chosen)]
                if len(chosen):
                    assert (low[at], high[at]) == (chosen.min(), chosen.max())
                    assert mean[at] == pytest.approx(chosen.mean())
                else:
                    assert np.isnan([low[at], high[at], mean[at]]).all()
                at += 1
        assert at == len(low)
        # One bin over everything: extremes and mean are exact although no sample is read.
        bottom, top, middle = counter.query(0, 10_000, 1)
        assert (bottom[0], top[0]) == (np.nanmin(values), np.nanmax(values))
        # Blocks weigh the same, also those with gaps.
        assert middle[0] == pytest.approx(np.nanmean(values), abs=0.01)
        assert counter.value_at(-1) is None
        assert counter.value_at(300) is None
        assert counter.value_at(10_500) == values[-1]


@pytest.mark.parametrize("interpolation", ["step", "linear"])
@pytest.mark.parametrize("n", [3, 5000])
def test_a_counter_past_its_last_sample(tmp_path: Path, interpolation: str, n: int) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        track = builder.track("c", clock=builder.add_clock("other", 1000))
        values = np.arange(n, dtype=np.float64)
        builder.add_counter(track, "c", "", np.arange(n) * 10, values, interpolation=interpolation)
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        counter = capture.counters[0]
        last = int(counter.times[-1])
        assert last == 10 * (n - 1) - 1000
        # The last value holds for ever; nothing is drawn towards a sample that never came.
        assert [counter.value_at(last + after) for after in (0, 1, 10**6)] == [n - 1] * 3
        assert counter.value_at(last - 5) == (n - 2 if interpolation == "step" else n - 1.5)
        assert counter.value_at(-1001) is None
        for start, stop in ((last + 1, last + 100), (last + 1, last + 2), (-5000, -1000)):
            assert all(np.isnan(column).all() for column in counter.query(start, stop, 7))
        low, high, mean = counter.query(last, last + 30, 3)
        assert (low[0], high[0], mean[0]) == (n - 1, n - 1, n - 1)
        assert np.isnan([low[1:], high[1:], mean[1:]]).all()
        # A bin that reaches beyond the end holds what lies before it, and the last sample counts.
        low, high, _ = counter.query(last - 9, last + 10**6, 1)
        assert (low[0], high[0]) == (n - 1, n - 1)
        assert counter.query(-1000, last + 10**6, 1)[1][0] == n - 1
        if n == 3:  # with more, the pyramid answers, whose blocks count where they begin
            assert counter.query(-1000, last, 1)[1][0] == n - 2


def test_a_counter_that_ends_in_a_gap_has_no_value_after_it(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        builder.add_counter(builder.track("c"), "c", "", [0, 10], [1.0, np.nan], interpolation="linear")
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        assert capture.counters[0].value_at(10) is None
        assert capture.counters[0].value_at(99) is None
