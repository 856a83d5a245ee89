"""FLOPs and bytes of operators, against those that TraceLens computed for the same traces."""

from __future__ import annotations

import ast
import csv
import json
import re
from pathlib import Path

import pytest
from tests.unit.analysis.analysis_tools import Open, rows_of

from warpline.analysis.hardware.arguments import parse_arguments
from warpline.analysis.hardware.operator_work import work_of

TRACES = {
    "torch/**/h100/google_owlv2*.json.gz": "torch/**/google_owlv2*_csvs/unified_perf_summary.csv",
    "torch/**/h100/gaunernst*.json.gz": "torch/**/gaunernst*_csvs/unified_perf_summary.csv",
    "torch/**/mi300/Falconsai*.json.gz": "torch/**/Falconsai*_csvs/unified_perf_summary.csv",
}
MATRIX = ("GEMM", "CONV_fwd", "SDPA_fwd")
MIB = 1 << 20


def _printed(data_dir: Path, pattern: str) -> list[dict[str, str]]:
    with next(data_dir.glob(pattern)).open(newline="") as lines:
        return list(csv.DictReader(lines))


def _texts(text: str) -> str:
    return json.dumps(ast.literal_eval(text))


@pytest.mark.parametrize("trace", TRACES)
def test_each_operator_has_the_flops_and_bytes_of_tracelens(data_dir: Path, trace: str) -> None:
    compared = 0
    for row in _printed(data_dir, TRACES[trace]):
        if not row["GFLOPS"] or not row["Data Moved (MB)"]:
            continue
        texts = [_texts(row[key]) for key in ("Input Dims", "Input type", "Concrete Inputs")]
        arguments = parse_arguments(*texts)
        assert arguments is not None
        work = work_of(row["name"], arguments)
        assert work is not None, row["name"]
        if row["op category"] in MATRIX:
            assert work.flops == pytest.approx(float(row["GFLOPS"]) * 1e9, rel=1e-9), row["name"]
        expected = float(row["Data Moved (MB)"]) * MIB
        if row["op category"] == "NORM_fwd":
            # It adds four statistics of each channel, which layer_norm does not have.
            expected -= 4 * 2 * arguments.all_tensors[0].shape[-1]
        # It counts scalars as elements of the output, and no bias of a convolution.
        assert work.bytes == pytest.approx(expected, rel=1e-3, abs=64), (row["name"], row["Input Dims"])
        compared += 1
    assert compared > 5


@pytest.mark.parametrize("trace", TRACES)
def test_rates_of_products_equal_those_of_tracelens(opened: Open, data_dir: Path, trace: str) -> None:
    rows = rows_of(opened(trace), "roofline")
    found = {(row["name"], json.dumps(json.loads(row["input_shapes"]))): row for row in rows}
    printed = [row for row in _printed(data_dir, TRACES[trace]) if row["op category"] == "GEMM"]
    assert printed
    for row in printed:
        mine = found[row["name"], _texts(row["Input Dims"])]
        assert mine["count"] == int(row["operation_count"])
        # Its sum has the memory sets of cuBLAS, too.
        parts = re.findall(
            r"'name': '(.+?)', 'stream'.+?'total_duration_us': np.float64\(([\d.]+)",
            row["kernel_details_summary"],
        )
        seconds = sum(float(time) for name, time in parts if not name.startswith("Memset")) / 1e6
        assert mine["total_ns"] / 1e9 == pytest.approx(seconds, rel=1e-4)
        rate = float(row["GFLOPS"]) * int(row["operation_count"]) / seconds / 1e3
        assert mine["tflops_per_second"] == pytest.approx(rate, rel=1e-3)
