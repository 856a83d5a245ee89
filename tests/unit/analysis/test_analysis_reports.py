"""Reports on captures built by hand: definitions, ranges, missing data, steps, idle causes, ranges of Nsight."""

from __future__ import annotations

import csv
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.analysis.analysis_tools import Program, by_name, rows_of, training_capture
from tests.unit.effort import rounds

from warpline.analysis.framework.options import Options
from warpline.analysis.framework.registry import REPORTS, compute_report
from warpline.analysis.framework.report import NotRecorded, sort_table
from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.paddle import operator_table as paddle_operators
from warpline.model import Flag, UsageError
from warpline.model.track_patterns import match_tracks
from warpline.storage import Capture, CaptureBuilder, open_capture


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Capture:
    return training_capture(tmp_path_factory.mktemp("capture") / "training.h5")


def test_every_report_computes_on_everything_and_on_a_part(training: Capture) -> None:
    for spec in REPORTS:
        for selection in (None, Selection(400_000, 1_700_000), Selection(10, 10)):
            report = compute_report(training, spec.name, selection)
            assert report.name == spec.name
            if isinstance(report.result, NotRecorded):
                assert report.result.reason
            else:
                assert len(list(report.result.rows())) == len(report.result)


def test_unknown_reports_are_refused(training: Capture) -> None:
    with pytest.raises(UsageError, match="no report 'nonsense'"):
        compute_report(training, "nonsense")


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


def test_steps_phases_and_outliers(training: Capture) -> None:
    rows = rows_of(training, "steps")
    assert [row["step"] for row in rows] == [7, 8, 9]
    assert [row["duration_ns"] for row in rows] == [1_000_000, 2_000_000, 1_000_000]
    assert [row["dataloader_ns"] for row in rows] == [300_000] * 3
    assert [row["forward_ns"] for row in rows] == [300_000] * 3
    assert [row["others_ns"] for row in rows] == [400_000, 1_400_000, 400_000]
    assert [row["gpu_busy_ns"] for row in rows] == [350_000] * 3
    assert [row["outlier"] for row in rows] == [False, True, False]


def test_any_range_can_be_declared_the_step(training: Capture) -> None:
    rows = rows_of(training, "steps", options=Options(step="forward"))
    assert [row["duration_ns"] for row in rows] == [300_000] * 3
    rows = rows_of(training, "steps", options=Options(step="/^Profiler.*[79]$/"))
    assert [row["step"] for row in rows] == [7, 9]
    with pytest.raises(UsageError, match="not a regular expression"):
        compute_report(training, "steps", options=Options(step="/(/"))


def test_idle_time_has_one_cause_each_and_adds_up(training: Capture) -> None:
    rows = rows_of(training, "gpu_idle")
    whole, parts = rows[0], {row["cause"]: row["total_ns"] for row in rows[1:]}
    assert whole["total_ns"] == 4_000_000 - 3 * 350_000
    assert sum(parts.values()) == whole["total_ns"]
    # Loading runs 300 µs before each step's first launch; the wait for the copy ends 5 µs after it.
    assert parts["data_loading"] == 900_000
    assert parts["synchronization"] == 2 * 5_000
    assert parts["launch_latency"] == 3 * 15_000 + 3 * 10_000
    assert parts["end"] == 240_000


def test_overlap_and_exposed_time(training: Capture) -> None:
    rows = {row["activity"]: row["total_ns"] for row in rows_of(training, "overlap")}
    assert rows["computation"] == rows["communication"] == 600_000
    assert rows["computation_and_communication"] == 300_000
    assert rows["exposed_communication"] == 300_000
    assert rows["memory"] == rows["exposed_memory"] == 150_000
    assert rows["busy"] + rows["idle"] == 4_000_000


