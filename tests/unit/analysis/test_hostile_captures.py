"""Summaries of damaged captures: a table or one clear line, never a crash or an absurd allocation; and cancelling."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.analysis import hostile_reports
from tests.unit.analysis.analysis_tools import training_capture
from tests.unit.effort import rounds

from warpline.analysis.framework.registry import compute_report, reports
from warpline.analysis.framework.report import NotRecorded
from warpline.model import Cancelled
from warpline.storage import open_capture


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("capture") / "training.h5"
    training_capture(path).close()
    return path


@pytest.mark.fuzz
def test_every_report_of_a_damaged_capture_finishes(sound: Path) -> None:
    done = subprocess.run(
        [sys.executable, hostile_reports.__file__, str(sound), str(rounds(8, 1_000))],
        capture_output=True,
        text=True,
        check=False,
        timeout=3_600,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_name_id_beyond_the_strings_allocates_nothing(sound: Path, tmp_path: Path) -> None:
    import h5py

    path = tmp_path / "names.h5"
    path.write_bytes(sound.read_bytes())
    with h5py.File(path, "r+") as file:
        file["events/name"][...] = 0xFFFFFFFF
    with open_capture(path) as capture:
        table = compute_report(capture, "cuda_gpu_kern_sum").table
        assert table is not None
        assert sum(table.values("count")) == len(capture.kinds["kernel"])


def test_every_report_stops_when_cancelled(sound: Path) -> None:
    with open_capture(sound) as capture:
        for spec in reports():
            if isinstance(compute_report(capture, spec.name).result, NotRecorded):
                continue
            with pytest.raises(Cancelled):
                compute_report(capture, spec.name, cancelled=lambda: True)
