"""GPU work in traces whose GPUs are processes: of JAX, TensorFlow, rocprof and rocmProfileData."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.interchange.import_tools import attributes, count, e, imported, links, rows, trace_file, x

from warpline.interchange.trace_json.device_work import device_process

RPD = "rocm/ROCm+rocmProfileData/examples/rocm-profile-data/results/matmul_result.json"


def named(pid: int, name: str, tid: int | None = None) -> dict[str, Any]:
    """Metadata that names a process or a thread."""
    kind = "process_name" if tid is None else "thread_name"
    return e("M", kind, 0, pid=pid, tid=tid or 0, args={"name": name})


@pytest.mark.parametrize(
    ("name", "device", "stream"),
    [
        ("/device:GPU:0", 0, None),
        ("/device:GPU:1/stream:14 Compute", 1, 14),
        ("/gpu:2/context#0/stream#1:Kernel Compute", 2, 1),
        ("GPU3", 3, None),
        ("COPY", 0, None),
        ("2 GPU 4", 4, None),
    ],
)
def test_processes_of_devices_are_known_by_their_names(name: str, device: int, stream: int | None) -> None:
    process = device_process(name)
    assert process is not None
    assert (process.device, process.stream) == (device, stream)


@pytest.mark.parametrize(
    "name", ["GPU Process", "/host:CPU", "/job:localhost/replica:0/task:0/device:GPU:0 Compute", "python"]
)
def test_other_processes_are_none(name: str) -> None:
    assert device_process(name) is None


def test_streams_of_jax_hold_kernels_and_copies(tmp_path: Path) -> None:
    details = "regs:32 static_shared:0 dynamic_shared:64 grid:8,1,2 block:128,1,1 occ_pct:50"
    copy = "kind_src:device kind_dst:pinned size:1024 dest:0 async:1"
    events = [
        named(1, "/device:GPU:0"),
        named(701, "/host:CPU"),
        named(1, "Stream #13(Compute,MemcpyD2H)", 13),
        named(1, "XLA Modules", 20),
        x("jit_f", 100, 50, pid=1, tid=20),
        x("fusion_1", 100, 20, pid=1, tid=13, args={"kernel_details": details, "correlation_id": 7}),
        x("MemcpyD2H", 130, 5, pid=1, tid=13, args={"memcpy_details": copy, "correlation_id": "8"}),
        x("cuLaunchKernel", 90, 4, pid=701, tid=5, args={"correlation_id": 7}),
        x("python work", 80, 60, pid=701, tid=5),
    ]
    capture = imported(tmp_path, trace_file(tmp_path, events))
    assert rows(capture, "kernel", "memcpy", "gpu_annotation") == [
        ("jit_f", 100_000, 50_000, "gpu/0/work/annotations/XLA Modules"),
        ("fusion_1", 100_000, 20_000, "gpu/0/work/stream/13"),
        ("MemcpyD2H", 130_000, 5_000, "gpu/0/work/stream/13"),
    ]
    kernel, moved = attributes(capture, "fusion_1"), attributes(capture, "MemcpyD2H")
    assert [kernel[key] for key in ("registers_per_thread", "grid_x", "grid_z", "block_x")] == [32, 8, 2, 128]
    assert (moved["bytes"], moved["copy_kind"]) == (1024, 2)
    assert links(capture, "launch") == {("cuLaunchKernel", "fusion_1")}
    assert [row[3] for row in rows(capture, "cuda_api")] == ["process/701.1/thread/5.1/api"]
    assert [device.name for device in capture.devices] == ["GPU 0"]


def test_all_streams_of_tensorflow_do_not_count_twice(tmp_path: Path) -> None:
    everything, one = (
        named(1, "/device:GPU:0/stream:all Compute"),
        named(2, "/device:GPU:0/stream:14 Compute"),
    )
    work = [x("MatMul", 10, 5, pid=1, tid=0), x("MatMul", 10, 5, pid=2, tid=0, args={"op": "MatMul"})]
    capture = imported(tmp_path, trace_file(tmp_path, [everything, one, *work]))
    assert [row[3] for row in rows(capture, "kernel")] == ["gpu/0/work/stream/14"]
    assert count(capture, "gpu_annotation") == 1
    alone = imported(tmp_path, trace_file(tmp_path, [everything, work[0]]))
    assert count(alone, "kernel") == 1


def test_arrows_of_rocprof_are_launches(tmp_path: Path) -> None:
    events = [
        named(2, "CPU HIP API"),
        named(6, "GPU0"),
        x("hipLaunchKernel", 10, 5, pid=2, tid=9),
        x("gemm", 20, 5, pid=6, tid=0),
        e("s", "dep", 10, pid=2, tid=9, cat="DataFlow", id=1),
        e("f", "dep", 20, pid=6, tid=0, cat="DataFlow", id=1, bp="e"),
    ]
    capture = imported(tmp_path, trace_file(tmp_path, events))
    assert links(capture, "launch") == {("hipLaunchKernel", "gemm")}
    assert capture.track("process/2.1/thread/9.1/api").title == "HIP API"


def test_a_trace_of_rocm_profile_data_has_its_kernels(tmp_path: Path, data_dir: Path) -> None:
    events = json.loads((data_dir / RPD).read_text())
    kernels = [event for event in events if event.get("args", {}).get("desc") == "KernelExecution"]
    capture = imported(tmp_path, data_dir / RPD)
    assert len(kernels) == count(capture, "kernel") == 29
    spent = sum(int(event["dur"]) for event in kernels) * 1000
    assert sum(row[2] for row in rows(capture, "kernel")) == spent
    assert (count(capture, "memcpy"), count(capture, "memset"), count(capture, "cuda_api")) == (55, 1, 120)
    assert list(capture.links.kinds) == ["launch"]
    assert len(capture.links) == 85
