"""Reports of Nsight Systems are exported by nsys where it is installed; tables of recipes are ranges."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.unit.interchange.import_tools import count, imported, links, rows, text_file
from tests.unit.interchange.nsys.nsys_tools import TID, make_export

from warpline.model import ImportFormatError

FOLDER = "nsys_recipe/NVIDIA+JAX-Toolbox/.github/workflows/nsys-jax/maxtext_fsdp4_test_data"
RECIPE = f"{FOLDER}/nvtx_gpu_proj_trace/trace.parquet"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for nsys is a script")


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A program called nsys that comes first on PATH."""
    program = folder / "nsys"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_nsys_exports_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export = make_export(
        tmp_path / "made.sqlite",
        {"NVTX_EVENTS": ("start, end, eventType, text, globalTid", [(10, 90, 59, "step", TID)])},
    )
    report = text_file(tmp_path, b"NVIDIA Tegra Profiler Report", "run.nsys-rep")
    stand_in(
        tmp_path, monkeypatch,
        f'[ "$1 $2 $3 $4 $5 $6" = "export --type sqlite --force-overwrite true --output" ] || exit 3\n'
        f'echo "Processing [====] 40%"\n[ "$8" = "{report}" ] && cp "{export}" "$7"',
    )  # fmt: skip
    assert [row[:3] for row in rows(imported(tmp_path, report))] == [("step", 10, 80)]


def test_the_error_says_why_nsys_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = text_file(tmp_path, b"NVIDIA Tegra Profiler Report", "run.nsys-rep")
    stand_in(tmp_path, monkeypatch, 'echo "Report is too new" >&2; exit 1')
    with pytest.raises(ImportFormatError, match=r"Report is too new.*nsys export --type sqlite"):
        imported(tmp_path, report)


def test_a_recipe_gives_ranges_and_the_gpu_work_in_them(tmp_path: Path, data_dir: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(data_dir / RECIPE).to_pydict()
    capture = imported(tmp_path, data_dir / RECIPE)
    named = [row for row, name in enumerate(table["Name"]) if name]
    assert count(capture, "range") == count(capture, "gpu_annotation") == len(named) == 21492
    for kind, start, duration in (
        ("range", "Orig Start", "Orig Duration"),
        ("gpu_annotation", "Projected Start", "Projected Duration"),
    ):
        expected = sorted((int(table[start][row]), int(table[duration][row])) for row in named)
        assert sorted(row[1:3] for row in rows(capture, kind)) == expected
    assert all(source == target for source, target in links(capture, "annotation"))


def test_other_parquet_tables_give_one_line(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"a": [1, 2]}), tmp_path / "x.parquet")
    with pytest.raises(ImportFormatError, match="without ranges"):
        imported(tmp_path, tmp_path / "x.parquet")
    whole = (tmp_path / "x.parquet").read_bytes()
    with pytest.raises(ImportFormatError, match="damaged"):
        imported(tmp_path, text_file(tmp_path, whole[:60], "cut.parquet"))
