"""Paddle's protobuf written from a capture, read again by the importer of Paddle's own files."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.analysis.analysis_tools import Program, by_name, rows_of

import warpline
from warpline.interchange.export.paddle_pb.trees import export_paddle
from warpline.library.capture_reader import CaptureReader


def columns(capture: CaptureReader, kind: str, *names: str) -> list[tuple[object, ...]]:
    events = capture.events(kind)
    first = int(capture.events()["start_ns"].min())
    times = (events["start_ns"] - first).tolist()
    return sorted(zip(times, *(events[name].tolist() for name in names), strict=True), key=str)


def test_a_file_of_paddle_comes_back(data_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "again.pb"
    with warpline.open(data_dir / "paddle" / "paddle_lenet_cpu_b8s4.pb") as capture:
        assert export_paddle(capture.storage, out) == out
        with warpline.open(out) as again:
            for kind in ("operator", "phase", "range"):
                assert columns(again, kind, "duration_ns", "name") == columns(
                    capture, kind, "duration_ns", "name"
                )
            assert [thread.tid for thread in again.threads] == [thread.tid for thread in capture.threads]


def test_gpu_work_memory_and_shapes_come_back(tmp_path: Path) -> None:
    program = Program(tmp_path / "run.h5")
    program.host("operators", "operator", 0, 1_000, "conv2d", input_shapes='{"x": [[4, 3]], "y": []}')
    call = program.host("api", "cuda_api", 100, 200, "cudaLaunchKernel", correlation=9)
    grid = {"grid_x": 8, "grid_y": 1, "grid_z": 1, "block_x": 256, "block_y": 1, "block_z": 1}
    program.gpu("kernel", 7, 300, 700, "gemm", call, correlation=9, registers_per_thread=40, **grid)
    copy = program.host("api", "cuda_api", 800, 850, "cudaMemcpyAsync", correlation=10)
    program.gpu("memcpy", 7, 900, 950, "Memcpy HtoD", copy, correlation=10, bytes=64)
    for at, operation, size in ((20, 0, 512), (980, 1, 512)):
        name = ("allocation", "release")[operation]
        program.host(
            "memory", "memory", at, at, name, operation=operation, bytes=size, address=4096, device="GPU 0"
        )
    program.finish().close()
    out = tmp_path / "run.pb"
    with warpline.open(program.path) as capture:
        export_paddle(capture.storage, out)
    with warpline.open(out) as again:
        operator = by_name(rows_of(again.storage, "operator"))["conv2d"]
        assert (operator["cpu_total_ns"], operator["gpu_total_ns"]) == (1_000, 450)
        (kernel,) = rows_of(again.storage, "cuda_gpu_kern_gb_sum")
        (copied,) = rows_of(again.storage, "cuda_gpu_mem_size_sum")
        (memory,) = rows_of(again.storage, "memory")
        shapes = [row["name"] for row in rows_of(again.storage, "operator_shapes")]
    assert (kernel["name"], kernel["total_ns"]) == ("gemm", 400)
    assert copied["total_bytes"] == 64
    assert [memory[name] for name in ("name", "device", "allocation_bytes", "free_bytes")] == [
        "conv2d",
        "GPU 0",
        512,
        512,
    ]
    assert shapes == ["conv2d", '{"x":[[4,3]],"y":[]}']


def test_only_events_of_the_selection_are_written(data_dir: Path, tmp_path: Path) -> None:
    from warpline.interchange.export.selection import ExportSelection

    with warpline.open(data_dir / "paddle" / "paddle_lenet_cpu_b8s4.pb") as capture:
        steps = capture.events("phase", name="ProfileStep#3")
        origin = capture.storage.span[0]
        start = origin + int(steps["start_ns"][0])
        export_paddle(
            capture.storage,
            tmp_path / "step.pb",
            ExportSelection(start, start + int(steps["duration_ns"][0])),
        )
    with warpline.open(tmp_path / "step.pb") as part:
        assert part.events("phase", name="ProfileStep*")["name"].tolist() == ["ProfileStep#3"]


def test_a_folder_that_is_not_there(data_dir: Path, tmp_path: Path) -> None:
    with (
        warpline.open(data_dir / "paddle" / "paddle_lenet_cpu_b8s4.pb") as capture,
        pytest.raises(OSError, match="absent"),
    ):
        export_paddle(capture.storage, tmp_path / "absent" / "x.pb")
