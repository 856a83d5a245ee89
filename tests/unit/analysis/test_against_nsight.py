"""Reports on Nsight Systems exports, against sums that plain SQL computed over the same files."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from tests.unit.analysis.analysis_tools import Open, by_name, rows_of

from warpline.analysis.cuda.memory_operations import COPY_OPERATIONS, MEMSET_OPERATION
from warpline.analysis.framework.registry import compute_report
from warpline.analysis.framework.report import NotRecorded

SQL = {
    "nsys/**/h100_2gpu_1s.sqlite": "GindaChen*h100*",
    "nsys/**/healthy_judged_1pct.sqlite": "GindaChen*healthy*",
    "nsys/**/fuser_da819b5f_report1.sqlite": "*report1*",
    "nsys/**/fuser_dff2c951_report3.sqlite": "*report3*",
    "nsys/**/saxpy-mpi*.sqlite": "hpcgroup*",
    "nsys/**/4e6_async_1_trace.sqlite": "D-W-Chiang*",
}
WITH_GPU = list(SQL)[:5]
_VERSION = re.compile(r"(_v\d+)+$")


def counted(data_dir: Path, trace: str) -> Any:
    return json.loads(next((data_dir / "expected_sql").glob(SQL[trace])).read_text())


@pytest.mark.parametrize("trace", WITH_GPU)
def test_kernels(opened: Open, data_dir: Path, trace: str) -> None:
    expected = counted(data_dir, trace)["kernels_by_demangledName"]
    kernels = by_name(rows_of(opened(trace), "cuda_gpu_kern_sum"))
    assert set(kernels) == set(expected)
    for name, numbers in expected.items():
        row = kernels[name]
        assert (row["count"], row["total_ns"], row["min_ns"], row["max_ns"]) == tuple(
            numbers[key] for key in ("count", "total", "min", "max")
        )
        assert row["avg_ns"] == pytest.approx(numbers["avg"])
        assert row["med_ns"] == pytest.approx(numbers["med"])


@pytest.mark.parametrize("trace", WITH_GPU)
def test_calls(opened: Open, data_dir: Path, trace: str) -> None:
    calls: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    told = counted(data_dir, trace)["runtime_api"]
    # A call that is there with its version and without is one, which was written again for its stack.
    again = {_VERSION.sub("", name) for name in told if _VERSION.search(name)}
    for name, numbers in told.items():
        if name in again:
            continue
        # Nsight's reports leave the version at the end of a call's name out.
        sums = calls[_VERSION.sub("", name)]
        sums[0] += numbers["count"]
        sums[1] += numbers["total"]
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in rows_of(opened(trace), "cuda_api_sum"):
        sums = found[_VERSION.sub("", row["name"])]
        sums[0] += row["count"]
        sums[1] += row["total_ns"]
    assert {name: found[name] for name in calls} == dict(calls)


@pytest.mark.parametrize("trace", WITH_GPU)
def test_copies_and_sets_by_time_and_by_size(opened: Open, data_dir: Path, trace: str) -> None:
    capture, expected = opened(trace), counted(data_dir, trace)
    copies = {COPY_OPERATIONS[int(kind)]: sums for kind, sums in expected["memcpy_by_copyKind"].items()}
    sets = expected.get("memset") or {"count": 0}
    if not copies and not sets["count"]:
        for report in ("cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum"):
            assert isinstance(compute_report(capture, report).result, NotRecorded)
        return
    times = by_name(rows_of(capture, "cuda_gpu_mem_time_sum"), "operation")
    sizes = by_name(rows_of(capture, "cuda_gpu_mem_size_sum"), "operation")
    assert set(times) == set(copies) | ({MEMSET_OPERATION} if sets["count"] else set())
    for name, numbers in copies.items():
        row = times[name]
        assert [row[key] for key in ("count", "total_ns", "min_ns", "max_ns")] == [
            numbers[key] for key in ("count", "total", "min", "max")
        ]
        assert row["avg_ns"] == pytest.approx(numbers["avg"])
        assert row["med_ns"] == pytest.approx(numbers["med"])
    for kind, size in expected["memcpy_bytes_by_copyKind"].items():
        row = sizes[COPY_OPERATIONS[int(kind)]]
        assert (row["total_bytes"], row["count"]) == (size, times[COPY_OPERATIONS[int(kind)]]["count"])
    if sets["count"]:
        row = times[MEMSET_OPERATION]
        assert (row["count"], row["total_ns"]) == (sets["count"], sets["total"])


@pytest.mark.parametrize("trace", WITH_GPU)
def test_kernels_by_stream_and_with_their_calls(opened: Open, data_dir: Path, trace: str) -> None:
    capture, expected = opened(trace), counted(data_dir, trace)
    kernels = [row for row in rows_of(capture, "cuda_gpu_trace") if not row["name"].startswith("[CUDA")]
    streams = Counter(f"{row['device']}/{row['stream']}" for row in kernels)
    assert streams == expected["kernels_per_device_stream"]
    assert len(rows_of(capture, "cuda_kern_exec_trace")) == expected["kernels_with_runtime_match"]
    launched = sum(row["count"] for row in rows_of(capture, "cuda_kern_exec_sum"))
    assert launched == expected["kernels_with_runtime_match"]


def by_operator(texts: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """PyTorch's ranges, whose texts tell the calls apart, by their operators. Medians of several are not known."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for text, figures in texts.items():
        groups.setdefault(text.partition(", op_id = ")[0], []).append(figures)
    return {
        name: own[0]
        if len(own) == 1
        else {
            "count": sum(figures["count"] for figures in own),
            "total": sum(figures["total"] for figures in own),
            "min": min(figures["min"] for figures in own),
            "max": max(figures["max"] for figures in own),
        }
        for name, own in groups.items()
    }


@pytest.mark.parametrize("trace", [trace for trace in WITH_GPU if "healthy" not in trace])
def test_ranges(opened: Open, data_dir: Path, trace: str) -> None:
    expected = by_operator(counted(data_dir, trace)["nvtx_ranges_by_text"])
    found = rows_of(opened(trace), "nvtx_sum")
    assert len(found) == len(expected)
    for row in found:
        # Nsight's reports put the domain before the name, the SQL asked for the name alone.
        name = row["name"] if row["name"] in expected else row["name"].partition(":")[2]
        numbers = expected[name]
        assert [row[key] for key in ("count", "total_ns", "min_ns", "max_ns")] == [
            numbers[key] for key in ("count", "total", "min", "max")
        ]
        if "med" in numbers:
            assert row["med_ns"] == pytest.approx(numbers["med"])


@pytest.mark.parametrize("trace", [list(SQL)[i] for i in (2, 4, 5)])
def test_running_time_of_threads(opened: Open, data_dir: Path, trace: str) -> None:
    expected = counted(data_dir, trace)
    found = {str(row["tid"]): row for row in rows_of(opened(trace), "thread_state")}
    running = {tid: row["running_ns"] for tid, row in found.items() if row["running_ns"]}
    assert running == {tid: time for tid, time in expected["sched_run_ns_by_tid"].items() if time}
    assert sum(row["switches"] for row in found.values()) == expected["sched_complete_slices"]
    # Each slice of a thread lies on one core.
    cores = rows_of(opened(trace), "core_utilization")
    assert sum(row["busy_ns"] for row in cores) == sum(running.values())
