"""The checks on a GPU as a test, and what they do on a machine where nothing can be checked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKS = Path(__file__).parent / "run_gpu_checks.py"


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_everything_on_the_gpu() -> None:
    done = subprocess.run([sys.executable, CHECKS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has a GPU")
def test_without_a_driver_the_checks_say_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, CHECKS, "--only", "graphs", "--output", str(tmp_path)],
        env={**os.environ, "LD_LIBRARY_PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    if "no NVIDIA driver" not in done.stderr:
        pytest.skip("this machine has a driver")
    assert done.returncode == 2
