"""Reports on captures of others, against the numbers other tools printed for them."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from tests.unit.analysis.analysis_tools import Open, by_name, rows_of

from warpline.analysis.framework.selection import View

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


def test_gpu_summary_of_torch_tb_profiler(opened: Open, data_dir: Path) -> None:
    (found,) = rows_of(opened(RESNET), "gpu_utilization")
    printed = {
        entry["title"]: entry["value"]
        for entry in tb_plugin(data_dir, "overview.json")["gpu_metrics"]["data"]
    }
    assert printed["Name"] in found["name"]
    for key, title in {
        "utilization_ratio": "GPU Utilization",
        "sm_efficiency_ratio": "Est. SM Efficiency",
        "achieved_occupancy_ratio": "Est. Achieved Occupancy",
        "tensor_core_ratio": "Kernel Time using Tensor Cores",
    }.items():
        digits = 1 if title.startswith("Kernel") else 2
        assert f"{round(found[key] * 100, digits)} %" == printed[title], title


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
    from warpline.analysis.framework.registry import compute_report

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
