"""A share of `make fidelity` in one recording: what a program is given and leaves is the same bare and recorded."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from tests.fidelity.fidelity_programs import outcome
from tests.fidelity.programs import PROGRAMS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")

SHARE = (
    "bash", "closed descriptors", "descriptors of a child", "descriptors of another", "signals and limits", "sessions",
    "environment", "empty environment", "daemon of two forks", "setsid", "namespaces", "own signal", "standard input",
    "main thread leaves", "main thread leaves before others", "main thread leaves in strict mode",
)  # fmt: skip


def test_programs_behave_the_same_bare_and_recorded(tmp_path: Path) -> None:
    """Those that are not installed fail in the same way."""
    lines = [f"{shlex.join(PROGRAMS[name])} 2>/dev/null; echo {name}: $?" for name in SHARE]
    script = ["bash", "-c", "\n".join(lines)]
    stdin, capture = tmp_path / "in.txt", tmp_path / "capture.h5"
    stdin.write_bytes(b"some input\n" * 1000)
    bare = outcome(script, tmp_path / "work", stdin, [])
    recorder = [sys.executable, "-m", "warpline", "record", "-q", "-o", str(capture), "--"]
    recorded = outcome([*recorder, *script], tmp_path / "work", stdin, [])
    assert recorded.output.decode().splitlines() == bare.output.decode().splitlines()
    assert recorded == bare
    assert bare.output.count(b": ") >= len(SHARE)
    assert capture.exists()
