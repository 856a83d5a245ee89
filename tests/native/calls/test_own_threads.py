"""Python counts its process's threads when it forks, to warn of it (since 3.12). Ours are not the program's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from warpline.recording.agent.trials import interpreters, version_of

PROGRAM = """
import ctypes, json, os, sys, threading, time

def listed():
    names = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/comm") as name:
                names.append(name.read().strip())
        except OSError:
            pass  # it ended just now
    return names

def told(opens, *how):
    opens.restype = ctypes.c_void_p
    file, line = ctypes.c_void_p(opens(*how)), ctypes.create_string_buffer(1024)
    length = libc.fread(line, 1, 1023, file)
    assert length and not libc.fclose(file)
    return line.value.decode().rpartition(") ")[2].split()

libc = ctypes.CDLL(None)
done = threading.Event()
threading.Thread(target=done.wait).start()
descriptors = os.listdir("/proc/self/fd")
until, answer = time.monotonic() + 60, None
while answer is None and time.monotonic() < until:
    names = listed()
    ours = names.count("warpline-agent")
    # As Python's own code opens it, and as anybody else does.
    fields = told(ctypes.pythonapi._Py_wfopen, "/proc/self/stat", "r")
    others = told(libc.fopen, b"/proc/self/stat", b"r")
    if ours and int(fields[17]) == len(names) - ours and int(others[17]) == len(names) == len(listed()):
        answer = fields[1] == others[1] == str(os.getppid()) and len(fields) == len(others)
assert os.listdir("/proc/self/fd") == descriptors
done.set()
while len(left := listed()) > left.count("warpline-agent") + 1:
    time.sleep(0)
if not os.fork():
    os._exit(0)
os.wait()
print(json.dumps([answer, names]))
"""


@pytest.mark.parametrize("warns", [False, True])
def test_python_does_not_count_our_threads_and_warns_of_none(tmp_path: Path, warns: bool) -> None:
    python = sys.executable
    if warns:
        newer = (path for path in interpreters() if version_of(path).startswith(("3.12", "3.13", "3.14")))
        python = next(newer, "")
    if not python:
        pytest.skip("no Python is installed that warns of forks")
    (tmp_path / "program.py").write_text(PROGRAM)
    recorder = [
        sys.executable,
        "-m",
        "warpline",
        "record",
        "-q",
        "--no-check",
        "-o",
        str(tmp_path / "x.h5"),
        "--",
    ]
    done = subprocess.run(
        [*recorder, python, "-W", "error", str(tmp_path / "program.py")],
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    answer, names = json.loads(done.stdout)
    assert answer, names
