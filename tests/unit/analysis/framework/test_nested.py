"""Sums over nested events from one pass over each thread, against the parent of every event and sorting in numpy."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.analysis.framework.gpu_work import selections
from tests.unit.analysis.framework.host_work import stretched, write_launches
from tests.unit.effort import rounds

from warpline.analysis.framework.nesting import library
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.registry import compute_report
from warpline.analysis.framework.report import Table
from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.structure.flame import Flame, flame_graph
from warpline.analysis.structure.nested.nested_sums import typed_sums
from warpline.storage import Capture, CaptureBuilder, open_capture

pytestmark = pytest.mark.skipif(library() is None, reason="the pass is not compiled here")
NESTED = "warpline.analysis.structure.nested.nested_sums.library"


@pytest.mark.fuzz
@given(st.integers(0, 2**32))
@settings(max_examples=rounds(12, 2_000), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_pass_equals_sums_by_parents(tmp_path: Path, seed: int) -> None:
    with write_launches(tmp_path / "x.h5", seed) as capture:
        assert all(sums is not None for _, sums in typed_sums(View(capture), "Operator"))
        for selection in selections(capture, seed):
            assert_passed_as_parted(capture, selection)


@pytest.mark.fuzz
@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 12))
@settings(max_examples=rounds(12, 2_000), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_pass_limits_levels_like_sums_by_parents(
    tmp_path: Path, seed: int, enough: int, most: int
) -> None:
    with write_launches(tmp_path / "x.h5", seed) as capture, pytest.MonkeyPatch.context() as patch:
        patch.setattr("warpline.analysis.paddle.events.MAX_PATHS", enough)
        patch.setattr("warpline.analysis.structure.flame.MAX_BOXES", enough)
        patch.setattr("warpline.analysis.structure.nested.path_tree.THREAD_PATHS", enough + most)
        for selection in selections(capture, seed):
            assert_passed_as_parted(capture, selection)


def test_one_pass_gives_up_on_overlapping_lanes(tmp_path: Path) -> None:
    for seed, capture in stretched(tmp_path / "x.h5", write_launches):
        for selection in selections(capture, seed):
            assert_passed_as_parted(capture, selection)


def test_events_missing_in_their_kinds_table_have_no_attributes(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    with CaptureBuilder(path) as builder:
        process = builder.add_process(7)
        thread = builder.add_thread(process, 7)
        track = builder.track("ranges", role="ranges", process=process, thread=thread)
        api = builder.track("api", role="api", process=process, thread=thread)
        stream = builder.track("stream", role="stream", device=0)
        work, domain = builder.strings(("work", "domain"))
        builder.add_events(track, "range", [0, 10], 9, work, attributes={"domain": np.full(2, domain)})
        builder.add_events(track, "operator", [20, 30, 40], 9, work)
        call = builder.add_events(api, "cuda_api", np.arange(5) * 10 + 1, 1, work)
        kernel = builder.add_events(stream, "kernel", np.arange(5) * 10 + 2, 3, work)
        builder.add_links("launch", call + np.arange(5), kernel + np.arange(5))
        builder.finish()
    with h5py.File(path, "r+") as file:
        kinds, groups = file["events/kind"], file["kinds"]
        codes = np.asarray(kinds[...])
        codes[codes == groups["operator"].attrs["code"]] = groups["range"].attrs["code"]
        kinds[...] = codes
    with open_capture(path) as capture:
        table = compute_report(capture, "nvtx_gpu_proj_sum").result
        assert isinstance(table, Table)
        assert sorted((row["name"], row["count"]) for row in table.rows()) == [
            ("domain:work", 2),
            ("work", 3),
        ]


def assert_passed_as_parted(capture: Capture, selection: Selection) -> None:
    def found() -> list[object]:
        tables = [
            compute_report(capture, report, selection, Options(by_thread=by_thread)).result
            for report in ("operator", "operator_places", "user_defined", "events", "nvtx_gpu_proj_sum")
            for by_thread in (False, True)
        ]
        flames = [flame_graph(View(capture, selection), "operators", bottom_up=up) for up in (False, True)]
        return [*map(rows_of, tables), *map(rows_of, flames)]

    passed = found()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NESTED, lambda: None)
        assert found() == passed


def rows_of(found: object) -> object:
    """All of a table or a flame graph, to be compared."""
    if isinstance(found, Flame):
        return [np.asarray(column).tolist() for column in vars(found).values()]
    rows = getattr(found, "rows", None)
    return found if rows is None else [*rows(), vars(found)["notes"], str(vars(found)["targets"])]
