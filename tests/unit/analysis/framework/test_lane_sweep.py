"""Times together from one sweep over lanes against sorting all borders, on random work of a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.analysis.framework.gpu_work import KINDS, selections, write_work
from tests.unit.analysis.framework.host_work import stretched, write_launches
from tests.unit.effort import rounds

from warpline.analysis.framework.nesting import library
from warpline.analysis.framework.registry import compute_report
from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.structure.gpus import active_span, activity_combinations, gpu_work, gpus
from warpline.storage import Capture


def span_of_work(view: View) -> list[tuple[int, int]]:
    found = []
    for gpu in gpus(view):
        events = gpu_work(view, gpu)
        start, stop = (int(events.start.min()), int(events.stop.max())) if len(events) else (0, 0)
        found.append((max(start, view.start_ns), min(stop, view.stop_ns)) if len(events) else (0, 0))
    return found


@pytest.mark.fuzz
@given(st.integers(0, 2**32))
@settings(max_examples=rounds(5), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_sweep_agrees_with_sorted_borders(tmp_path: Path, seed: int) -> None:
    with write_work(tmp_path / "x.h5", seed) as capture:
        if not any(kind in capture.kinds for kind in KINDS[:3]):
            return
        for selection in selections(capture, seed):
            view = View(capture, selection)
            assert [active_span(view, gpu) for gpu in gpus(view)] == span_of_work(view)
            assert_swept_as_sorted(capture, selection)


@pytest.mark.skipif(library() is None, reason="the sweep is not compiled here")
@pytest.mark.fuzz
@given(st.integers(0, 2**32), st.integers(1, 40))
@settings(max_examples=rounds(8), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_cached_bins_and_remainders_equal_a_whole_sweep(tmp_path: Path, seed: int, bins: int) -> None:
    with write_work(tmp_path / "x.h5", seed) as capture:
        if not any(kind in capture.kinds for kind in KINDS[:3]):
            return
        for selection in selections(capture, seed):
            view = View(capture, selection)
            swept = [activity_combinations(view, gpu).tolist() for gpu in gpus(view)]
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("warpline.analysis.structure.gpus.WINDOW_EVENTS", 0)
                patch.setattr("warpline.analysis.structure.gpus._BINS", bins)
                # The same bins answer every range.
                for other in (view.everything(), view, view.restrict(view.start_ns + 3, view.stop_ns - 2)):
                    if other.duration_ns > 5:
                        found = [activity_combinations(other, gpu).tolist() for gpu in gpus(other)]
                        if other is view:
                            assert found == swept
                        assert all(sum(times) == other.duration_ns for times in found)


@pytest.mark.fuzz
@given(st.integers(0, 2**32))
@settings(max_examples=rounds(5), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_sweep_of_threads_agrees_with_sorted_borders(tmp_path: Path, seed: int) -> None:
    with write_launches(tmp_path / "x.h5", seed) as capture:
        for selection in selections(capture, seed):
            assert_swept_as_sorted(capture, selection)


def test_times_of_overlapping_lanes_come_from_sorting(tmp_path: Path) -> None:
    for seed, capture in stretched(tmp_path / "x.h5", write_work):
        for selection in selections(capture, seed):
            assert_swept_as_sorted(capture, selection)


def assert_swept_as_sorted(capture: Capture, selection: Selection) -> None:
    if library() is None:
        return
    reports = ("overlap", "stream_concurrency", "overview", "framework_overhead")

    def found() -> list[object]:
        tables = [compute_report(capture, report, selection).table for report in reports]
        return [None if table is None else list(table.rows()) for table in tables]

    swept = found()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warpline.analysis.framework.lane_sweep.library", lambda: None)
        assert found() == swept
