"""Mutated real files: every import gives a capture or a one-line error, fast and in little memory."""

from __future__ import annotations

import gzip
import resource
from pathlib import Path

import pytest
from tests.unit.effort import rounds
from tests.unit.interchange.trace_json.mutations import SEEDS, check, import_problem, run


@pytest.mark.fuzz
@pytest.mark.parametrize("name", SEEDS)
def test_mutated_files(tmp_path: Path, data_dir: Path, name: str) -> None:
    run(tmp_path, data_dir, name, count=rounds(6, 200))


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"args":', b'[{"ph":"X","args":[', b'"'])
def test_deep_nesting_is_bounded(tmp_path: Path, opening: bytes) -> None:
    check(tmp_path, opening * 20_000)


@pytest.mark.parametrize("filling", [b" ", b"0", b'{"a":'])
def test_a_gzip_bomb_is_read_in_pieces(tmp_path: Path, filling: bytes) -> None:
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'[{"ph": "X", "ts": 1, "dur": 1, "name": "first"},')
        for _ in range(24):
            file.write(filling * ((1 << 20) // len(filling)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    problem = import_problem(path, tmp_path / "out.h5")
    assert problem is None or "\n" not in problem
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 900 << 10
