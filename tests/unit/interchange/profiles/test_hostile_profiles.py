"""Damaged profiles of every format: an import gives what is left, or says in one line why not."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.unit.interchange.profiles import engine_seeds
from tests.unit.interchange.profiles.profile_seeds import SEEDS, damaged
from tests.unit.interchange.trace_json.mutations import check


@pytest.mark.parametrize("name", [*SEEDS, *engine_seeds.SEEDS])
def test_damaged_files_end_well(tmp_path: Path, name: str) -> None:
    content = SEEDS[name][1]() if name in SEEDS else engine_seeds.SEEDS[name]().encode()
    for number in range(12):
        check(tmp_path, damaged(content, random.Random(f"{name} {number}")))
