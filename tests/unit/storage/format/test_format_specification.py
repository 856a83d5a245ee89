"""The specification of the file and what is written agree."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from warpline.storage import CaptureBuilder, open_capture, verify


def programs(repository: Path) -> list[str]:
    text = (repository / "docs" / "format.md").read_text()
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def run(code: str, folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_the_reader_in_the_specification_works(tmp_path: Path, repository: Path) -> None:
    code = programs(repository)[0]
    assert len(code.strip().splitlines()) <= 12
    with CaptureBuilder(tmp_path / "run.h5") as builder:
        builder.add_events(builder.track("a/b"), "range", [0, 5, 20], [10, 2, 7], builder.string("x"))
        builder.add_events(builder.track("c"), "range", np.arange(5000) * 10, 3, builder.string("y"))
        builder.finish()
    assert run(code, tmp_path) == ["a/b 2 events 17 ns", "a/b 1 events 2 ns", "c 5000 events 15000 ns"]


def test_the_writer_in_the_specification_writes_a_capture(tmp_path: Path, repository: Path) -> None:
    code = programs(repository)[1]
    assert run(code, tmp_path) == []
    with open_capture(tmp_path / "mine.h5") as capture:
        assert list(verify(capture)) == []
        assert capture.unknown == ()
        assert capture.writer == "mine 1"
        assert [(track.uri, track.title, track.role) for track in capture.tracks] == [
            ("worker/1", "1", "other")
        ]
        assert {name: table.rows.tolist() for name, table in capture.kinds.items()} == {"task": [0, 1, 2]}
        assert (capture.kinds["task"].spec.title, capture.kinds["task"].spec.color) == ("task", "neutral")
        strip = capture.query([0], 0, 1200, 1200)
        assert strip.rect_start.tolist() == [0, 400, 900]
        assert capture.busy_ns(0, 0, 1200) == 1150
        assert [capture.strings[name] for name in capture.name_index().totals().name.tolist()] == [
            "load",
            "compute",
        ]
    # As many events as are mapped instead of read.
    assert (
        run(
            code.replace("[0, 400, 900], [400, 450, 300], [2, 3, 2]", "range(5000), [1] * 5000, [2] * 5000"),
            tmp_path,
        )
        == []
    )
    with open_capture(tmp_path / "mine.h5") as capture:
        assert capture.is_mapped
        assert capture.busy_ns(0, 100, 200) == 100
        assert list(verify(capture)) == []
