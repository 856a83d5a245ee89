"""The checks on a GPU as a test, and what they do on a machine without one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.gpu.catalogue import GROUPS, HARNESS

CHECKS = Path(__file__).parent / "run_gpu_checks.py"


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("group", [group for group in GROUPS if group != HARNESS])
def test_everything_on_the_gpu(group: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, CHECKS, group, "--output", tmp_path], capture_output=True, text=True, check=False
    )
    rows = json.loads((tmp_path / "checks.json").read_text())["rows"]
    assert [row for row in rows if row["is_good"] is False] == [], done.stdout


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has a GPU")
def test_without_a_driver_the_checks_say_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, CHECKS, "driver", "--output", tmp_path],
        env={**os.environ, "LD_LIBRARY_PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stdout
    assert "no NVIDIA driver" in done.stderr
