"""The specification of the file and what is written agree."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from warpline.storage import CaptureBuilder


def test_the_reader_in_the_specification_works(tmp_path: Path, repository: Path) -> None:
    text = (repository / "docs" / "format.md").read_text()
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert code is not None
    assert len(code[1].strip().splitlines()) <= 12
    with CaptureBuilder(tmp_path / "run.h5") as builder:
        builder.add_events(builder.track("a/b"), "range", [0, 5, 20], [10, 2, 7], builder.string("x"))
        builder.add_events(builder.track("c"), "range", np.arange(5000) * 10, 3, builder.string("y"))
        builder.finish()
    done = subprocess.run(
        [sys.executable, "-c", code[1]], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "a/b 2 events 17 ns",
        "a/b 1 events 2 ns",
        "c 5000 events 15000 ns",
    ]
