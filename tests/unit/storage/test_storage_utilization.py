"""Utilization of groups against brute force: coarse from the file, fine from the lanes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds

from warpline.model import Flag, Packing
from warpline.model.intervals import merge_intervals
from warpline.storage import Capture, CaptureBuilder, open_capture
from warpline.storage.index import utilization as utilization_module

FEW = settings(max_examples=rounds(7), suppress_health_check=[HealthCheck.function_scoped_fixture])


def write(path: Path, seed: int, lanes: int, n: int, scale: int, origin: int) -> Capture:
    """Groups of every role; ``n`` events on each of their lanes."""
    rng = np.random.default_rng(seed)

    def fill(track: int, kind: str, overlapping: bool) -> None:
        start = np.cumsum(rng.integers(0, 3 * scale, n)) + origin
        duration = rng.integers(0, 2 * scale, n) if overlapping else rng.integers(0, scale, n)
        builder.add_events(
            track, kind, start, duration, 0, flags=np.where(rng.random(n) < 0.3, int(Flag.IDLE), 0)
        )

    with CaptureBuilder(path) as builder:
        clock = builder.add_clock("other", 77)
        process = builder.add_process(1)
        cores = builder.track("cpu", role="cores", clock=clock)
        owner = builder.track("process/1.1", role="process", process=process)
        gpu = builder.track("gpu/0", role="gpu", clock=clock)
        context = builder.track("gpu/0/process/1.1/context/1", role="context", parent=gpu)
        for index in range(lanes):
            fill(builder.track(f"cpu/{index}", role="core", parent=cores), "cpu_slice", False)
            thread = builder.track(f"process/1.1/thread/{index}", role="thread", parent=owner)
            state = builder.track(f"process/1.1/thread/{index}/state", role="state", parent=thread)
            fill(state, "thread_state", False)
            stream = builder.track(
                f"gpu/0/process/1.1/context/1/stream/{index}",
                role="stream",
                parent=context,
                packing=Packing.PACK,
            )
            fill(stream, "kernel", True)
        builder.finish()
    return open_capture(path)


def brute(capture: Capture, track: int, edges: np.ndarray) -> np.ndarray:
    """Busy share between edges, from every event."""
    group = capture.groups[track]
    rows = np.concatenate(
        [
            np.arange(first, first + count)
            for first, count in zip(
                capture.lanes.first[list(group.lanes)], capture.lanes.count[list(group.lanes)], strict=True
            )
        ]
    )
    rows = rows[capture.events.flags[rows] == 0]
    start, stop = capture.event_times(rows)
    if group.together:
        start, stop = merge_intervals(start, stop)
    low, high = edges[:-1, None], edges[1:, None]
    busy = np.maximum(np.minimum(stop, high) - np.maximum(start, low), 0).sum(axis=1)
    share: np.ndarray = busy / (edges[1:] - edges[:-1]) / group.capacity
    return share


@pytest.mark.fuzz
@given(
    st.integers(0, 2**32),
    st.integers(1, 4),
    st.sampled_from([1, 40, 600]),
    st.sampled_from([3, 1000]),
    st.sampled_from([0, -(2**40), 2**60]),
)
@FEW
def test_bins_of_the_curve_are_exact(
    tmp_path: Path, seed: int, lanes: int, n: int, scale: int, origin: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(utilization_module, "MAX_BINS", 64)
        # Small pieces, so that unions come in several windows.
        patch.setattr(utilization_module, "_PIECE", 50)
        patch.setattr(utilization_module, "_SAMPLE", 5)
        capture = write(tmp_path / "x.h5", seed, lanes, n, scale, origin)
    with capture:
        assert {capture.tracks[track].role for track in capture.groups} == {
            "cores",
            "process",
            "gpu",
            "context",
        }
        for track in capture.groups:
            curve = capture._curves[track]
            offset = capture.clock_offset_of_track(track)
            places = np.arange(len(curve.values) + 1, dtype=np.int64) + curve.origin
            edges = (places << curve.level) - offset
            expected = brute(capture, track, edges)
            assert len(curve.values) <= 64
            np.testing.assert_allclose(
                curve.values / capture.groups[track].capacity, expected, rtol=1e-6, atol=1e-6
            )


@pytest.mark.fuzz
@given(st.integers(0, 2**32), st.integers(1, 3), st.sampled_from([30, 3000]))
@FEW
def test_any_zoom_is_within_a_pixel(tmp_path: Path, seed: int, lanes: int, n: int) -> None:
    with write(tmp_path / "x.h5", seed, lanes, n, 1000, 5) as capture:
        low, high = capture.span
        rng = np.random.default_rng(seed)
        for zoom in (0, 3, 8):
            start = int(rng.integers(low, high))
            length = max(50, (high - low) >> zoom)
            bins = 50
            for track in capture.groups:
                found = capture.utilization(track, start, start + length, bins)
                assert found.dtype == np.float32
                edges = np.linspace(start, start + length, bins + 1)
                middle = (edges[1:] + edges[:-1]) / 2
                inside = (middle >= low) & (middle <= high)
                assert np.array_equal(np.isnan(found), ~inside)
                expected = brute(capture, track, edges)
                # Short events count in the pixel in which they start: compare what is busy up to each edge.
                reach = np.cumsum(np.where(inside, found, 0)) - np.cumsum(np.where(inside, expected, 0))
                assert np.abs(reach).max() < 1.5 * max(1, lanes / capture.groups[track].capacity)


def test_other_clocks_and_other_tracks_have_no_curve(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        clock = builder.add_clock("other", 5)
        cores = builder.track("cpu", role="cores")
        builder.add_events(
            builder.track("cpu/0", role="core", parent=cores, clock=clock), "cpu_slice", 1, 2, 0
        )
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        assert capture.groups == {}
        assert np.isnan(capture.utilization(cores, 0, 10, 5)).all()
        with pytest.raises(ValueError, match="nothing to draw"):
            capture.utilization(cores, 5, 5, 5)


def test_a_curve_moves_with_its_clock(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        clock = builder.add_clock("other", 0)
        cores = builder.track("cpu", role="cores", clock=clock)
        for core, busy in enumerate((0, 400)):
            track = builder.track(f"cpu/{core}", role="core", parent=cores)
            builder.add_events(track, "cpu_slice", [0, 600], [busy, 100], 0)
        builder.set_span(-2000, 2000)
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        assert capture.utilization(cores, 0, 800, 4).tolist() == [0.5, 0.5, 0, 0.5]
        moved = capture.with_clock_offsets({clock: 200})
        assert moved.utilization(cores, 0, 800, 4).tolist() == [0.5, 0, 0.5, 0]
