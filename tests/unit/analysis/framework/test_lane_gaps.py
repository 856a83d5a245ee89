"""When a GPU had nothing to run, from one merge of its lanes, against sorting all that it ran."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.analysis.framework.gpu_work import KINDS, selections, write_work
from tests.unit.analysis.framework.host_work import stretched, write_launches
from tests.unit.effort import rounds

from warpline.analysis.framework.loops.lane_gaps import lane_gaps
from warpline.analysis.framework.nesting import library
from warpline.analysis.framework.selection import GPU_KINDS, Selection, View
from warpline.analysis.structure.gpu_gaps import gap_parts, gpu_gaps
from warpline.analysis.structure.gpus import gpus
from warpline.storage import Capture, open_capture

pytestmark = pytest.mark.skipif(library() is None, reason="the merge is not compiled here")


@pytest.mark.fuzz
@given(st.integers(0, 2**32))
@settings(max_examples=rounds(12, 2_000), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_merge_agrees_with_sorting(tmp_path: Path, seed: int) -> None:
    with write_work(tmp_path / "x.h5", seed) as capture:
        for selection in selections(capture, seed):
            view = View(capture, selection)
            if any(kind in capture.kinds for kind in KINDS[:3]):
                assert all(lane_gaps(view, gpu.tracks, GPU_KINDS) is not None for gpu in gpus(view))
            assert_merged_as_sorted(capture, selection)


@pytest.mark.fuzz
@given(st.integers(0, 2**32))
@settings(max_examples=rounds(5, 1_000), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_gaps_before_launched_work_agree(tmp_path: Path, seed: int) -> None:
    with write_launches(tmp_path / "x.h5", seed) as capture:
        for selection in selections(capture, seed):
            assert_merged_as_sorted(capture, selection)


def test_gaps_of_damaged_lanes_come_from_sorting(tmp_path: Path) -> None:
    for seed, capture in stretched(tmp_path / "x.h5", write_work):
        for selection in selections(capture, seed):
            assert_merged_as_sorted(capture, selection)


def test_the_merge_gives_up_on_an_unsorted_lane(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    with write_work(path, 3) as capture:
        lanes = View(capture).lane_spans(gpus(View(capture))[0].tracks)
        rows = max((slice(span.first, span.stop) for span in lanes), key=lambda rows: rows.stop - rows.start)
    with h5py.File(path, "r+") as file:
        file["events/start"][rows] = np.asarray(file["events/start"][rows])[::-1]
    with open_capture(path) as capture:
        view = View(capture)
        (gpu,) = gpus(view)
        assert lane_gaps(view, gpu.tracks, GPU_KINDS) is None
        assert_merged_as_sorted(capture, Selection())


def assert_merged_as_sorted(capture: Capture, selection: Selection) -> None:
    def found() -> list[object]:
        view = View(capture, selection)
        parts = [of(view, gpu) for gpu in gpus(view) for of in (gpu_gaps, gap_parts)]
        return [column.tolist() for part in parts for column in vars(part).values()]

    merged = found()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warpline.analysis.framework.loops.lane_gaps.library", lambda: None)
        assert found() == merged
