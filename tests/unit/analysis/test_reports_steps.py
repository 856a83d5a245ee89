"""Steps: what is one, its phases, the ones that fall out of line."""

from __future__ import annotations

import pytest
from tests.unit.analysis.analysis_tools import rows_of

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