def test_operators_with_their_parts_and_kernels(training: Capture) -> None:
    rows = rows_of(training, "operator")
    assert [(row["depth"], row["name"]) for row in rows[:2]] == [(0, "aten::linear"), (1, "aten::addmm")]
    assert [row["depth"] for row in rows[2:4]] == [2, 2]
    assert {row["name"] for row in rows[2:4]} == {"sm90_xmma_gemm_bf16", "ncclDevKernel_AllReduce"}
    outer, inner = by_name(rows)["aten::linear"], by_name(rows)["aten::addmm"]
    assert outer["gpu_total_ns"] == inner["gpu_total_ns"] == 1_200_000
    assert (outer["gpu_self_ns"], inner["gpu_self_ns"]) == (0, 1_200_000)
    assert outer["cpu_self_ns"] == 3 * 30_000
    assert inner["cpu_self_ns"] == 3 * (120_000 - 20_000)
    assert rows[1]["cpu_ratio"] == pytest.approx(120 / 150)
    places = rows_of(training, "operator_places")
    assert [row["name"] for row in places] == [
        "aten::linear",
        "aten::linear #0",
        "aten::addmm",
        "aten::addmm #0",
    ]
    shapes = rows_of(training, "operator_shapes")
    assert [row["name"] for row in shapes if row["depth"]] == ["[8, 4]", "[8, 4]"]


