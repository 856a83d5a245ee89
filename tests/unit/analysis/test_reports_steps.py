"""Steps: what is one, its phases, the ones that fall out of line."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.analysis.analysis_tools import Program, rows_of

from warpline.analysis.framework.options import Options
from warpline.analysis.framework.registry import compute_report
from warpline.model import UsageError
from warpline.storage import Capture


def test_steps_phases_and_outliers(training: Capture) -> None:
    rows = rows_of(training, "steps")
    assert [row["step"] for row in rows] == [7, 8, 9]
    assert [row["duration_ns"] for row in rows] == [1_000_000, 2_000_000, 1_000_000]
    assert [row["dataloader_ns"] for row in rows] == [300_000] * 3
    assert [row["forward_ns"] for row in rows] == [300_000] * 3
    assert [row["others_ns"] for row in rows] == [400_000, 1_400_000, 400_000]
    assert [row["gpu_busy_ns"] for row in rows] == [350_000] * 3
    assert [row["outlier"] for row in rows] == [False, True, False]


def test_any_range_can_be_declared_the_step(training: Capture) -> None:
    rows = rows_of(training, "steps", options=Options(step="forward"))
    assert [row["duration_ns"] for row in rows] == [300_000] * 3
    rows = rows_of(training, "steps", options=Options(step="/^Profiler.*[79]$/"))
    assert [row["step"] for row in rows] == [7, 9]
    with pytest.raises(UsageError, match="not a regular expression"):
        compute_report(training, "steps", options=Options(step="/(/"))


def test_others_counts_moments_of_overlapping_phases_once(tmp_path: Path) -> None:
    program = Program(tmp_path / "x.h5")
    program.host("phases", "phase", 0, 1_000, "ProfileStep#0")
    program.host("phases", "phase", 100, 800, "forward: Net")
    program.host("ranges", "phase", 300, 900, "backward: Net")
    with program.finish() as capture:
        table = compute_report(capture, "steps").table
        assert table is not None
        (row,) = table.rows()
    assert (row["forward_ns"], row["backward_ns"], row["others_ns"]) == (700, 600, 200)
    assert any("Phases overlap" in note for note in table.notes)


def test_copies_to_the_gpu_outside_phases_have_a_column(tmp_path: Path) -> None:
    program = Program(tmp_path / "x.h5")
    program.host("phases", "phase", 0, 1_000, "ProfileStep#0")
    program.host("phases", "phase", 300, 600, "forward: Net")
    for start, stop, direction in ((100, 150, 1), (200, 220, 2), (280, 340, 1), (400, 450, 1), (700, 703, 1)):
        call = program.launch(start, stop, "cudaMemcpyAsync")
        program.gpu("memcpy", 7, start + 5, stop + 20, "copy", call, copy_kind=direction, bytes=8)
    with program.finish() as capture:
        (row,) = rows_of(capture, "steps")
    assert row["forward_ns"] == 300
    assert row["host_to_device_ns"] == 50 + 20 + 3
    assert row["others_ns"] == 1_000 - 300 - 73


def test_gpu_times_of_a_step_without_a_gpu_are_not_zero(training: Capture, tmp_path: Path) -> None:
    program = Program(tmp_path / "x.h5")
    program.host("phases", "phase", 0, 1_000, "ProfileStep#0")
    program.host("operators", "operator", 100, 800, "aten::add")
    with program.finish() as capture:
        table = compute_report(capture, "step_breakdown").table
        assert table is not None
        (row,) = table.rows()
    for name in ("kernel", "memcpy", "memset", "runtime"):
        assert (row[f"{name}_ns"], row[f"{name}_ratio"]) == (None, None), name
    assert (row["cpu_exec_ns"], row["other_ns"], row["total_ns"]) == (700, 300, 1_000)
    assert "Kernel, Memcpy, Memset: GPU work was not recorded" in table.notes
    assert "Runtime: CUDA API calls were not recorded" in table.notes
    assert all(row["memset_ns"] == 0 for row in rows_of(training, "step_breakdown"))
