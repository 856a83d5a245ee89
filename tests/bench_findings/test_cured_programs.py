"""Programs of the findings bench, sick and cured: the comparison names the part that was cured, and its line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.bench_findings.pairs import program_of
from tests.unit.recording.recording_tools import WARPLINE, needs_perf

_TRIES = 6
_LEAST = 0.9
"""Of the measured difference, the part that is named."""


def compared(name: str, folder: Path) -> dict[str, Any]:
    """Both ways of a program recorded, and what `warpline compare --json` says of them."""
    program = program_of(name)
    files = []
    for way in ("sick", "cured"):
        files.append(str(folder / f"{way}.h5"))
        record = [
            *WARPLINE,
            "record",
            "-q",
            "--no-check",
            "-o",
            files[-1],
            "--",
            sys.executable,
            str(program),
            way,
        ]
        subprocess.run(record, check=True, timeout=120, cwd=folder, stdout=subprocess.DEVNULL)
    done = subprocess.run(
        [*WARPLINE, "compare", "--json", *files], capture_output=True, check=True, timeout=120
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@needs_perf
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("sleep_in_loop", "sleep"),
        ("polling", "sleep"),
        # The main thread joins the thread that wants the lock: its own wait is for that end.
        ("lock_held_asleep", "join"),
        ("slow_peer", "network"),
        ("fsync_per_line", "file"),
    ],
)
def test_the_part_that_was_cured_is_named(name: str, cause: str, tmp_path: Path) -> None:
    # A busy machine lengthens what was not cured, by as much as it likes: one calm try of six is enough.
    seen: list[tuple[str, float]] = []
    for attempt in range(_TRIES):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        found = compared(name, folder)
        assert [fact["name"] for fact in found["metadata"]] == ["command_line"]
        # What neighbours on the machine took is no part of the cure.
        parts = [part for part in found["parts"] if part["cause"] != "runnable"]
        measured = sum(part["difference_ns"] for part in parts)
        waits = [part for part in parts if part["cause"] != "host"]
        # The line that waited stands first among who contributed; what it ran, in the kernel, is cured with it.
        line = waits[0]["contributors"][0]["name"] if waits[0]["contributors"] else ""
        beside = sum(
            contributor["difference_ns"]
            for part in parts
            if part["cause"] == "host"
            for contributor in part["contributors"]
            if contributor["name"] == line
        )
        seen.append((waits[0]["cause"], (waits[0]["difference_ns"] + beside) / measured))
        if seen[-1][0] == cause and seen[-1][1] >= _LEAST:
            assert program_of(name).name in line
            return
    pytest.fail(f"first parts, and what they explain of the difference: {seen}")
