"""The thread that samples reads through a pipe of its own, of which the program notices nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.recording.recording_tools import WARPLINE

PROGRAM = """
import ctypes, glob, json, os, threading, time

def agent():  # the thread that samples has been there from the beginning
    for task in sorted(glob.glob("/proc/self/task/*"), key=lambda path: int(path.rpartition("/")[2])):
        try:
            if open(task + "/comm").read().strip() == "warpline-agent":
                return task + "/fd"
        except FileNotFoundError:
            pass  # a thread that was joined, and goes

def open_in(folder):
    found = {}
    for number in os.listdir(folder):
        try:
            found[number] = os.readlink(f"{folder}/{number}")
        except FileNotFoundError:
            pass  # what lists them
    return found

def try_it():
    allowed.append(ctypes.CDLL(None).syscall(436, 1000, 1000, 2) == 0)

allowed = []
trial = threading.Thread(target=try_it)
trial.start()
trial.join()
ends, marker = os.pipe(), os.open("/dev/null", os.O_RDONLY)
there = agent()
until = time.monotonic() + 60
while there and allowed[0] and time.monotonic() < until:
    theirs = open_in(there)
    if str(marker) not in theirs and len(theirs) == 2:
        break
own = open_in("/proc/self/fd")
os.close(ends[1])
print(json.dumps([allowed[0], theirs if there and allowed[0] else {}, own, os.read(ends[0], 1) == b""]))
"""


def output_of(command: list[str]) -> str:
    """What it prints; the program goes with its recorder when that takes too long."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            output = process.communicate(timeout=100)[0]
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert process.returncode == 0
    return output


def test_the_sampler_keeps_nothing_of_the_programs_open_and_opens_nothing_in_it(tmp_path: Path) -> None:
    bare = [sys.executable, "-c", PROGRAM]
    recorder = [*WARPLINE, "record", "-q", "--no-check", "-o", str(tmp_path / "run.h5")]
    plain, recorded = (json.loads(output_of(command)) for command in (bare, [*recorder, "--", *bare]))
    assert recorded[2].keys() == plain[2].keys()
    assert recorded[3]  # nobody else held the end that was closed
    if not recorded[0]:
        pytest.skip("this kernel gives a thread no descriptors of its own")
    pipes = set(recorded[1].values())
    assert len(pipes) == 1
    assert all(pipe.startswith("pipe:") for pipe in pipes)
    assert not pipes & set(recorded[2].values())
