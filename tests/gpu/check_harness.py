"""Checks that misbehave on purpose, to show that the others go on and that what comes back stays small. No GPU."""

from __future__ import annotations

import ctypes
import os
import sys
import time

from tests.gpu.checking import Bench, NotHere

SLEEP = "import time; time.sleep(1000)"
STUBBORN = f"""
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
print("hanging", flush=True)
{SLEEP}
"""


def check_hangs(bench: Bench) -> None:
    """A program that ignores signals and has a child in another session; then a check that ignores its own limit."""
    bench.tell("before", "written")
    try:
        bench.run([sys.executable, "-c", STUBBORN], seconds=2)
    except TimeoutError as error:
        bench.expect("a program that hangs is killed", True, "killed after 2 s" in str(error))
    time.sleep(1000)


def check_crashes(bench: Bench) -> None:
    bench.tell("before", "written")
    ctypes.string_at(0)


def check_breaks(bench: Bench) -> None:
    raise RuntimeError("on purpose")


def check_floods(bench: Bench) -> None:
    """More evidence and more output than may come back."""
    for number in range(4):
        (bench.folder / f"{number}.bin").write_bytes(os.urandom(3 << 20))
    (bench.folder / "large.bin").write_bytes(os.urandom(5 << 20))
    buffer = (100_000).to_bytes(8, "little") + os.urandom(100_000)
    (bench.folder / "buffers.raw").write_bytes(buffer * 40)
    bench.run([sys.executable, "-c", "print('x' * (20 << 20))"])


def check_leaves_a_process(bench: Bench) -> None:
    command = (
        f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEP!r}], start_new_session=True)"
    )
    bench.run([sys.executable, "-c", command])


def check_cannot_run(bench: Bench) -> None:
    raise NotHere("on purpose")


def check_passes(bench: Bench) -> None:
    bench.expect("one and one", 2, 1 + 1)
