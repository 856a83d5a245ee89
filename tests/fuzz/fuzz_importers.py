"""Mutated real files for as long as one likes: ``make fuzz``; FUZZ_ROUNDS says how many of each (default 1500)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.unit.interchange.trace_json.mutations import SEEDS, run

_HTA = "torch/facebookresearch+HolisticTraceAnalysis/tests/data"
LARGER = (
    "chrome_generic/catapult-project+catapult/tracing/test_data/async_begin_end.json",
    f"{_HTA}/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz",
    f"{_HTA}/cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz",
    "paddle/paddle_mobilenetv2_cpu_mem.pb",
)


@pytest.mark.fuzz
@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", [*SEEDS, *LARGER])
def test_many_mutated_files(tmp_path: Path, data_dir: Path, name: str) -> None:
    run(tmp_path, data_dir, name, count=int(os.environ.get("FUZZ_ROUNDS", "1500")), first=1000)
