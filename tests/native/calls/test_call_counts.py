"""Calls too short for a record or a stack of their own are counted, with the line that makes most of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from tests.unit.recording.recording_tools import UNTIL_HOOKED

from warpline.analysis.framework.selection import View
from warpline.storage import open_capture

CALLS, SIZE = 20_000, 8
PLACE_FULL = 128
"""From so many counted calls on, a record is written (docs/spool.md)."""
PROGRAM = f"""{UNTIL_HOOKED}
def save(descriptor):
    for _ in range({CALLS}):
        os.write(descriptor, b"x" * {SIZE})

save(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT))
"""
LINE = next(number for number, text in enumerate(PROGRAM.splitlines(), 1) if "os.write" in text)


def test_short_calls_are_counted_at_their_line(tmp_path: Path) -> None:
    program, output = tmp_path / "program.py", tmp_path / "run.h5"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "warpline", "record", "-q", "--no-check", "-o", str(output), "--"]
    subprocess.run([*command, sys.executable, program, tmp_path / "out"], timeout=100, check=True)
    with open_capture(output) as capture:
        view = View(capture)
        counts = view.events("call_count")
        writes = np.flatnonzero([capture.strings[int(name)] == "write" for name in counts.name])
        rows = counts.index[writes]
        count, size = (view.column("call_count", name, rows).astype(np.int64) for name in ("count", "bytes"))
        stacks = set(view.column("call_count", "stack", rows).tolist())
        lines = {capture.stack_frames(stack)[0] for stack in stacks}
        calls = view.events("osrt")
        own = np.flatnonzero([capture.strings[int(name)] == "write" for name in calls.name])
        with_stack = int((~np.ma.getmaskarray(view.column("osrt", "stack", calls.index[own]))).sum())
    assert CALLS - PLACE_FULL <= count.sum() + with_stack <= CALLS + PLACE_FULL
    assert size.sum() == SIZE * count.sum()
    assert lines == {f"save ({program}:{LINE})"}
    checked = subprocess.run(
        [sys.executable, "-m", "warpline", "check", "--json", output],
        capture_output=True,
        timeout=100,
        check=True,
    )
    first = json.loads(checked.stdout)["findings"][0]
    assert (first["id"], first["where"]["line"]) == ("hot_spot", LINE)
    assert "write calls of 8 bytes on average" in first["text"]
