"""Metrics of Nsight Compute: kernels side by side, each as long as it took, with everything that was measured."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from tests.unit.interchange.import_tools import attributes, imported, rows, text_file
from tests.unit.interchange.ncu.ncu_tables import FIRST, NCU_LONG, NCU_RAW, PLACES

from warpline.interchange import detect
from warpline.model import ImportFormatError


@pytest.mark.parametrize("table", [NCU_RAW, NCU_LONG], ids=["raw", "long"])
def test_kernels_stand_side_by_side_with_their_metrics(tmp_path: Path, table: str) -> None:
    path = text_file(tmp_path, table, "metrics")
    assert detect(path).name == "ncu-csv"
    capture = imported(tmp_path, path)
    assert [row[:3] for row in rows(capture, "kernel")] == [
        ("gemm(float*, int)", 0, 1_002_500), ("relu(float*)", 1_002_500, 2500),
    ]  # fmt: skip
    kernel = attributes(capture, "gemm(float*, int)")
    assert [kernel[f"{what}_{axis}"] for what in ("grid", "block") for axis in "xyz"] == [16, 2, 1, 256, 1, 1]
    assert kernel["registers_per_thread"] == 64
    metrics = json.loads(kernel["payload"])
    assert metrics["launch__registers_per_thread [register/thread]"] == 64
    if table == NCU_RAW:
        assert metrics["sm__throughput.avg.pct_of_peak_sustained_elapsed [%]"] == 42.5
    assert capture.processes[0].name == "train"
    assert any("not when" in warning for warning in capture.warnings)


def test_a_kernel_without_a_duration_is_said_to_have_none(tmp_path: Path) -> None:
    text = f'{PLACES},"dram__bytes.sum"\n"","","","","","","","","","","","byte"\n{FIRST},"5"'
    capture = imported(tmp_path, text_file(tmp_path, text, "x.csv"))
    assert [row[2] for row in rows(capture, "kernel")] == [0]
    assert any("1 kernel has no duration" in warning for warning in capture.warnings)


def test_reports_are_printed_by_ncu_or_named_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = text_file(tmp_path, b"NVR\x00" + bytes(100), "kernels")
    assert detect(report).name == "ncu-rep"
    with pytest.raises(ImportFormatError, match=r"Nsight Compute.*ncu --import \S+ --csv --page raw"):
        imported(tmp_path, report)
    if sys.platform == "win32":
        return
    table = text_file(tmp_path, NCU_RAW, "made.csv")
    program = tmp_path / "ncu"
    program.write_text(f'#!/bin/sh\n[ "$1 $3 $4 $5" = "--import --csv --page raw" ] && cat "{table}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert len(rows(imported(tmp_path, report), "kernel")) == 2
