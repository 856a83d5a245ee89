"""Mutated Nsight exports for as long as one likes: ``make fuzz``; FUZZ_ROUNDS says how many (default 1500)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.unit.interchange.nsys.nsys_tools import import_mutated


@pytest.mark.fuzz
@pytest.mark.timeout(0)
def test_many_mutated_exports(tmp_path: Path, data_dir: Path) -> None:
    for seed in range(1000, 1000 + int(os.environ.get("FUZZ_ROUNDS", "1500"))):
        import_mutated(data_dir, tmp_path, seed)
