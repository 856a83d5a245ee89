"""The scanner under sanitizers for as long as one likes: ``make fuzz``; FUZZ_ROUNDS is how much (default 1500)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.fuzz.scanner_tools import build, run, unpacked
from tests.unit.interchange.trace_json.test_scanner import SEEDS


@pytest.mark.fuzz
@pytest.mark.timeout(0)
@pytest.mark.parametrize("flags", [(), ("-U__SSE2__",)], ids=["vectors", "plain"])
def test_many_mutated_texts(tmp_path: Path, data_dir: Path, flags: tuple[str, ...]) -> None:
    count = 20 * int(os.environ.get("FUZZ_ROUNDS", "1500"))
    run(build(tmp_path, *flags), unpacked(data_dir, SEEDS, tmp_path), 10_000, count)