def test_places_beyond_what_a_network_has_stand_together(
    training: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def places(options: Options) -> dict[str, int]:
        rows = rows_of(training, "operator_places", options=options)
        return {row["name"]: row["count"] for row in rows if row["depth"]}

    assert places(Options()) == {"aten::linear #0": 3, "aten::addmm #0": 3}
    no_steps = Options(step="nothing is called so")
    assert places(no_steps)["aten::linear #2"] == 1
    monkeypatch.setattr(paddle_operators, "_MOST_LINES", 2)
    monkeypatch.setattr(paddle_operators, "_LEAST_PLACES", 1)
    assert places(no_steps) == dict.fromkeys(("aten::linear #0", "aten::addmm #0"), 1) | dict.fromkeys(
        ("aten::linear #1", "aten::addmm #1"), 2
    )
    report = compute_report(training, "operator_places", options=no_steps)
    assert report.table is not None
    assert "stand together in #1" in report.table.notes[-1]


def test_launch_latency_queue_and_execution(training: Capture) -> None:
    latency = by_name(rows_of(training, "launch_latency"))
    assert latency["sm90_xmma_gemm_bf16"]["avg_ns"] == 5_000
    assert latency["ncclDevKernel_AllReduce"]["max_ns"] == 85_000
    execution = rows_of(training, "cuda_kern_exec_sum")
    assert [row["queue_count"] for row in execution] == [3, 3]
    assert execution[0]["total_avg_ns"] == 295_000
    queue = {row["name"].split(" · ")[-1]: row for row in rows_of(training, "queue_length")}
    assert queue["Stream 8"]["max"] == 1
    assert queue["Stream 8"]["time_avg"] == pytest.approx(3 * 95_000 / 4_000_000)


def test_ranges_projected_on_the_gpu(training: Capture) -> None:
    row = by_name(rows_of(training, "nvtx_gpu_proj_sum"))["forward"]
    assert (row["count"], row["gpu_operations"]) == (3, 6)
    assert row["avg_ns"] == 300_000
    kernels = rows_of(training, "nvtx_kern_sum")
    assert {(r["name"], r["kernel_name"], r["range_count"], r["count"]) for r in kernels} == {
        ("forward", "sm90_xmma_gemm_bf16", 3, 3),
        ("forward", "ncclDevKernel_AllReduce", 3, 3),
    }


def test_copies_as_the_program_asked_for_them(training: Capture) -> None:
    (row,) = rows_of(training, "memory_manipulation")
    assert row["name"] == "MemcpyAsync:GPU->CPU (cudaMemcpyAsync)"
    assert (row["count"], row["cpu_total_ns"], row["gpu_total_ns"]) == (3, 15_000, 150_000)
    (size,) = rows_of(training, "cuda_gpu_mem_size_sum")
    assert (size["total_bytes"], size["med_bytes"]) == (15_000, 5_000)
    assert size["operation"] == "[CUDA memcpy Device-to-Host]"


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


# Paddle's own statistic test, transcribed


def test_statistic_case_of_paddle(data_dir: Path, tmp_path: Path) -> None:
    case = json.loads((data_dir / "paddle/paddle_statistic_case1.json").read_text())
    program = Program(tmp_path / "case.h5")
    program.builder.add_kind(_with_category("phase"))
    program.builder.add_kind(_with_category("operator"))
    calls: list[int] = []
    roles = {"CudaRuntime": ("api", "cuda_api"), "UserDefined": ("operators", "range")}
    for event in case["host"]:
        category = event["cat"]
        role, kind = roles.get(
            category, ("phases", "phase") if category in _PHASES else ("operators", "operator")
        )
        if category in {"PythonUserDefined", "Communication"}:
            role, kind = "operators", "range"
        given = {} if kind == "cuda_api" else {"category": category}
        found = program.host(role, kind, event["start"], event["end"], event["name"], **given)
        if kind == "cuda_api":
            calls.append(found)
    for event, call in zip(case["device"], calls, strict=True):
        program.gpu(event["cat"].lower(), event["stream"], event["start"], event["end"], event["name"], call)
    program.builder.set_span(0, 400)
    expected = case["expected"]
    with program.finish() as capture:
        overview = {row["name"]: row["total_ns"] for row in rows_of(capture, "overview")}
        for name, total in {**expected["cpu_range_sum"], **expected["gpu_range_sum"]}.items():
            assert overview[name] == total, name
        model = {row["name"]: row for row in rows_of(capture, "model")}
        assert len(model) - 1 == expected["model_perspective"]
        assert model["Forward"]["cpu_total_ns"] == expected["Forward"]["cpu"]
        assert model["Forward"]["gpu_total_ns"] == expected["Forward"]["gpu"]
        assert model["Backward"]["gpu_total_ns"] == expected["Backward"]["gpu"]
        operators = by_name(rows_of(capture, "operator"))
        assert len(operators) == expected["operators"]
        assert operators["conv2d"]["cpu_total_ns"] == expected["conv2d"]["cpu"]
        assert operators["conv2d"]["gpu_total_ns"] == expected["conv2d"]["gpu"]
        assert len(rows_of(capture, "user_defined")) == expected["userdefined"]
        (memory,) = rows_of(capture, "memory_manipulation")
        assert memory["name"] == "AsyncMemcpy"
        assert (memory["cpu_total_ns"], memory["gpu_total_ns"]) == (
            expected["AsyncMemcpy"]["cpu"],
            expected["AsyncMemcpy"]["gpu"],
        )


_PHASES = ("ProfileStep", "Dataloader", "Forward", "Backward", "Optimization")


def _with_category(kind: str) -> Any:
    from dataclasses import replace

    from warpline.model import BUILTIN_KINDS_BY_NAME, AttributeSpec

    return replace(BUILTIN_KINDS_BY_NAME[kind], attributes=(AttributeSpec("category", "string", "Category"),))


# Ranges as Nsight lists them


def test_nested_ranges_as_nsight_lists_them(data_dir: Path, tmp_path: Path) -> None:
    """31,550 ranges of four processes: nesting and the time of children, computed there by nsys."""
    source = next(data_dir.glob("nsys_recipe/**/report_nvtx_pushpop_trace.csv.xz"), None)
    if source is None:
        pytest.skip("no nsys_recipe data")
    with lzma.open(source, "rt", newline="") as lines:
        listed = list(csv.DictReader(lines))
    path = tmp_path / "ranges.h5"
    with CaptureBuilder(path) as builder:
        for pid, tid in sorted({(row["PID"], row["TID"]) for row in listed}):
            process = builder.add_process(int(pid))
            thread = builder.add_thread(process, int(tid))
            track = builder.track(
                f"process/{pid}.1/thread/{tid}.1/nvtx", role="ranges", process=process, thread=thread
            )
            mine = [row for row in listed if (row["PID"], row["TID"]) == (pid, tid)]
            start = np.array([int(row["Start (ns)"]) for row in mine])
            duration = np.array([int(row["Duration (ns)"]) for row in mine])
            builder.add_events(track, "range", start, duration, builder.strings(row["Name"] for row in mine))
        builder.set_span(0, max(int(row["End (ns)"]) for row in listed))
        builder.finish()
    with open_capture(path) as capture:
        found = rows_of(capture, "nvtx_pushpop_trace")
    assert len(found) == len(listed)
    key = ("TID", "Start (ns)", "Lvl")
    theirs = sorted(listed, key=lambda row: tuple(int(row[k]) for k in key))
    ours = sorted(found, key=lambda row: (row["tid"], row["start_ns"], row["level"]))
    for our, row in zip(ours, theirs, strict=True):
        assert (
            our["duration_ns"],
            our["children_ns"],
            our["own_ns"],
            our["level"],
            our["children"],
        ) == tuple(
            int(row[name])
            for name in ("Duration (ns)", "DurChild (ns)", "DurNonChild (ns)", "Lvl", "NumChild")
        )
        assert our["name"] == row["Name"]


# Threads


def test_thread_states_and_cores(tmp_path: Path) -> None:
    program = Program(tmp_path / "states.h5")
    b = program.builder
    names = b.strings(["running", "runnable", "blocked", "running", "uninterruptible"])
    flags = np.array([0, Flag.WAITING, Flag.IDLE, 0, Flag.IDLE], np.uint8)
    b.add_events(
        program.tracks["state"], "thread_state", [0, 10, 30, 60, 70], [10, 20, 30, 10, 30], names, flags=flags
    )
    core = b.track("cpu/3", title="Core 3", role="core")
    b.add_events(core, "cpu_slice", [0, 60], [10, 10], b.strings(["Main", "Main"]))
    b.set_span(0, 100)
    with program.finish() as capture:
        (row,) = rows_of(capture, "thread_state")
        assert (row["running_ns"], row["runnable_ns"], row["blocked_ns"], row["uninterruptible_ns"]) == (
            20,
            20,
            30,
            30,
        )
        assert (row["switches"], row["longest_runnable_ns"], row["recorded_ns"]) == (2, 20, 100)
        (part,) = rows_of(capture, "thread_state", Selection(5, 65))
        assert (part["running_ns"], part["runnable_ns"], part["blocked_ns"]) == (10, 20, 30)
        (core_row,) = rows_of(capture, "core_utilization")
        assert (core_row["busy_ns"], core_row["ratio"], core_row["top_thread"]) == (20, 0.2, "Main")


# Any range against brute force


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


def test_the_head_of_the_older_report(training: Capture) -> None:
    rows = {row["name"]: row for row in rows_of(training, "framework_overhead")}
    us = 1_000
    # Steps fill 4 ms; each has an operator of 150 us and a copying call of 5 us outside it.
    assert rows["Total"]["total_ns"] == 4_000 * us
    assert rows["Computation"]["total_ns"] == 3 * 150 * us
    assert (rows["Asynchronous"]["count"], rows["Asynchronous"]["total_ns"]) == (3, 15 * us)
    assert (rows["Synchronous"]["count"], rows["Synchronous"]["total_ns"]) == (0, 0)
    assert rows["Framework overhead"]["total_ns"] == (4_000 - 450 - 15) * us
    assert rows["Copies and sets"]["ratio"] == pytest.approx(15 / 4_000)
    table = compute_report(training, "events").table
    assert table is not None
    assert "Framework overhead: 3.535 ms (88.4%)" in table.notes[-1]


def test_an_occupancy_that_cannot_be_is_not_recorded(tmp_path: Path) -> None:
    program = Program(tmp_path / "kernels.h5")
    shape = {"block_x": 256, "block_y": 1, "block_z": 1}
    for place, (name, occupancy, blocks) in enumerate(
        (
            ("known", 0.5, 2.0),
            ("failed", 0.0, 2.0),
            ("tiny", 0.0, 0.01),
            ("mixed", 0.0, 2.0),
            ("mixed", 0.25, 2.0),
        )
    ):
        at = place * 1_000
        program.gpu("kernel", 7, at, at + 500, name, occupancy_ratio=occupancy, blocks_per_sm=blocks, **shape)
    with program.finish() as capture:
        found = {row["name"]: row["occupancy_ratio"] for row in rows_of(capture, "kernel")}
    assert found == {"known": 0.5, "failed": None, "tiny": 0.0, "mixed": 0.25}


def test_the_peak_of_memory_without_totals(tmp_path: Path) -> None:
    program = Program(tmp_path / "memory.h5")
    for at, size in ((10, 400), (20, 300), (30, -400), (40, 200)):
        program.host("memory", "memory", at, at, "[memory]", bytes=size)
    with program.finish() as capture:
        table = compute_report(capture, "memory").table
    assert table is not None
    assert "700 bytes more than at the start" in table.notes[0]
