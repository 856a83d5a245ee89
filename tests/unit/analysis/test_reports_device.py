"""The load of the whole machine, as the recorder counts it: one counter for each core."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.analysis.analysis_tools import by_name, rows_of

from warpline.storage import CaptureBuilder, open_capture


def test_machine_load_is_the_mean_of_its_cores(tmp_path: Path) -> None:
    path = tmp_path / "cores.h5"
    with CaptureBuilder(path) as builder:
        cores = builder.track("cpu", role="cores")
        for cpu, loads in enumerate(([1.0, 0.5, 0.0], [0.25, 0.25, float("nan")])):
            core = builder.track(f"cpu/{cpu}", role="core", parent=cores)
            builder.add_counter(core, "Utilization", "ratio", [100, 200, 300], loads)
        builder.set_span(0, 400)
        builder.finish()
    with open_capture(path) as capture:
        row = by_name(rows_of(capture, "device"))["CPU(System)"]
    assert row["utilization_ratio"] == pytest.approx((0.5 + 0.25) / 2)
    assert row["reason"] is None
