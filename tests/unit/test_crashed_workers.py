"""A test that crashes its process ends the run with pytest-xdist, and the run names it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("xdist")

CRASHING = """
import os, pytest

@pytest.mark.parametrize("number", range(3))
def test_passes(number):
    pass

def test_crashes():
    os._exit(1)
"""
OPTIONS = ("-n", "2", "--rootdir", ".", "-p", "no:cacheprovider", "-p", "no:pytest-qt")
PASSING = """
def test_passes():
    pass
"""


def test_a_crashed_worker_ends_the_run(tmp_path: Path, repository: Path) -> None:
    # The files' tests stay together: a replacement worker would get those that had passed, and wait for ever.
    (tmp_path / "conftest.py").write_text((repository / "tests" / "conftest.py").read_text())
    (tmp_path / "test_crashing.py").write_text(CRASHING)
    for number in range(6):
        (tmp_path / f"test_passing_{number}.py").write_text(PASSING)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(repository)},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "crashed while running 'test_crashing.py::test_crashes'" in done.stdout
    assert "crashed and worker restarting disabled" in done.stdout
