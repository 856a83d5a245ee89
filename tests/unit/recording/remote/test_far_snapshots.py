"""Idle recorders on two machines that record the same training steps when somebody asks for them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.recording.recording_tools import UNTIL_HOOKED
from tests.unit.recording.remote.conftest import warpline
from tests.waiting import wait_until

import warpline as library
from warpline.cli.several_recordings import RecorderReply, SeveralRecordings

STANDIN = Path(__file__).parents[3] / "native" / "standin"
# Two ranks that train in step, as ranks with collectives do, until there is a file `end`.
PROGRAM = f"""{UNTIL_HOOKED}
import os, sys, time
import torch
own, other = (f"rank{{(int(os.environ['WARPLINE_RANK']) + more) % 2}}" for more in (0, 1))
optimizer = torch.optim.SGD()
for step in range(1, 1 << 30):
    torch.autograd.backward(0.02)
    with open(f"{{own}}.part", "w") as file: file.write(str(step))
    os.replace(f"{{own}}.part", own)
    while not os.path.exists("end") and (not os.path.exists(other) or int(open(other).read()) < step):
        time.sleep(0.001)
    if os.path.exists("end"): break
    optimizer.step()
"""


@pytest.fixture
def two_machines(ssh_config: Path, far_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``box`` and ``other``, each with recordings of its own."""
    folder = tmp_path / "programs"
    folder.mkdir()
    text = ssh_config.read_text()
    for host in ("box", "other"):
        runtime = tmp_path / f"runtime-{host}"
        runtime.mkdir()
        own = text.replace("Host box\n", f"Host {host}\n SetEnv XDG_RUNTIME_DIR={runtime}\n")
        with (folder / "config").open("a") as file:
            file.write(own)
    (folder / "ssh").write_text(f'#!/bin/sh\nPATH=${{PATH#*:}} exec ssh -F {folder}/config "$@"\n')
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def control(*options: str) -> subprocess.CompletedProcess[str]:
    words = warpline("control", *options)
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.usefixtures("two_machines")
@pytest.mark.parametrize("where", [("--on", "box,other"), ()])
def test_every_rank_records_the_same_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: tuple[str, ...]
) -> None:
    """Asked for on the machines, and where `record` runs."""
    runtime = tmp_path / "runtime-here"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    (tmp_path / "loop.py").write_text(PROGRAM)
    options = ("--on", "box,other", "--wait", "--trace", "steps", "--no-check", "--chdir", str(tmp_path))
    words = warpline(
        "record", *options, "--env", f"PYTHONPATH={STANDIN}", "-o", str(tmp_path / "run.h5"), "--"
    )
    with subprocess.Popen(
        [*words, sys.executable, "loop.py"], stderr=subprocess.PIPE, text=True
    ) as recording:
        try:
            wait_until(
                lambda: recording.poll() is not None or _has_begun(tmp_path),
                "the training does not begin",
                120,
            )
            done = control("snapshot", *where, "--next-steps", "3", "--json")
            assert done.returncode == 0, done.stderr
            steps = [answer["snapshot"] for answer in json.loads(done.stdout)]
            captures = [tmp_path / f"run-rank{rank}-{host}.h5" for rank, host in enumerate(("box", "other"))]
            wait_until(lambda: all(path.exists() for path in captures), "there are no captures", 120)
        finally:
            (tmp_path / "end").touch()
            errors = recording.communicate(timeout=120)[1]
    assert recording.returncode == 0, errors
    assert steps[0] == steps[1]
    first, until = steps[0]
    assert until == first + 3
    for path in captures:
        with library.open(path) as capture:
            assert capture.report("steps").to_pandas().step.tolist() == [first, first + 1, first + 2]


class Asked(SeveralRecordings):
    """Recordings with replies that were made up; ``asked`` are the requests."""

    def __init__(self, *replies: list[dict[str, Any]]) -> None:
        super().__init__((None,), None)
        self.__dict__.update(replies=list(replies), asked=[])

    def ask(self, command: str, **fields: Any) -> list[RecorderReply]:
        self.__dict__["asked"].append((command, fields))
        return [RecorderReply("", reply) for reply in self.__dict__["replies"].pop(0)]


def told(*steps: int) -> list[dict[str, Any]]:
    return [{"ok": True, "steps": count} for count in steps]


LATE = {"ok": False, "error": "x", "is_late": True}
REFUSED = {"ok": False, "error": "x", "is_late": False}


def test_the_first_step_is_one_that_no_rank_has_begun_when_the_request_arrives() -> None:
    # 4 steps end while asking: the answers may be so old, and the request takes as long.
    recordings = Asked(told(10, 11), told(14, 15), told(14, 15))
    assert all(not answer.error for answer in recordings.snapshot(3))
    assert recordings.__dict__["asked"][2:] == [("snapshot", {"next_steps": 3, "first": 24})]


def test_a_request_that_is_late_for_a_rank_is_taken_back_and_made_again() -> None:
    recordings = Asked(told(8, 8), told(9, 9), [*told(9), LATE], told(9, 9), told(12, 12), told(12, 12))
    assert all(not answer.error for answer in recordings.snapshot(1))
    firsts = [
        fields.get("first") for command, fields in recordings.__dict__["asked"] if command == "snapshot"
    ]
    assert firsts == [12, None, 25]


def test_where_a_rank_cannot_none_records() -> None:
    recordings = Asked(told(0, 0), told(0, 0), [*told(0), REFUSED], told(0, 0))
    assert [bool(answer.error) for answer in recordings.snapshot(1)] == [False, True]
    assert recordings.__dict__["asked"][-1] == ("snapshot", {"next_steps": 0})


def _has_begun(folder: Path) -> bool:
    return (folder / "rank0").exists() and (folder / "rank1").exists()
