"""What a selection leaves of every report: ranges, tracks, threads, names; sorting."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.analysis.analysis_tools import Program, by_name, rows_of
from tests.unit.effort import rounds

from warpline.analysis.framework.registry import compute_report, reports
from warpline.analysis.framework.report import NotRecorded, sort_table
from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.structure.launches import last_of_each
from warpline.model import UsageError
from warpline.model.track_patterns import match_tracks
from warpline.storage import Capture


def test_every_report_computes_on_the_whole_and_on_a_range(training: Capture) -> None:
    for spec in reports():
        for selection in (None, Selection(400_000, 1_700_000), Selection(10, 10)):
            report = compute_report(training, spec.name, selection)
            assert report.name == spec.name
            if isinstance(report.result, NotRecorded):
                assert report.result.reason
            else:
                assert len(list(report.result.rows())) == len(report.result)


def test_what_was_not_recorded_is_not_zero(tmp_path: Path) -> None:
    program = Program(tmp_path / "empty.h5")
    program.host("ranges", "range", 0, 10, "only a range")
    with program.finish() as capture:
        for name in (
            "cuda_gpu_kern_sum",
            "osrt_sum",
            "thread_state",
            "operator",
            "memory",
            "steps",
            "gpu_idle",
        ):
            report = compute_report(capture, name)
            assert report.table is None
            assert isinstance(report.result, NotRecorded)
            assert "not recorded" in report.result.reason
            assert report.result.remedy


def test_a_range_cuts_durations_so_that_parts_add_up(training: Capture) -> None:
    whole = by_name(rows_of(training, "cuda_gpu_kern_sum"))
    cut = 470_000
    left = by_name(rows_of(training, "cuda_gpu_kern_sum", Selection(0, cut)))
    right = by_name(rows_of(training, "cuda_gpu_kern_sum", Selection(cut, 4_000_000)))
    for name, row in whole.items():
        assert left[name]["total_ns"] + right[name]["total_ns"] == row["total_ns"]
    assert left["ncclDevKernel_AllReduce"]["total_ns"] == 5_000


def test_streams_threads_tracks_and_names_select(training: Capture) -> None:
    stream = training.track("gpu/0/process/71.1/context/1/stream/8").index
    rows = rows_of(training, "cuda_gpu_kern_sum", Selection(streams=frozenset([stream])))
    assert [row["name"] for row in rows] == ["ncclDevKernel_AllReduce"]
    tracks = match_tracks(training.tracks, ["*/stream/7"])
    rows = rows_of(training, "cuda_gpu_kern_sum", Selection(tracks=tracks))
    assert [row["name"] for row in rows] == ["sm90_xmma_gemm_bf16"]
    assert len(rows_of(training, "cuda_gpu_trace", Selection(threads=frozenset([0])))) == 9
    name = training.strings.id("forward")
    assert name is not None
    rows = rows_of(training, "nvtx_sum", Selection(names=frozenset([name])))
    assert [row["name"] for row in rows] == ["forward"]
    with pytest.raises(UsageError, match="no track matches"):
        match_tracks(training.tracks, ["nowhere/*"])


def test_sorting_keeps_children_below_their_parents(training: Capture) -> None:
    table = compute_report(training, "operator").table
    assert table is not None
    rows = list(sort_table(table, "name", descending=True).rows())
    assert [row["name"] for row in rows if row["depth"] == 0] == ["aten::linear", "aten::addmm"]
    assert rows[1]["depth"] == 1
    rows = list(sort_table(table, "cpu_total_ns", descending=False).rows())
    assert [row["name"] for row in rows if row["depth"] == 0] == ["aten::addmm", "aten::linear"]


@pytest.mark.fuzz
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 400), st.integers(0, 60), st.integers(0, 4)), max_size=40
    ),
    st.integers(0, 400),
    st.integers(0, 200),
)
@settings(max_examples=rounds(7))
def test_sums_of_a_range_equal_brute_force(
    tmp_path_factory: pytest.TempPathFactory, found: list[tuple[int, int, int, int]], start: int, length: int
) -> None:
    program = Program(tmp_path_factory.mktemp("random") / "random.h5")
    for stream, at, duration, name in found:
        program.gpu("kernel", stream, at, at + duration, f"kernel {name}")
    program.builder.set_span(0, 500)
    stop = start + length
    with program.finish() as capture:
        expected: dict[str, list[int]] = {}
        for _, at, duration, name in found:
            overlaps = at < stop and (at + duration > start or (duration == 0 and at >= start))
            if overlaps:
                inside = max(min(at + duration, stop) - max(at, start), 0)
                expected.setdefault(f"kernel {name}", []).append(inside)
        report = compute_report(capture, "cuda_gpu_kern_sum", Selection(start, stop))
        rows = {} if report.table is None else by_name(list(report.table.rows()))
        assert {name: (row["count"], row["total_ns"], row["max_ns"]) for name, row in rows.items()} == {
            name: (len(values), sum(values), max(values)) for name, values in expected.items()
        }
        busy = sum(any(at <= t < at + d for _, at, d, _ in found) for t in range(start, stop))
        view = View(capture, Selection(start, stop))
        assert view.duration_ns == length
        if found:
            overlap = {
                row["activity"]: row["total_ns"]
                for row in rows_of(capture, "overlap", Selection(start, stop))
            }
            assert overlap["busy"] == busy


@pytest.mark.fuzz
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 400), st.integers(0, 3)), min_size=1, max_size=40),
    st.tuples(st.integers(0, 400), st.integers(0, 200)) | st.none(),
    st.frozensets(st.integers(0, 3)),
    st.frozensets(st.integers(0, 3)) | st.none(),
)
@settings(max_examples=rounds(7))
def test_reading_events_by_name_equals_filtering_all_events(
    tmp_path_factory: pytest.TempPathFactory,
    found: list[tuple[int, int, int]],
    part: tuple[int, int] | None,
    wanted: frozenset[int],
    chosen: frozenset[int] | None,
) -> None:
    program = Program(tmp_path_factory.mktemp("named") / "named.h5")
    for number, (stream, at, name) in enumerate(found):
        program.gpu("kernel" if number % 3 else "memset", stream, at, at + 9, f"work {name}")
    with program.finish() as capture:
        ids = {name: i for name in range(4) if (i := capture.strings.id(f"work {name}")) is not None}
        named = np.zeros(len(capture.strings), bool)
        named[[i for name, i in ids.items() if name in wanted]] = True
        start, stop = (None, None) if part is None else (part[0], part[0] + part[1])
        names = None if chosen is None else frozenset(i for name, i in ids.items() if name in chosen)
        view = View(capture, Selection(start, stop, names=names))
        for kind in ("kernel", "memset"):
            slow = view.events(kind)
            slow = slow.take(named[slow.name])
            fast = view.events(kind, named=named)
            for column in ("row", "index", "start", "duration", "inside", "name"):
                assert getattr(fast, column).tolist() == getattr(slow, column).tolist()
            of_all = View(capture, Selection(start, stop)).events(kind)
            kept = len(of_all) if names is None else int(np.isin(of_all.name, list(names)).sum())
            assert len(view.events(kind)) == kept


@given(st.lists(st.integers(0, 9)), st.sampled_from([0, 1 << 40]))
def test_last_of_each_finds_last_occurrences(rows: list[int], far: int) -> None:
    spread = np.array(rows, np.int64) * (1 + far)
    last = {row: place for place, row in enumerate(rows)}
    assert last_of_each(spread).tolist() == sorted(last.values())
