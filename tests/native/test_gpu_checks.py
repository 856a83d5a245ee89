"""The checks for a GPU machine, tried on the fake GPU: they run to their end and find what they look for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKS = Path(__file__).resolve().parents[1] / "gpu" / "run_gpu_checks.py"
# The fake launches everything with one grid and one block of its own.
OF_A_REAL_GPU = {"grid_x", "block_x"}


@pytest.mark.slow
def test_the_checks_of_the_driver_agree_with_the_fake(fake_gpu: Path, agent: Path, tmp_path: Path) -> None:
    only = ("driver", "driver_range", "graphs", "profiler_alone")
    done = subprocess.run(
        [sys.executable, CHECKS, "--output", tmp_path, "--keep", *(f"--only={name}" for name in only)],
        env={
            **os.environ,
            "LD_LIBRARY_PATH": str(fake_gpu),
            "WARPLINE_LIBCUPTI": str(fake_gpu / "libcupti.so.12"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    rows = json.loads((tmp_path / "checks.json").read_text())["rows"]
    assert {row["check"] for row in rows} == set(only), done.stderr
    assert {row["what"] for row in rows if row["is_good"] is False} <= OF_A_REAL_GPU
    seen = {(row["check"], row["what"]): row["seen"] for row in rows}
    assert seen["driver", "kernels"] == "2000"
    assert seen["driver_range", "kernels inside"] == "500"
    assert seen["profiler_alone", "kernels of two steps"] == "200"
    (raw,) = (path for path in tmp_path.glob("01-*.raw"))
    data = raw.read_bytes()
    size = int.from_bytes(data[:8], "little")
    assert 0 < size <= len(data) - 8, "each buffer follows its size"
