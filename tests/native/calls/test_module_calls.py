"""Calls of modules recorded in C are what the same function in Python records. On a stand-in for PyTorch."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.native.test_training_steps import STANDIN, record

import warpline


@pytest.mark.parametrize("old", ["", "1"])
def test_calls_are_recorded_in_c_until_somebody_compiles_and_are_the_same(tmp_path: Path, old: str) -> None:
    done = record(tmp_path / "x.h5", sys.executable, str(STANDIN / "calls.py"), OLD_TORCH=old)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    first, second = told["first"], told["second"]
    assert (first.pop("is_function"), second.pop("is_function")) == (False, True)
    assert told["kinds"] == ["call", "function"]
    assert told["keeps_nothing"]
    assert first == second
    assert first["told"].count("interrupted") == 1
    with warpline.open(tmp_path / "x.h5") as capture:
        calls = capture.events("module").to_pandas().sort_values("start_ns")
        phases = capture.events("phase").to_pandas().sort_values("start_ns")
    assert (calls.class_name == "KeptNet").sum() == 4 * 150 * 3
    calls = calls[~calls.class_name.str.startswith("Kept")]
    phases = phases[~phases.name.str.contains("Kept")]
    for events, columns in ((calls, ["name", "class_name"]), (phases, ["name", "category"])):
        rows = events[columns].to_numpy().tolist()
        assert rows[: len(rows) // 2] == rows[len(rows) // 2 :]
    # Eight lines call it 22 times, and so does a child that was forked.
    counts = calls.groupby(["name", "class_name"]).size()
    assert counts["net", "Net"] == 2 * (22 + 1)
    assert counts["again", "Again"] == 2 * 2 * 5
    assert (counts["Leaf", "Leaf"], counts["Other", "Other"]) == (2 * 6, 2 * 4)
    assert (phases.name == "evaluation: Net").sum() == 2 * 2
