"""Native stacks: what a recording of a Python program that computes in C says of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.unit.recording.recording_tools import needs_perf, python, record

from warpline.model.kinds import PYTHON_FRAMES
from warpline.storage import open_capture

pytest.importorskip("elftools")

_COMPRESS = """
import time, zlib
def crunch():
    zlib.compress(bytes(range(256)) * 4000, 9)
while time.process_time() < 1.0:
    crunch()
"""


@needs_perf
def test_frames_of_a_library_are_below_the_calling_line(tmp_path: Path) -> None:
    done = record(tmp_path, *python(_COMPRESS), options=("--trace", "cpu,python,native"))
    assert done.returncode == 0, done.stderr
    with open_capture(tmp_path / "run.h5") as capture:
        source = next(source for source in capture.sources if source.name == "native")
        if not source.enabled:
            pytest.skip(f"native stacks are refused here: {source.reason}")
        table = capture.kinds["cpu_sample"]
        stacks, known = table.column("stack")
        assert known.all()
        chains = [capture.stack_frames(stack) for stack in np.unique(stacks).tolist()]
        mixed = [
            chain
            for chain in chains
            if any(frame.startswith("crunch (") for frame in chain) and any(_is_of_zlib(f) for f in chain)
        ]
        assert mixed
        for chain in mixed:
            # Innermost first: the library's functions, then Python's lines, nothing of the interpreter between.
            python_from = next(i for i, frame in enumerate(chain) if frame.startswith("crunch ("))
            assert any(_is_of_zlib(frame) for frame in chain[:python_from])
            assert not any("_PyEval_EvalFrameDefault" in frame for frame in chain)
            assert chain[-1].startswith("<module> (")
        sureness = set(table.column("python")[0].tolist())
        assert sureness <= set(PYTHON_FRAMES)
        assert sureness & {1, 2}
        roles = {capture.tracks[capture.track_of_row(int(row))].role for row in table.stored_rows}
        assert roles == {"cpu_samples"}


def _is_of_zlib(frame: str) -> bool:
    return "[libz" in frame or "[zlib" in frame


@needs_perf
def test_no_samples_are_taken_at_a_rate_of_zero(tmp_path: Path) -> None:
    options = ("--trace", "cpu,native", "--native-hz", "0")
    assert record(tmp_path, *python("sum(range(10_000_000))"), options=options).returncode == 0
    with open_capture(tmp_path / "run.h5") as capture:
        assert "cpu_sample" not in capture.kinds
