"""Real programs, bare and recorded with everything that is on by default: the same output, status and files."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.fidelity.programs import PROGRAMS, is_here, prepare


class Outcome(NamedTuple):
    """What a program did that others can see."""

    status: int
    output: bytes
    errors: bytes
    files: dict[str, str]


def outcome(command: list[str], folder: Path, stdin: Path, program: list[str]) -> Outcome:
    """Runs a command in a folder made for the program in it."""
    prepare(folder, program)
    with stdin.open("rb") as given:
        done = subprocess.run(command, cwd=folder, stdin=given, capture_output=True, timeout=300, check=False)
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return Outcome(status, plain(done.stdout), plain(done.stderr), files_in(folder))


def plain(text: bytes) -> bytes:
    """Without numbers of processes and terminals, which differ from run to run."""
    text = re.sub(rb"/dev/pts/\d+", b"/dev/pts/N", text)
    return re.sub(rb"\b\d{3,7}\b(?=:| Segm| Term)", b"PID", text)


def files_in(folder: Path) -> dict[str, str]:
    """Mode, owner and contents of all files; no two cores of one program have the same."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if "__pycache__" not in path.parts:
            status = path.lstat()
            is_compared = path.is_file() and path.name != "core"
            contents = hashlib.sha256(path.read_bytes()).hexdigest() if is_compared else ""
            found[str(path.relative_to(folder))] = f"{status.st_mode:o} {status.st_uid} {contents}"
    return found


def typed(command: list[str]) -> list[str]:
    """The command as a shell starts it: what cannot be run ends with 126 or 127 there, too."""
    return ["/bin/sh", "-c", 'exec "$@"', "sh", *command]


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_a_recorded_program_does_what_it_does(name: str, tmp_path: Path) -> None:
    if not is_here(name):
        pytest.skip(f"{name} is not installed")
    stdin, capture = tmp_path / "in.txt", tmp_path / "capture.h5"
    stdin.write_bytes(b"some input\n" * 1000)
    command = PROGRAMS[name]
    os.chmod(tmp_path, 0o755)  # some programs run as another user
    bare = outcome(typed(command), tmp_path / "work", stdin, command)
    recorder = [sys.executable, "-m", "warpline", "record", "-q", "-o", str(capture), "--"]
    recorded = outcome([*recorder, *command], tmp_path / "work", stdin, command)
    assert recorded.status == bare.status
    if bare.status not in (126, 127):
        assert recorded.errors == bare.errors
        assert capture.exists()
    assert recorded.output == bare.output
    assert recorded.files == bare.files
    assert not Path(f"{capture}.spool").exists()
