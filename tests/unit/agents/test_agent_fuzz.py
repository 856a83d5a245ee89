"""A few hundred calls of `tests.fuzz.fuzz_mcp`, without those that start processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fuzz.fuzz_mcp import fuzz
from tests.unit.library.library_tools import write_run


def test_calls_that_no_client_should_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "captures").mkdir()
    path = write_run(tmp_path / "captures" / "run.h5")
    without = frozenset(("render", "query", "schema", "job"))
    outcomes, _slowest_s = fuzz(path, 400, 7, without=without)
    assert sum(outcomes.values()) == 400
    assert len(outcomes) > 12
