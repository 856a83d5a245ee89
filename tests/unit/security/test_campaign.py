"""Some hostile inputs that nobody has seen yet, in every run: a share of ``make fuzz`` from a random number on."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
SECONDS = 8


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_inputs_nobody_has_seen_end_well(tmp_path: Path) -> None:
    first = random.SystemRandom().randrange(10**9)
    words = [
        "--kinds",
        "h5",
        "json",
        "spool",
        "--no-recording",
        "--first",
        str(first),
        "--seconds",
        str(SECONDS),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.campaign.campaign", "--work", str(tmp_path), *words],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"from number {first} on:", done.stdout)
    assert done.returncode == 0, f"from number {first} on: {done.stdout}{done.stderr}"
    assert done.stdout.count(" inputs: ") == 3
