"""Paddle's tables: operators, places, kernels, copies, memory, the older report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.analysis.analysis_tools import Program, by_name, rows_of

from warpline.analysis.framework.options import Options
from warpline.analysis.framework.registry import compute_report
from warpline.analysis.paddle import operator_places
from warpline.storage import Capture


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


def test_calls_beyond_the_limit_share_the_last_number(
    training: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def places(options: Options) -> dict[str, int]:
        rows = rows_of(training, "operator_places", options=options)
        return {row["name"]: row["count"] for row in rows if row["depth"]}

    assert places(Options()) == {"aten::linear #0": 3, "aten::addmm #0": 3}
    no_steps = Options(step="nothing is called so")
    assert places(no_steps)["aten::linear #2"] == 1
    monkeypatch.setattr(operator_places, "_MOST_LINES", 2)
    monkeypatch.setattr(operator_places, "_LEAST_PLACES", 1)
    assert places(no_steps) == dict.fromkeys(("aten::linear #0", "aten::addmm #0"), 1) | dict.fromkeys(
        ("aten::linear #1", "aten::addmm #1"), 2
    )
    report = compute_report(training, "operator_places", options=no_steps)
    assert report.table is not None
    assert "#1 holds all later calls too" in report.table.notes[-1]


def test_memory_manipulation_lists_launching_calls(training: Capture) -> None:
    (row,) = rows_of(training, "memory_manipulation")
    assert row["name"] == "MemcpyAsync:GPU->CPU (cudaMemcpyAsync)"
    assert (row["count"], row["cpu_total_ns"], row["gpu_total_ns"]) == (3, 15_000, 150_000)
    (size,) = rows_of(training, "cuda_gpu_mem_size_sum")
    assert (size["total_bytes"], size["med_bytes"]) == (15_000, 5_000)
    assert size["operation"] == "[CUDA memcpy Device-to-Host]"


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


def test_the_header_of_paddles_older_report(training: Capture) -> None:
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


def test_an_impossible_occupancy_is_not_recorded(tmp_path: Path) -> None:
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
