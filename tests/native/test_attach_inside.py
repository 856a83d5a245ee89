"""``warpline attach --inside``: a program that runs already loads the agent, and releases it again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.recording.recording_tools import status_lines

import warpline
from warpline.recording.control import send_command

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")

# Says when it is ready, and when ranges are written and no longer; ends on a line.
PROGRAM = """
import ctypes, os, signal, sys, warpline
from warpline import annotation

# The recorder is no parent of this program: Yama lets it trace us only if we say so (PR_SET_PTRACER of any process).
ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)

def execute(number, frame):
    exec(open(sys.argv[1]).read(), {})

signal.signal(signal.SIGUSR1, execute)
before = dict(os.environ)
print("ready", flush=True)
while annotation.connected_agent() is None:
    pass
for _ in range(100):
    with warpline.annotate("inside"):
        pass
print("joined", flush=True)
while annotation.connected_agent() is not None:
    pass
print("left", dict(os.environ) == before, flush=True)
sys.stdin.readline()
sys.exit(7)
"""
# Before Python 3.14 a signal handler of the program stands for what the interpreter does.
RECORDER = """
import os, signal, sys
from warpline.recording import inside_program

class Signalled:
    def __init__(self, pid):
        self.pid = pid

    def execute(self, script):
        os.symlink(script, sys.argv[1] + ".next")
        os.rename(sys.argv[1] + ".next", sys.argv[1])
        os.kill(self.pid, signal.SIGUSR1)

    def withdraw(self):
        pass

inside_program._LEAVING_S = 60.0  # a busy machine may be slow
if sys.version_info < (3, 14):
    inside_program.scripted_program = Signalled
from warpline.cli import main
sys.exit(main(sys.argv[2:]))
"""


def test_ranges_come_from_a_program_that_runs_already_and_nothing_stays(tmp_path: Path) -> None:
    script, output = str(tmp_path / "script"), tmp_path / "run.h5"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WARPLINE_")}
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        with status_lines() as (statuses, number):
            command = ["attach", str(program.pid), "--inside", "--trace", "nvtx,steps", "-o", str(output)]
            recorder = subprocess.Popen(
                [sys.executable, "-c", RECORDER, script, *command, "--status-fd", str(number)],
                pass_fds=(number,),
                stderr=subprocess.PIPE,
                text=True,
            )
            spool = Path(json.loads(statuses.readline())["spool"])
            assert program.stdout.readline() == "joined\n"
            send_command(spool, "stop", timeout_s=60)
            _, errors = recorder.communicate(timeout=60)
        assert recorder.returncode == 0, errors
        assert program.stdout.readline() == "left True\n"
        program.communicate("\n", timeout=60)
        assert program.returncode == 7
    finally:
        program.kill()
        program.wait()
    with warpline.open(output) as capture:
        assert list(capture.events("range")["name"]) == ["inside"] * 100
        said = {source.name: source for source in capture.sources}
        assert said["nvtx"].enabled
        assert said["steps"].reason == "no recorded process imported PyTorch, Paddle or JAX"
    assert not list(tmp_path.glob("*.spool"))
