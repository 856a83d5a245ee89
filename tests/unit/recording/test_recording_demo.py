"""The bundled example: everything it promises can be seen in its capture."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.recording.recording_tools import WARPLINE, States

pytest.importorskip("PySide6")


@pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")
def test_the_demonstration_records_draws_and_says_where(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if "DISPLAY" not in name}
    command = [*WARPLINE, "demo", "here"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    picture = tmp_path / "here" / "demo.png"
    assert str(picture) in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    states = States(tmp_path / "here" / "demo.h5")
    names = {thread.name for thread in states.threads}
    assert {"demo-main", "loader", "logger", "sleeper", "fighter-1", "fighter-2", "fighter-3"} <= names
    assert any(process.parent_pid == states.processes[0].pid for process in states.processes)
    sleeper = next(thread for thread in states.threads if thread.name == "sleeper")
    assert states.total("blocked", states.of(sleeper.tid)) > 1_000_000_000
    assert states.total("running", states.of(sleeper.tid)) < 0.2 * states.span[1]
