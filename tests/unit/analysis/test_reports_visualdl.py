"""VisualDL's views: event types by phase, kernels by configuration, lifetimes of memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.analysis.analysis_tools import Program, rows_of

from warpline.analysis.framework.registry import compute_report
from warpline.analysis.framework.report import NotRecorded
from warpline.analysis.framework.selection import Selection
from warpline.storage import Capture

HOST_BY_PHASE = {
    # Operators: 10–30 in forward, 40–70 and 60–90 (another thread) in backward, 95–99 outside.
    "Operator": {"forward_ns": 20, "backward_ns": 50, "others_ns": 4},
    "CudaRuntime": {"forward_ns": 3, "backward_ns": 2, "others_ns": 1},
}
GPU_BY_PHASE = {
    # Two kernels of the forward pass overlap and run on until its end; the all-reduce belongs to backward.
    "Kernel": {"forward_ns": 30, "backward_ns": 10, "others_ns": 0},
    "Communication": {"forward_ns": 0, "backward_ns": 10, "others_ns": 0},
    "Memcpy": {"forward_ns": 0, "backward_ns": 0, "others_ns": 7},
}


@pytest.fixture
def phases(tmp_path: Path) -> Capture:
    program = Program(tmp_path / "phases.h5")
    builder = program.builder
    program.host("phases", "phase", 0, 100, "ProfileStep#0")
    program.host("ranges", "range", 0, 40, "forward")
    program.host("ranges", "range", 40, 92, "backward")
    program.host("operators", "operator", 10, 30, "conv2d")
    program.host("operators", "operator", 40, 70, "conv2d_grad")
    program.host("operators", "operator", 95, 99, "print")
    other = builder.add_thread(program.process, 72, name="autograd")
    base = "process/71.1/thread/72.1"
    track = builder.track(
        f"{base}/operators", role="operators", process=program.process, thread=other, parent="process/71.1"
    )
    builder.add_events(track, "operator", [60], [30], [builder.string("relu_grad")])
    for stream, start, stop, name, call in (
        (7, 15, 35, "gemm", program.launch(11, 13)),
        (8, 25, 45, "relu", program.launch(14, 15)),
        (7, 50, 60, "ncclDevKernel_AllReduce", program.launch(41, 43)),
    ):
        program.gpu("kernel", stream, start, stop, name, call)
    program.gpu("memcpy", 7, 97, 104, "Memcpy DtoH", program.launch(96, 97))
    builder.set_span(0, 110)
    return program.finish()


@pytest.mark.parametrize("category", [False, True])
def test_event_types_by_phase(phases: Capture, monkeypatch: pytest.MonkeyPatch, category: bool) -> None:
    if category:  # as if types came from recorded categories, which the compiled sweep does not know
        monkeypatch.setattr("warpline.analysis.paddle.overview._host_sweep", lambda *_: None)
    rows = rows_of(phases, "overview_phases")
    cells = {side: {row["name"]: row for row in rows if row["side"] == side} for side in ("cpu", "gpu")}
    assert set(cells["cpu"]) == set(HOST_BY_PHASE)
    for side, expected in (("cpu", HOST_BY_PHASE), ("gpu", GPU_BY_PHASE)):
        for name, times in expected.items():
            assert {key: cells[side][name][key] for key in times} == times, name
    overview = {(row["name"], row["side"]): row["total_ns"] for row in rows_of(phases, "overview")}
    for row in rows:  # phases do not overlap here, so a row adds up
        if row["side"] == "cpu":
            total = sum(value for key, value in row.items() if key.endswith("_ns"))
            assert total == overview[row["name"], "cpu"]


def test_without_phases_the_reason_is_told(tmp_path: Path) -> None:
    program = Program(tmp_path / "none.h5")
    program.host("operators", "operator", 10, 30, "conv2d")
    with program.finish() as capture:
        result = compute_report(capture, "overview_phases").result
    assert isinstance(result, NotRecorded)
    assert "phases" in result.reason


def test_kernels_by_every_recorded_attribute(tmp_path: Path) -> None:
    program = Program(tmp_path / "kernels.h5")
    shape = dict.fromkeys(("grid_y", "grid_z", "block_y", "block_z"), 1)
    for start, registers, shared, occupancy in (
        (0, 32, 0, 0.5), (100, 32, 0, 0.5), (200, 64, 0, 0.5), (300, 32, 1024, 0.5), (400, 32, 0, 0.25),
    ):  # fmt: skip
        attributes = {"grid_x": 8, "block_x": 128, **shape, "registers_per_thread": registers}
        attributes |= {"dynamic_shared_memory_bytes": shared}
        program.gpu("kernel", 7, start, start + 10, "sm90_xmma_gemm", **attributes, occupancy_ratio=occupancy)
    program.gpu("kernel", 7, 500, 505, "elementwise")
    with program.finish() as capture:
        rows = rows_of(capture, "kernel_configurations")
    assert rows[0]["count"] == 2
    assert (rows[0]["grid"], rows[0]["block"], rows[0]["tensor_cores"]) == ("8 1 1", "128 1 1", True)
    assert rows[0]["registers_per_thread"] == 32
    found = {
        (row["registers_per_thread"], row["dynamic_shared_memory_bytes"], row["occupancy_ratio"])
        for row in rows[:4]
    }
    assert found == {(32, 0, 0.5), (64, 0, 0.5), (32, 1024, 0.5), (32, 0, 0.25)}
    assert (rows[4]["grid"], rows[4]["registers_per_thread"], rows[4]["occupancy_ratio"]) == (None,) * 3


def _memory(program: Program, time: int, operation: int, address: int, size: int) -> None:
    program.host(
        "memory",
        "memory",
        time,
        time,
        "alloc",
        operation=operation,
        address=address,
        bytes=size,
        device="GPU 0",
    )


def test_lifetimes_pair_allocations_with_their_releases(tmp_path: Path) -> None:
    program = Program(tmp_path / "memory.h5")
    program.host("operators", "operator", 0, 30, "conv2d")
    program.host("operators", "operator", 35, 60, "relu")
    _memory(program, 5, 1, 0x30, 7)  # allocated before the capture
    _memory(program, 10, 0, 0x10, 100)
    _memory(program, 20, 0, 0x20, 50)
    _memory(program, 30, 1, 0x10, 100)
    _memory(program, 40, 0, 0x10, 60)  # the same address again
    _memory(program, 50, 1, 0x10, 60)
    program.builder.set_span(0, 100)
    with program.finish() as capture:
        report = compute_report(capture, "memory_lifetimes")
        rows = rows_of(capture, "memory_lifetimes")
        assert report.table is not None
        targets = report.table.targets.rows
        assert targets is not None
        assert capture.events.start[targets].tolist() == [10, 20, 40]
        late = rows_of(capture, "memory_lifetimes", Selection(35, 100))
    keys = ("name", "size_bytes", "start_ns", "age_ns", "released", "in_peak", "address", "device")
    assert [tuple(row[key] for key in keys) for row in rows] == [
        ("conv2d", 100, 10, 20, True, True, "0x10", "GPU 0"),
        ("conv2d", 50, 20, 80, False, True, "0x20", "GPU 0"),
        ("relu", 60, 40, 10, True, False, "0x10", "GPU 0"),
    ]
    assert "150 bytes in 2 allocations" in report.table.notes[0]
    assert any("1 releases" in note for note in report.table.notes)
    assert [row["size_bytes"] for row in late] == [60]


def test_lifetimes_hold_against_brute_force(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    program = Program(tmp_path / "many.h5")
    live: dict[int, tuple[int, int]] = {}
    expected: set[tuple[int, int, int, bool]] = set()
    peak = 0
    for time in range(10, 2_000, 7):
        address = int(random.integers(1, 12))
        if address in live:
            start, size = live.pop(address)
            expected.add((start, size, time - start, True))
            _memory(program, time, 1, address, size)
        else:
            size = int(random.integers(1, 1_000))
            live[address] = (time, size)
            _memory(program, time, 0, address, size)
        peak = max(peak, sum(size for _, size in live.values()))
    expected |= {(start, size, 3_000 - start, False) for start, size in live.values()}
    program.builder.set_span(0, 3_000)
    with program.finish() as capture:
        rows: list[dict[str, Any]] = rows_of(capture, "memory_lifetimes")
    found = {(row["start_ns"], row["size_bytes"], row["age_ns"], row["released"]) for row in rows}
    assert found == expected
    assert sum(row["size_bytes"] for row in rows if row["in_peak"]) == peak


def test_addresses_that_were_not_recorded_are_told(tmp_path: Path) -> None:
    program = Program(tmp_path / "none.h5")
    program.host("memory", "memory", 5, 5, "alloc", bytes=7)
    with program.finish() as capture:
        result = compute_report(capture, "memory_lifetimes").result
    assert isinstance(result, NotRecorded)
    assert "addresses" in result.reason
