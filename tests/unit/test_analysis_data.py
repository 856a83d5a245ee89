"""Reports on captures of others, against the numbers other tools printed for them."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warpline.analysis.gpus import COMMUNICATION, COMPUTATION, MEMORY
from warpline.analysis.kernels import communication_ids
from warpline.analysis.launches import Launches, launches_from
from warpline.analysis.options import Options
from warpline.analysis.overlap import combination_times, time_of
from warpline.analysis.selection import View
from warpline.analysis.step_times import find_steps
from warpline.interchange import import_files
from warpline.storage import Capture, open_capture

from .analysis_tools import by_name, rows_of

Open = Callable[[str], Capture]


@pytest.fixture(scope="module")
def opened(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    """Opens a capture made from a file of the test data, once per module."""
    folder = tmp_path_factory.mktemp("captures")
    captures: dict[str, Capture] = {}

    def get(pattern: str) -> Capture:
        if pattern not in captures:
            source = next(data_dir.glob(pattern), None)
            if source is None:
                pytest.skip(f"no {pattern} in {data_dir}")
            captures[pattern] = open_capture(import_files([source], folder / f"{len(captures)}.h5"))
        return captures[pattern]

    yield get
    for capture in captures.values():
        capture.close()


# torch_tb_profiler

RESNET = "torch/pytorch+kineto/tb_plugin/samples/resnet50_num_workers_0/*.json.gz"


def tb_plugin(data_dir: Path, name: str) -> Any:
    return json.loads((data_dir / "expected_tb_plugin/resnet50_num_workers_0" / name).read_text())


def test_kernel_table_of_torch_tb_profiler(opened: Open, data_dir: Path) -> None:
    found = by_name(rows_of(opened(RESNET), "kernel"))
    expected = tb_plugin(data_dir, "kernel_table.json")["data"]["rows"]
    assert len(found) == len(expected) == 67
    for name, tensor_cores, calls, total, mean, longest, shortest, blocks, occupancy in expected:
        row = found[name]
        assert (row["count"], row["total_ns"]) == (calls, total * 1000)
        assert (row["max_ns"], row["min_ns"]) == (longest * 1000, shortest * 1000)
        assert row["avg_ns"] / 1000 == pytest.approx(mean, abs=0.5)
        # Printed with two digits of float64 there, kept as float32 here.
        assert row["blocks_per_sm"] == pytest.approx(blocks, abs=0.0051)
        assert row["occupancy_ratio"] * 100 == pytest.approx(occupancy, abs=0.0051)
        assert row["tensor_cores"] == (tensor_cores == "Yes")


def test_operator_table_of_torch_tb_profiler(opened: Open, data_dir: Path) -> None:
    found = by_name(rows_of(opened(RESNET), "operator"))
    expected = tb_plugin(data_dir, "operator_table.json")["data"]
    assert set(found) == {row["name"] for row in expected}
    for row in expected:
        mine = found[row["name"]]
        assert (
            mine["count"],
            mine["cpu_total_ns"],
            mine["cpu_self_ns"],
            mine["gpu_total_ns"],
            mine["gpu_self_ns"],
        ) == (
            row["calls"],
            row["host_total_duration"] * 1000,
            row["host_self_duration"] * 1000,
            row["device_total_duration"] * 1000,
            row["device_self_duration"] * 1000,
        ), row["name"]


def test_overview_of_torch_tb_profiler(opened: Open, data_dir: Path) -> None:
    found = rows_of(opened(RESNET), "step_breakdown")
    expected = tb_plugin(data_dir, "overview.json")["steps"]["rows"]
    assert len(found) == len(expected) == 6
    names = ("kernel", "memcpy", "memset", "runtime", "dataloader", "cpu_exec", "other")
    for row, printed in zip(found, expected, strict=True):
        assert str(row["step"]) == printed[0]
        assert [row[f"{name}_ns"] // 1000 for name in names] == [
            v for v in printed[1:] if not isinstance(v, str)
        ]
        assert row["total_ns"] == sum(row[f"{name}_ns"] for name in (*names, "communication"))


# TraceLens

TRACELENS = {
    "torch/**/h100/gaunernst*.json.gz": "torch/**/gaunernst*_csvs",
    "torch/**/h100/google_owlv2*.json.gz": "torch/**/google_owlv2*_csvs",
    "torch/**/mi300/Falconsai*.json.gz": "torch/**/Falconsai*_csvs",
    "torch/**/gpu_only_trace.json.gz": "torch/**/gpu_only_trace_perf_report_csvs",
    "torch/**/graph_execution.json.gz": "torch/**/vllm_decode_full/perf_csvs",
}


def printed(data_dir: Path, folder: str, name: str) -> list[dict[str, str]]:
    path = next(data_dir.glob(folder)) / name
    if not path.exists():
        pytest.skip(f"{name} was not printed for this trace")
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.mark.parametrize("trace", TRACELENS)
def test_gpu_timeline_of_tracelens(opened: Open, data_dir: Path, trace: str) -> None:
    capture = opened(trace)
    found = {row["activity"]: row for row in rows_of(capture, "overlap") if row["activity"]}
    expected = {row["type"]: row for row in printed(data_dir, TRACELENS[trace], "gpu_timeline.csv")}
    # It counts sets as computation, Warpline with the copies; the sum is the same.
    sets = sum(int(events.duration.sum()) for events in View(capture).batches("memset"))
    for name, activity, correction in (
        ("busy_time", "busy", 0),
        ("computation_time", "computation", sets),
        ("total_memcpy_time", "memory", -sets),
        ("exposed_memcpy_time", "exposed_memory", -sets),
        ("total_comm_time", "communication", 0),
        ("exposed_comm_time", "exposed_communication", 0),
    ):
        milliseconds = (found[activity]["total_ns"] + correction) / 1e6
        assert milliseconds == pytest.approx(float(expected[name]["time ms"]), abs=1e-4), name
        if not correction:
            assert found[activity]["active_ratio"] * 100 == pytest.approx(
                float(expected[name]["percent"]), abs=1e-3
            )
    assert found["idle"]["active_ratio"] * 100 == pytest.approx(
        float(expected["idle_time"]["percent"]), abs=1e-3
    )


@pytest.mark.parametrize("trace", TRACELENS)
def test_kernel_summary_of_tracelens(opened: Open, data_dir: Path, trace: str) -> None:
    count: dict[str, int] = defaultdict(int)
    total: dict[str, float] = defaultdict(float)
    for row in printed(data_dir, TRACELENS[trace], "kernel_summary.csv"):
        count[row["Kernel name"]] += int(row["Kernel duration (µs)_count"])
        total[row["Kernel name"]] += float(row["Kernel duration (µs)_sum"])
    found = by_name(rows_of(opened(trace), "cuda_gpu_sum"), "operation")
    for name, number in count.items():
        assert found[name]["count"] == number
        assert found[name]["total_ns"] / 1000 == pytest.approx(total[name], abs=0.01)


@pytest.mark.parametrize("trace", list(TRACELENS)[:3])
def test_ops_summary_of_tracelens(opened: Open, data_dir: Path, trace: str) -> None:
    found = by_name(rows_of(opened(trace), "operator"))
    for row in printed(data_dir, TRACELENS[trace], "ops_summary.csv"):
        mine = found[row["name"]]
        assert mine["gpu_self_ns"] / 1000 == pytest.approx(
            float(row["total_direct_kernel_time_sum"]), abs=0.05
        )
        # It counts only calls that launched something.
        assert mine["count"] >= int(row["Count"])


# HolisticTraceAnalysis: only what was launched in complete steps but the last

HTA = {
    "torch/pytorch+kineto/tb_plugin/samples/**/*.json.gz": "kineto__resnet50*",
    "torch/**/nccl_data.json.gz": "HolisticTraceAnalysis__nccl_parser*",
    "torch/**/df_index_resolver.json.gz": "HolisticTraceAnalysis__df_index*",
    "torch/**/h100/gaunernst*.json.gz": "TraceLens__h100__gaunernst*",
    "torch/**/h100/google_owlv2*.json.gz": "TraceLens__h100__google*",
    "torch/**/mi300/Falconsai*.json.gz": "TraceLens__mi300__Falconsai*",
    "torch/**/gpu_only_trace.json.gz": "TraceLens__gpu_only*",
    "torch/**/graph_execution.json.gz": "TraceLens__vllm*",
}


def hta_launches(capture: Capture) -> Launches:
    view = View(capture)
    launches = launches_from(view)
    steps = find_steps(view, Options())
    if len(steps) < 2:
        return launches
    begins = np.zeros(len(launches), bool)
    for start, stop in zip(steps.start[:-1].tolist(), steps.stop[:-1].tolist(), strict=True):
        begins |= (launches.call_start >= start) & (launches.call_start < stop)
    return launches.take(begins)


def hta_combinations(capture: Capture, truncated: bool) -> np.ndarray:
    launches = hta_launches(capture)
    kinds, events = capture.kinds, capture.events
    codes = [kinds[kind].code for kind in ("memcpy", "memset") if kind in kinds]
    is_memory = np.isin(events.kind[launches.work], codes)
    is_comm = communication_ids(View(capture))[events.name[launches.work]] & ~is_memory
    start, stop = launches.work_start, launches.work_stop
    if truncated:
        start = start // 1000 * 1000
        stop = start + launches.work_ns // 1000 * 1000
    sets = [(start[c], stop[c]) for c in (~is_memory & ~is_comm, is_comm, is_memory)]
    return combination_times(sets, int(start.min()), int(stop.max()))


def first_row(data_dir: Path, folder: str, name: str) -> dict[str, str]:
    with (next((data_dir / "expected_hta").glob(folder)) / name).open(newline="") as lines:
        return next(csv.DictReader(lines))


@pytest.mark.parametrize("trace", HTA)
def test_temporal_breakdown_of_hta(opened: Open, data_dir: Path, trace: str) -> None:
    expected = first_row(data_dir, HTA[trace], "temporal_breakdown.csv")
    times = hta_combinations(opened(trace), truncated=False)
    assert times[0] / 1000 == pytest.approx(float(expected["idle_time(us)"]), abs=0.1)
    assert time_of(times, COMPUTATION) / 1000 == pytest.approx(float(expected["compute_time(us)"]), abs=0.1)
    rest = time_of(times, COMMUNICATION | MEMORY, COMPUTATION) / 1000
    assert rest == pytest.approx(float(expected["non_compute_time(us)"]), abs=0.1)


@pytest.mark.parametrize("trace", list(HTA)[:3])
def test_queue_lengths_of_hta(opened: Open, data_dir: Path, trace: str) -> None:
    from warpline.analysis.launch import queue_lengths

    capture = opened(trace)
    launches = hta_launches(capture)
    stream = np.array([-1 if t.stream is None else t.stream for t in capture.tracks])[
        View(capture).track_of(launches.work)
    ]
    with (next((data_dir / "expected_hta").glob(HTA[trace])) / "queue_length_summary.csv").open(
        newline=""
    ) as lines:
        expected = list(csv.reader(lines))[3:]
    for _, number, count, mean, *_, longest in expected:
        here = launches.take(stream == int(number))
        _, length = queue_lengths(here.call_start, here.work_start)
        assert len(length) == float(count)
        # A run of equal moments may be summed in another order there.
        assert length.mean() == pytest.approx(float(mean), abs=0.02)
        assert length.max() == pytest.approx(float(longest), abs=1)


# Nsight Systems exports, counted with SQL

SQL = {
    "nsys/**/h100_2gpu_1s.sqlite": "GindaChen*h100*",
    "nsys/**/healthy_judged_1pct.sqlite": "GindaChen*healthy*",
    "nsys/**/fuser_da819b5f_report1.sqlite": "*report1*",
    "nsys/**/fuser_dff2c951_report3.sqlite": "*report3*",
    "nsys/**/saxpy-mpi*.sqlite": "hpcgroup*",
}
_VERSION = re.compile(r"(_v\d+)+$")


@pytest.mark.parametrize("trace", SQL)
def test_kernels_calls_and_copies_of_nsight(opened: Open, data_dir: Path, trace: str) -> None:
    capture = opened(trace)
    expected = json.loads(next((data_dir / "expected_sql").glob(SQL[trace])).read_text())
    kernels = by_name(rows_of(capture, "cuda_gpu_kern_sum"))
    assert set(kernels) == set(expected["kernels_by_demangledName"])
    for name, numbers in expected["kernels_by_demangledName"].items():
        row = kernels[name]
        assert (row["count"], row["total_ns"], row["min_ns"], row["max_ns"]) == tuple(
            numbers[key] for key in ("count", "total", "min", "max")
        )
        assert row["avg_ns"] == pytest.approx(numbers["avg"])
        assert row["med_ns"] == pytest.approx(numbers["med"])
    calls: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, numbers in expected["runtime_api"].items():
        # Nsight's reports leave the version at the end of a call's name out.
        sums = calls[_VERSION.sub("", name)]
        sums[0] += numbers["count"]
        sums[1] += numbers["total"]
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in rows_of(capture, "cuda_api_sum"):
        sums = found[_VERSION.sub("", row["name"])]
        sums[0] += row["count"]
        sums[1] += row["total_ns"]
    assert {name: found[name] for name in calls} == dict(calls)


# Paddle

PADDLE = {
    "paddle/paddle_lenet_cpu_b8s4.paddle_trace.json": "paddle_lenet_cpu_b8s4.summary.txt",
    "paddle/paddle_mobilenetv2_cpu_mem.paddle_trace.json.gz": "paddle_mobilenetv2_cpu_mem.summary.txt",
}


def paddle_tables(data_dir: Path, name: str) -> dict[str, list[list[str]]]:
    """The tables of the part that is printed in microseconds: cells by table, split where columns are."""
    text = (data_dir / "paddle" / name).read_text().split("=== per thread")[1]
    tables: dict[str, list[list[str]]] = {}
    current: list[list[str]] = []
    for line in text.splitlines():
        title = re.fullmatch(r"-+([A-Za-z ]+?)(?: - Place\((\w+)\))?-+", line)
        if title and "Summary" in title[1]:
            current = tables.setdefault(title[1].strip(), [])
        elif line.strip() and not line.startswith("-"):
            indent = "  " if line.startswith("  ") else ""
            cells = re.split(r"\s{2,}", line.strip())
            current.append([indent + cells[0], *cells[1:]])
    return tables


def numbers(cell: str) -> list[float]:
    return [float("nan") if part.strip() == "-" else float(part) for part in cell.split("/")]


@pytest.mark.parametrize("trace", PADDLE)
def test_overview_of_paddle(opened: Open, data_dir: Path, trace: str) -> None:
    found = {row["name"]: row for row in rows_of(opened(trace), "overview")}
    seen = 0
    for name, *cells in paddle_tables(data_dir, PADDLE[trace])["Overview Summary"]:
        if len(cells) != 3 or not cells[0].isdigit():
            continue
        row = found[name.strip()]
        assert row["count"] == int(cells[0]), name
        assert row["total_ns"] / 1000 == pytest.approx(float(cells[1]), abs=0.02), name
        assert row["ratio"] * 100 == pytest.approx(float(cells[2]), abs=0.01), name
        seen += 1
    assert seen == len(found) == 10


@pytest.mark.parametrize("trace", PADDLE)
@pytest.mark.parametrize(
    ("report", "title"), [("model", "Model Summary"), ("user_defined", "UserDefined Summary")]
)
def test_model_and_user_summaries_of_paddle(
    opened: Open, data_dir: Path, trace: str, report: str, title: str
) -> None:
    found = {row["name"]: row for row in rows_of(opened(trace), report)}
    seen = 0
    for name, *cells in paddle_tables(data_dir, PADDLE[trace])[title]:
        if len(cells) < 2 or cells[1].count("/") != 4 or "Total" in cells[1]:
            continue
        row = found[name.strip()]
        total, avg, longest, shortest, share = numbers(cells[1])
        assert row["cpu_total_ns"] / 1000 == pytest.approx(total, abs=0.02)
        assert row["cpu_ratio"] * 100 == pytest.approx(share, abs=0.01)
        if name.strip() != "Others":
            assert row["count"] == int(cells[0])
            assert row["cpu_avg_ns"] / 1000 == pytest.approx(avg, abs=0.01)
            assert row["cpu_max_ns"] / 1000 == pytest.approx(longest, abs=0.01)
            assert row["cpu_min_ns"] / 1000 == pytest.approx(shortest, abs=0.01)
        # The machine had no GPU: nothing was recorded, which is not 0.
        assert row["gpu_total_ns"] is None
        seen += 1
    assert seen == len(found)


@pytest.mark.parametrize("trace", PADDLE)
def test_operator_summary_of_paddle(opened: Open, data_dir: Path, trace: str) -> None:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    above = ""
    for row in rows_of(opened(trace), "operator"):
        if row["depth"] == 0:
            above = row["name"]
        found[above, row["name"] if row["depth"] else ""] = row
    operator, seen = "", 0
    for name, *cells in paddle_tables(data_dir, PADDLE[trace])["Operator Summary"]:
        if len(cells) < 2 or cells[1].count("/") != 4 or "Total" in cells[1]:
            continue
        operator = operator if name.startswith("  ") else name.strip()
        row = found[operator, name.strip() if name.startswith("  ") else ""]
        total, avg, longest, shortest, share = numbers(cells[1])
        assert row["count"] == int(cells[0]), name
        assert row["cpu_total_ns"] / 1000 == pytest.approx(total, abs=0.02), name
        assert row["cpu_avg_ns"] / 1000 == pytest.approx(avg, abs=0.01), name
        assert row["cpu_max_ns"] / 1000 == pytest.approx(longest, abs=0.01), name
        assert row["cpu_min_ns"] / 1000 == pytest.approx(shortest, abs=0.01), name
        assert row["cpu_ratio"] * 100 == pytest.approx(share, abs=0.02), name
        seen += 1
    assert seen > 60


@pytest.mark.parametrize("trace", PADDLE)
def test_device_summary_of_paddle(opened: Open, data_dir: Path, trace: str) -> None:
    found = by_name(rows_of(opened(trace), "device"))
    expected = {
        cells[0]: cells[1]
        for cells in paddle_tables(data_dir, PADDLE[trace])["Device Summary"]
        if len(cells) == 2
    }
    for name in ("CPU(Process)", "CPU(System)"):
        assert found[name]["utilization_ratio"] * 100 == pytest.approx(float(expected[name]), abs=0.01)


def test_peak_memory_of_paddle(opened: Open, data_dir: Path) -> None:
    from warpline.analysis.registry import compute_report

    trace = "paddle/paddle_mobilenetv2_cpu_mem.paddle_trace.json.gz"
    report = compute_report(opened(trace), "memory")
    assert report.table is not None
    text = (data_dir / "paddle" / PADDLE[trace]).read_text()
    peaks = [
        f"{int(value):,}" for value in re.findall(r"Peak (?:Allocated|Reserved) Memory: (\d+)", text)[:2]
    ]
    assert all(peak in " ".join(report.table.notes) for peak in peaks)
    found = by_name(list(report.table.rows()))
    for name in (
        "conv2d_grad kernel launch",
        "batch_norm kernel launch",
        "relu6 kernel launch",
        "InvertedResidual",
    ):
        line = re.search(rf"^{re.escape(name)} +Allocated.*$", text, re.MULTILINE)
        assert line is not None, name
        cells = re.split(r"\s{2,}", line[0].strip())
        row = found[name]
        assert [
            row[key]
            for key in ("allocation_count", "free_count", "allocation_bytes", "free_bytes", "increased_bytes")
        ] == [int(cell) for cell in cells[2:]]
