"""Cuts the connection of recordings on another machine at random moments, and looks for a difference.

``python -m tests.kills.cut_connections [--count 100] [--seed N]``; needs sshd. Each recording is cut up to five
times and resumed. Its output must be whole and in order, its capture valid and without losses. Nothing may stay behind.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.unit.recording.remote.conftest import old_python, ssh_server, warpline

from warpline.storage import open_capture

_LINES = 400
_MOST_MISSES = 10
"""How often a busy machine may say that nothing was started, until that is so."""
_PROGRAM = f"""
import sys, time
for number in range({_LINES}):
    print(number, flush=True)
    time.sleep(0.01)
"""


def main() -> int:
    """Cut until ``--count`` connections have been lost; 1 at the first difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    args = parser.parse_args()
    # Our folder goes, too, when we are ended.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    print(f"seed {args.seed}", flush=True)
    chance = random.Random(args.seed)
    cuts = 0
    with (
        tempfile.TemporaryDirectory(prefix="warpline-cuts-") as name,
        ssh_server(_made(name, "sshd")) as config,
    ):
        os.environ["XDG_CACHE_HOME"] = str(_made(name, "cache"))
        far = ("--via", f"ssh -T -F {config} box", *old_python())
        while cuts < args.count:
            made, problem = _one(far, Path(name) / "run.h5", chance)
            cuts += made
            print(f"{cuts} cuts: {problem or 'no difference'}", flush=True)
            if problem:
                return 1
    return 0


def _one(far: tuple[str, ...], output: Path, chance: random.Random) -> tuple[int, str]:
    """Record once; the number of cuts, and what was wrong."""
    trace = ("--no-check", "--trace", "cpu,osrt")
    words = warpline("record", *far, *trace, "-o", str(output), "--", "python3", "-c", _PROGRAM)
    printed, cuts, misses = b"", 0, 0
    while True:
        with subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as child:
            time.sleep(chance.uniform(0.2, 3))
            if cuts < 5:
                cuts += _cut(child.pid)
            part, errors = child.communicate(timeout=120)
        printed += part
        if child.returncode != 125:
            break
        if b"no recording started from this computer" in errors:
            # Cut before the program was started, or while the other end was about to start it.
            misses += 1
            if misses == _MOST_MISSES:
                return cuts, ""
        elif b"--resume" in errors:
            words = warpline("record", *far, "--resume", "--no-check")
        elif b"has several recordings" in errors:
            return cuts, f"an earlier one has begun after all: {errors.decode()}"
    lines = printed.decode().split()
    if child.returncode or lines != [str(number) for number in range(_LINES)]:
        return cuts, f"status {child.returncode}, {len(lines)} lines: {errors.decode()}"
    with open_capture(output) as capture:
        lost = {source.name: source.lost for source in capture.sources if source.lost}
        if lost or capture.meta["exit_status"] != 0:
            return cuts, f"lost {lost}"
    left = [path.name for path in output.parent.iterdir() if path.name.startswith("run.h5.")]
    left += [str(path) for path in Path(os.environ["XDG_CACHE_HOME"]).glob("warpline-remote/runs/*")]
    output.unlink()
    return cuts, f"left behind: {left}" if left else ""


def _cut(pid: int) -> int:
    """Kill the client of a recording; how many there were."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0
    killed = 0
    for child in children:
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            os.kill(int(child), signal.SIGKILL)
            killed += 1
    return killed


def _made(folder: str, name: str) -> Path:
    path = Path(folder) / name
    path.mkdir()
    return path


if __name__ == "__main__":
    sys.exit(main())
