"""A program that becomes another where the agent cannot be read, as in a sandbox: no loader is asked to preload it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from warpline.recording.agent.library import agent_library

AGENT = agent_library().path

pytestmark = pytest.mark.skipif(
    AGENT is None or sys.platform != "linux", reason="the agent is not built here"
)

PROGRAM = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
path, words = ctypes.c_char_p(b"/usr/bin/env"), [b"env", b"-u", b"LC_CTYPE"]
texts = lambda given: (ctypes.c_char_p * (len(given) + 1))(*given, None)
agent = os.environ["WARPLINE_AGENT"]
other = ["LD_PRELOAD=" + agent, "A=1"]
own = texts([name.encode() for name in other])
ways = [
    lambda: libc.execve(path, texts(words), own),
    lambda: libc.execvpe(ctypes.c_char_p(b"env"), texts(words), own),
    lambda: libc.fexecve(os.open(path.value, os.O_RDONLY), texts(words), own),
    lambda: libc.execle(path, *map(ctypes.c_char_p, words), None, own),
    lambda: libc.execv(path, texts(words)),
    lambda: libc.execvp(ctypes.c_char_p(b"env"), texts(words)),
    lambda: libc.execl(path, *map(ctypes.c_char_p, words), None),
    lambda: libc.execlp(ctypes.c_char_p(b"env"), *map(ctypes.c_char_p, words), None),
]
if sys.argv[1] == "gone":
    os.unlink(agent)
for number, way in enumerate(ways):
    print("way", number, flush=True)
    child = os.fork()
    if not child:
        way()
        os._exit(99)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("is_gone", [True, False])
def test_programs_that_cannot_read_the_agent_do_not_preload_it(tmp_path: Path, is_gone: bool) -> None:
    assert AGENT is not None
    copy, beside = Path(shutil.copy(AGENT, tmp_path)), tmp_path / "libbeside.so"
    shutil.copy(AGENT, beside)
    done = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM, "gone" if is_gone else "there"],
        env={"PATH": os.environ["PATH"], "LD_PRELOAD": f"{beside} {copy}", "WARPLINE_AGENT": str(copy)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    ways = done.stdout.split("way ")[1:]
    assert len(ways) == 8
    with_own = ["A=1"] if is_gone else [f"LD_PRELOAD={copy}", "A=1"]
    for way in ways[:4]:
        assert way.splitlines()[1:] == with_own
    kept = str(beside) if is_gone else f"{beside} {copy}"
    for way in ways[4:]:
        assert f"LD_PRELOAD={kept}" in way.splitlines()
