"""Notes about kernels, and about what a capture itself lacks; each kernel counts once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.analysis.findings.test_engine import MS, threads_capture

from warpline.analysis.findings.catalogue.kernels import longest_first
from warpline.analysis.findings.diagnose import diagnose
from warpline.analysis.findings.finding import Finding
from warpline.analysis.framework.selection import Selection, View
from warpline.storage import CaptureBuilder, open_capture


def _findings(
    path: Path, kernels: list[tuple[str, int, dict[str, float]]], idle_ns: int = 0
) -> dict[str, Finding]:
    """Of a GPU with 100 multiprocessors that runs these (name, length, attributes) one after the other."""
    with CaptureBuilder(path) as builder:
        process = builder.add_process(71, name="python")
        builder.add_device(0, "GPU of the test", properties={"sm_count": 100})
        stream = builder.track(
            "gpu/0/stream/7", role="stream", process=process, device=0, context=1, stream=7
        )
        now = idle_ns
        for name, length, attributes in kernels:
            given = {key: [value] for key, value in attributes.items()}
            builder.add_events(stream, "kernel", [now], [length], [builder.string(name)], attributes=given)
            now += length
        builder.set_span(0, now)
        builder.finish()
    with open_capture(path) as capture:
        return {finding.id: finding for finding in diagnose(View(capture)).findings}


GRID: dict[str, float] = {"grid_x": 1000, "grid_y": 1, "grid_z": 1}
FEW: dict[str, float] = {"grid_x": 12, "grid_y": 2, "grid_z": 1}


@pytest.mark.parametrize(
    ("name", "attributes", "expected", "helps"),
    [
        ("void at::native::elementwise_kernel<4>()", GRID, "gpu_elementwise", "compile"),
        ("softmax_warp_forward", GRID, "gpu_attention", "scaled_dot_product_attention"),
        ("my_scan", FEW, "gpu_few_blocks", "batches"),
        ("my_scan", {**GRID, "occupancy_ratio": 0.1}, "gpu_occupancy", "registers"),
        (
            "my_scan",
            {**GRID, "occupancy_ratio": 0.1, "registers_per_thread": 128},
            "gpu_occupancy",
            "Registers limit",
        ),
        (
            "my_scan",
            {
                **GRID,
                "occupancy_ratio": 0.1,
                "registers_per_thread": 32,
                "dynamic_shared_memory_bytes": 98_304,
            },
            "gpu_occupancy",
            "Shared memory limits",
        ),
    ],
)
def test_kernels_that_could_be_others_are_noted(
    tmp_path: Path, name: str, attributes: dict[str, float], expected: str, helps: str
) -> None:
    other = ("ncclDevKernel_AllReduce", 10 * MS, FEW)
    found = _findings(tmp_path / "run.h5", [(name, 60 * MS, attributes), ("fine", 30 * MS, GRID), other])
    assert (found[expected].time_ns, found[expected].severity) == (60 * MS, "note")
    assert found[expected].where.kernel == name
    assert helps in found[expected].remedy
    others = {"gpu_elementwise", "gpu_attention", "gpu_few_blocks", "gpu_occupancy"} - {expected}
    assert not others & set(found)


def test_a_kernel_counts_once_and_attention_that_is_fused_is_none(tmp_path: Path) -> None:
    # 24 blocks and little occupancy: it is small first of all.
    small = ("my_scan", 60 * MS, {**FEW, "occupancy_ratio": 0.1})
    found = _findings(
        tmp_path / "a.h5", [small, ("flash_fwd_kernel", 20 * MS, GRID), ("softmax", 20 * MS, GRID)]
    )
    assert "gpu_few_blocks" in found
    assert not {"gpu_occupancy", "gpu_attention"} & set(found)


def test_little_of_the_work_is_said(tmp_path: Path) -> None:
    found = _findings(tmp_path / "late.h5", [("fine", 20 * MS, GRID)], idle_ns=80 * MS)
    assert "80.00 ms of 100.0 ms" in found["capture_short"].text
    assert "capture_short" not in _findings(tmp_path / "soon.h5", [("fine", 80 * MS, GRID)], idle_ns=20 * MS)


def test_pauses_and_losses_are_said(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with CaptureBuilder(path) as builder:
        process = builder.add_process(71, name="python")
        thread = builder.add_thread(process, 71, name="python")
        state = builder.track("process/71.1/thread/71.1/state", role="state", process=process, thread=thread)
        times = np.arange(10) * 10 * MS
        builder.add_events(
            state, "thread_state", times, np.full(10, 10 * MS), [builder.string("running")] * 10
        )
        builder.add_source("perf", True, lost=5)
        builder.add_source("python", True, lost=1)
        builder.add_pause(20 * MS, 50 * MS)
        builder.set_span(0, 100 * MS)
        builder.finish()
    with open_capture(path) as capture:
        found = {finding.id: finding for finding in diagnose(View(capture)).findings}
    assert found["capture_lost"].text.startswith("perf lost 5 records")
    assert "30.00 ms of 100.0 ms" in found["capture_paused"].text
    with threads_capture(tmp_path / "whole.h5", [[(100 * MS, 0, 0, 0)]]) as capture:
        assert not diagnose(View(capture)).findings


def test_nobody_is_said_to_have_launched_what_nothing_tells_of(tmp_path: Path) -> None:
    path = tmp_path / "unknown.h5"
    with CaptureBuilder(path) as builder:
        process = builder.add_process(71, name="python")
        builder.add_device(0, "GPU of the test")
        stream = builder.track(
            "gpu/0/stream/7", role="stream", process=process, device=0, context=1, stream=7
        )
        # No host was recorded, and so no launch: the GPU idles between kernels, and why is not known.
        for start in (0, 50 * MS, 90 * MS):
            builder.add_events(stream, "kernel", [start], [10 * MS], [builder.string("gemm")])
        builder.set_span(0, 100 * MS)
        builder.finish()
    with open_capture(path) as capture:
        found = diagnose(View(capture))
    assert found.budget is not None
    assert {part.cause: part.time_ns for part in found.budget.parts} == {
        "computation": 30 * MS, "no_launch": 70 * MS
    }  # fmt: skip
    assert found.budget.unexplained_ratio == pytest.approx(0.7)
    first = found.findings[0]
    assert (first.id, first.severity, first.gain_ns) == ("gpu_no_launch", "note", 0)
    assert "cuda" in first.needs


def test_a_range_in_an_idle_stretch_knows_what_comes_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "idle.h5"
    with CaptureBuilder(path) as builder:
        process = builder.add_process(71, name="python")
        thread = builder.add_thread(process, 71, name="main")
        api = builder.track("process/71.1/thread/71.1/api", role="api", process=process, thread=thread)
        builder.add_device(0, "GPU of the test")
        stream = builder.track(
            "gpu/0/stream/7", role="stream", process=process, device=0, context=1, stream=7
        )
        for start in (0, 60 * MS):
            call = builder.add_events(api, "cuda_api", [start], [MS], [builder.string("cudaLaunchKernel")])
            kernel = builder.add_events(stream, "kernel", [start + MS], [10 * MS], [builder.string("gemm")])
            builder.add_links("launch", [call], [kernel])
        builder.set_span(0, 90 * MS)
        builder.finish()
    with open_capture(path) as capture:
        causes = [
            [part.cause for part in budget.parts if part.time_ns]
            for start, stop in ((20 * MS, 50 * MS), (75 * MS, 85 * MS))
            if (budget := diagnose(View(capture, Selection(start, stop))).budget) is not None
        ]
    assert causes == [["host"], ["end"]]


@given(st.lists(st.integers(0, 30), max_size=80))
def test_the_longest_are_those_that_a_full_sort_puts_first(lengths: list[int]) -> None:
    duration = np.array(lengths, np.int64)
    np.testing.assert_array_equal(longest_first(duration), np.argsort(-duration, kind="stable")[:20])
