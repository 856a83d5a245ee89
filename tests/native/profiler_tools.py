"""Programs that profile themselves, and what they leave behind."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

import warpline
from warpline.recording.agent.library import agent_library

STANDIN = Path(__file__).parent / "standin"
"""Where programs find a stand-in for PyTorch."""
PACKAGE = Path(__file__).parents[2] / "capture"

needs_agent = pytest.mark.skipif(agent_library().path is None, reason=agent_library().reason)
pytestmark = [
    needs_agent,
    pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only"),
]

STEPS = """
import os, sys, threading, time, warnings
import warpline
from warpline import Profiler, RecordEvent, TracerEventType

def train(profiler, steps, after=lambda step: None):
    for step in range(steps):
        with RecordEvent("load", TracerEventType.Dataloader):
            time.sleep(0.002)
        with RecordEvent("Forward", TracerEventType.Forward):
            sum(range(20_000))
        mine = RecordEvent("mine")
        mine.begin()
        profiler.step()
        mine.end()
        after(step)
"""


def run(
    folder: Path,
    program: str,
    *,
    prefix: tuple[str, ...] = (),
    check: bool = True,
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    script = folder / "program.py"
    script.write_text(STEPS + textwrap.dedent(program))
    return subprocess.run(
        [*prefix, sys.executable, str(script)],
        cwd=folder,
        env={
            "PYTHONPATH": f"{PACKAGE}:{STANDIN}",
            "PATH": "/usr/bin:/bin",
            "TMPDIR": str(folder),  # where recordings stay that nobody said a place for
            "HOME": str(folder),
            **(variables or {}),
        },
        capture_output=True,
        text=True,
        check=check,
        timeout=100,
    )


def the_capture(folder: Path) -> warpline.CaptureReader:
    (path,) = folder.glob("profiler_log/*.h5")
    return warpline.open(path)


def steps_of(capture: warpline.CaptureReader) -> list[str]:
    return sorted(name for name in capture.events("range")["name"] if name.startswith("ProfileStep"))
