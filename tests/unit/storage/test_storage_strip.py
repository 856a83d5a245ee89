"""The compiled loop of `query`: the same strips as numpy, and no step beside damaged columns."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds
from tests.unit.storage import strip_worker
from tests.unit.storage.storage_tools import random_lane, write_lanes

from warpline.storage import Capture, CaptureBuilder, open_capture
from warpline.storage.columns.schema import MAX_PACKED_DURATION
from warpline.storage.columns.strip import Strip
from warpline.storage.index import strip_native
from warpline.storage.index.strip_numpy import draw_with_numpy

pytestmark = pytest.mark.skipif(strip_native.library() is None, reason="the loop is not compiled here")


def assert_same(found: Strip, expected: Strip) -> None:
    for field in fields(Strip):
        ours, theirs = getattr(found, field.name), getattr(expected, field.name)
        assert np.array_equal(ours, theirs), field.name
        assert getattr(ours, "dtype", None) == getattr(theirs, "dtype", None), field.name


def compare(capture: Capture, start: int, stop: int, width: int) -> None:
    lanes = np.arange(len(capture.lanes))[::-1]
    assert capture.strip_loop is not None
    assert_same(
        capture.query(lanes, start, stop, width),
        draw_with_numpy(capture.lane_columns, lanes, start, stop, width),
    )


@pytest.mark.parametrize("origin", [0, 2**61, -(2**61)])
def test_compiled_strips_are_those_of_numpy(tmp_path: Path, origin: int) -> None:
    rng = np.random.default_rng(1)
    shapes = ("uniform", "bursty", "adjacent", "instants", "bursty")
    sizes = (40_000, 9_000, 3_000, 5_000, 1)
    lanes = [random_lane(rng, n, shape, origin) for n, shape in zip(sizes, shapes, strict=True)]
    with write_lanes(tmp_path / "x.h5", lanes, origin // 2 + 17) as capture:
        first, last = capture.span
        for zoom in range(0, 40, 2):
            length = max(1, (last - first) >> zoom)
            for _ in range(3):
                start = int(rng.integers(first - length, last + 1))
                compare(capture, start, start + length, int(rng.integers(1, 900)))


def test_two_threads_draw_what_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    lanes = [random_lane(rng, n, "bursty") for n in (9_000, 70, 3_000, 1, 5_000)]
    monkeypatch.setattr(strip_native, "_CORES", 2)
    with write_lanes(tmp_path / "x.h5", lanes) as capture:
        first, last = capture.span
        for zoom in range(0, 30, 3):
            length = max(1, (last - first) >> zoom)
            start = int(rng.integers(first - length, last + 1))
            for least in (0, 1 << 60):
                monkeypatch.setattr(strip_native, "SPLIT_ENTRIES", least)
                compare(capture, start, start + length, 700)


def test_what_the_second_thread_lacks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    drawn = strip_native.StripLoop._draw_part

    def without_memory(loop: strip_native.StripLoop, *given: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            raise MemoryError("for a strip")
        return drawn(loop, *given)

    monkeypatch.setattr(strip_native, "_CORES", 2)
    monkeypatch.setattr(strip_native, "SPLIT_ENTRIES", 0)
    monkeypatch.setattr(strip_native.StripLoop, "_draw_part", without_memory)
    with write_lanes(tmp_path / "x.h5", [random_lane(rng, n, "bursty") for n in (900, 700)]) as capture:
        with pytest.raises(MemoryError, match="for a strip"):
            capture.query(np.arange(2), *capture.span, 300)


@pytest.mark.fuzz
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40)), min_size=1, max_size=200),
    st.integers(-20, 500),
    st.integers(1, 4000),
    st.integers(1, 60),
)
@settings(max_examples=rounds(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_odd_windows_on_small_lanes(
    tmp_path: Path, events: list[tuple[int, int]], start: int, length: int, width: int
) -> None:
    gaps, durations = (np.tile(np.array(column, np.int64), 8) for column in zip(*events, strict=True))
    stops = np.cumsum(gaps + durations)
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        track = builder.track("lane")
        builder.add_events(
            track,
            "range",
            stops - durations,
            durations,
            builder.string("x"),
            flags=np.arange(len(stops)) % 64,
        )
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        compare(capture, start, start + length, width)


def test_events_too_long_to_be_packed(tmp_path: Path) -> None:
    """Durations beyond 48 bits stand in the columns of events alone."""
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        start = np.arange(2_000) * 10
        builder.add_events(builder.track("lane"), "range", start, 3, builder.string("x"))
        long = MAX_PACKED_DURATION + np.array([0, 1, 10**9])
        builder.add_events(
            builder.track("lane"), "range", 20_000 + np.cumsum(long) - long, long, builder.string("long")
        )
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        for length in (30_000, 10**12, 10**15):
            compare(capture, 10, 10 + length, 200)
        strip = capture.query(np.arange(len(capture.lanes)), *capture.span, 200)
        assert {*(strip.rect_stop - strip.rect_start).tolist()} == set(long.tolist())


def test_a_lane_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with write_lanes(tmp_path / "x.h5", [random_lane(np.random.default_rng(0), 5, "uniform")]) as capture:
        for lane in (-1, 1, 10**12):
            with pytest.raises(IndexError):
                capture.query([0, lane], 0, 10, 10)
        assert not len(capture.query([], 0, 10, 10).busy)


@pytest.mark.slow
def test_damaged_columns_under_sanitizers(tmp_path: Path, repository: Path) -> None:
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("no C compiler")
    found = subprocess.run(
        [compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    runtime = Path(found.stdout.strip())
    if not runtime.is_absolute():
        pytest.skip("the compiler has no address sanitizer")
    library = tmp_path / "strip.so"
    source = repository / "capture/warpline/storage/index/native/strip.c"
    subprocess.run(
        [compiler, "-std=c11", "-O1", "-g", "-shared", "-fPIC", "-fsanitize=address,undefined",
         "-fno-sanitize-recover=all", "-o", library, source],
        check=True,
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, strip_worker.__file__, library, str(rounds(300, 20_000))],
        env={**os.environ, "LD_PRELOAD": str(runtime), "ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[1]) > 0
