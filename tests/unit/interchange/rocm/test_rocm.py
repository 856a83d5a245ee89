"""Traces of ROCm's profilers: counts, sums and launches equal the tables that they come from."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.unit.interchange.import_tools import attributes, count, imported, links, rows, skipped
from tests.unit.interchange.rocm.rocm_files import (
    rocpd_file,
    rocprof_csv_files,
    rocprof_v1_file,
    rocprofv3_file,
    rpd_file,
)

from warpline.interchange import detect
from warpline.model import COPY_KINDS, ImportFormatError

RPD = "rocm/ROCm+rocmProfileData/examples/rocm-profile-data/results/matmul_result.rpd"
JSON = "rocm/AMD-AGI+TraceLens/tests/rocprof/908_results.json.gz"


def test_rpd_has_every_call_operation_and_launch(tmp_path: Path, data_dir: Path) -> None:
    copy = tmp_path / "renamed.gz"
    copy.write_bytes(gzip.compress((data_dir / RPD).read_bytes(), 1))
    assert detect(copy).name == "rpd"
    capture = imported(tmp_path, copy)
    assert count(capture, "cuda_api") == 125
    assert [count(capture, kind) for kind in ("kernel", "memcpy", "memset")] == [29, 55, 1]
    assert sum(capture.links.kind_name(code) == "launch" for code in capture.links.kind.tolist()) == 85
    with closing(sqlite3.connect(data_dir / RPD)) as database:
        (busy,) = database.execute("SELECT GpuTime FROM busy").fetchone()
        top = database.execute("SELECT Name, TotalCalls, TotalDuration FROM top").fetchall()
    work = rows(capture, "kernel", "memcpy", "memset")
    assert sum(row[2] for row in work) == busy == 183918056
    for name, calls, microseconds in top:
        own = [row[2] for row in work if row[0] == name]
        assert (len(own), sum(own) // 1000) == (calls, microseconds)
    copies = capture.kinds["memcpy"]
    sizes = [copies.at(row)["bytes"] for row in copies.rows.tolist()]
    assert sum(sizes) == 2_032_000_296


def test_rocprofv3_json_has_every_kernel(tmp_path: Path, data_dir: Path) -> None:
    capture = imported(tmp_path, data_dir / JSON)
    assert detect(data_dir / JSON).name == "rocprofv3"
    assert count(capture, "kernel") == 43915
    (output,) = json.loads(gzip.decompress((data_dir / JSON).read_bytes()))["rocprofiler-sdk-tool"]
    dispatches = output["buffer_records"]["kernel_dispatch"]
    expected = sorted(entry["start_timestamp"] for entry in dispatches)
    assert sorted(capture.events.start.tolist()) == expected
    assert int(capture.events.duration.sum()) == sum(
        entry["end_timestamp"] - entry["start_timestamp"] for entry in dispatches
    )
    assert [device.name for device in capture.devices] == ["AMD Instinct MI350X"] * 8


@pytest.mark.parametrize("make", [rocpd_file, rocprofv3_file])
def test_calls_kernels_copies_markers_and_allocations(make: type, tmp_path: Path) -> None:
    path = make(tmp_path / "x")
    capture = imported(tmp_path, path)
    assert rows(capture, "cuda_api")[0][:3] == ("hipLaunchKernel", 100, 50)
    assert rows(capture, "range")[0][:3] == ("step", 90, 210)
    assert rows(capture, "kernel")[0][:3] == ("gemm()", 200, 60)
    kernel = attributes(capture, "gemm()")
    assert (kernel["grid_x"], kernel["block_x"], kernel["registers_per_thread"]) == (16, 64, 64)
    copy = attributes(capture, "MEMORY_COPY_HOST_TO_DEVICE")
    assert (copy["bytes"], COPY_KINDS[copy["copy_kind"]]) == (4096, "host to device")
    assert count(capture, "memory") == 1
    assert links(capture, "launch") == {("hipLaunchKernel", "gemm()")}
    assert {track.title for track in capture.tracks if track.role == "api"} == {"HIP API"}
    assert capture.processes[0].name == "train"


def test_hardware_counters_of_kernels_and_sampled_ones(tmp_path: Path) -> None:
    capture = imported(tmp_path, rocpd_file(tmp_path / "x.db"))
    assert json.loads(attributes(capture, "gemm()")["payload"]) == {"SQ_WAVES": 15.0}
    (power,) = capture.counters
    assert (power.name, power.unit, power.value_at(210)) == ("Power", "W", 450.5)


def test_markers_and_clocks_of_rpd(tmp_path: Path) -> None:
    capture = imported(tmp_path, rpd_file(tmp_path / "x.rpd"))
    assert [row[:3] for row in rows(capture)] == [
        ("step", 90, 210),
        ("hipLaunchKernel", 100, 20),
        ("gemm", 150, 50),
    ]
    assert (capture.counters[0].name, capture.counters[0].value_at(90)) == ("sclk", 1700)


def test_what_is_not_read_is_counted(tmp_path: Path) -> None:
    capture = imported(tmp_path, rocprofv3_file(tmp_path / "x.json"))
    assert skipped(capture) == {"counter_collection": 1, "scratch_memory": 1}


def test_a_damaged_database_gives_one_line(tmp_path: Path) -> None:
    path = rpd_file(tmp_path / "x.rpd")
    path.write_bytes(path.read_bytes()[:2500])
    with pytest.raises(ImportFormatError, match="damaged"):
        imported(tmp_path, path)


def test_the_first_rocprof_has_calls_work_and_markers(tmp_path: Path) -> None:
    path = rocprof_v1_file(tmp_path / "results.db")
    assert detect(path).name == "rocprof-v1"
    capture = imported(tmp_path, path)
    assert [row[:3] for row in rows(capture)] == [
        ("step", 90, 210), ("hipLaunchKernel", 100, 50), ("CopyHostToDevice", 160, 30), ("gemm()", 200, 60),
    ]  # fmt: skip
    assert [count(capture, kind) for kind in ("range", "cuda_api", "kernel", "memcpy")] == [1, 1, 1, 1]
    assert links(capture, "launch") == {("hipLaunchKernel", "gemm()")}
    assert [process.pid for process in capture.processes] == [71]


def test_csv_files_of_a_process_open_together(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    kernels = rocprof_csv_files(folder)
    assert detect(kernels).name == "rocprof-csv"
    for source in (kernels, folder):
        capture = imported(tmp_path, source)
        assert [row[:3] for row in rows(capture)] == [
            ("step", 90, 210), ("hipLaunchKernel", 100, 50), ("MEMORY_COPY_HOST_TO_DEVICE", 160, 30),
            ("gemm(float*, int)", 200, 60),
        ]  # fmt: skip
        assert links(capture, "launch") == {("hipLaunchKernel", "gemm(float*, int)")}
        assert attributes(capture, "gemm(float*, int)")["grid_x"] == 16
        assert [device.index for device in capture.devices] == [4]
        assert skipped(capture) == {}


@pytest.mark.parametrize(
    ("symbol", "name"),
    [("gemm.kd", "gemm.kd"), ("_Z4axpyPfS_f.kd", "axpy(float*, float*, float)")],
)
def test_the_first_rocprofs_csv_has_its_kernels(tmp_path: Path, symbol: str, name: str) -> None:
    path = tmp_path / "results.csv"
    path.write_text(
        '"Index","KernelName","gpu-id","queue-id","pid","tid","grd","wgr","BeginNs","EndNs"\n'
        f'0,"{symbol}",1,2,71,72,1024,64,200,260\n'
    )
    capture = imported(tmp_path, path)
    assert rows(capture)[0][:3] == (name, 200, 60)
    assert attributes(capture, name)["grid_x"] == 16
