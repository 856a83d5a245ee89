"""What the agent adds to single calls: below the threshold, written down, written down with ten Python frames.

    python tests/benchmarks/recording/bench_calls.py [--calls N] [--spool DIR]

CPU time of the calling thread, the best of fifteen rounds, less what the same calls cost without the agent; the
spool is written to a disk. Bars, in ns: below the threshold 60, a mutex taken and given back 10, recorded 300, recorded
with ten Python frames 600.
"""

from __future__ import annotations

import argparse
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from warpline.recording.agent.library import agent_library

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(__file__).parents[1] / "programs" / "call_costs.c"
FROM_PYTHON = """
import ctypes, sys, time
library = ctypes.PyDLL(sys.argv[1])
library.call_cost.restype = ctypes.c_double
def deep(depth):
    return deep(depth - 1) if depth else library.call_cost(b"read", int(sys.argv[2]))
time.sleep(0.3)  # by then the agent has looked at this Python
print(deep(8))
"""
NEVER, ALWAYS = "threshold=1000000000", "threshold=0"


def session(folder: Path, number: int, options: str) -> dict[str, str]:
    """The environment of a program that is recorded, in a new spool directory."""
    spool = folder / f"{number}.spool"
    spool.mkdir()
    page = struct.pack("<8sIIQIIQ", b"WLCTRL01", 1, 0, time.monotonic_ns(), 8 | 16, 0, 0)
    (spool / "control").write_bytes(page.ljust(4096, b"\0"))
    agent = str(agent_library().path)
    return {
        **os.environ,
        "WARPLINE_SPOOL": str(spool),
        "WARPLINE_AGENT": agent,
        "LD_PRELOAD": agent,
        "WARPLINE_OSRT": options,
        "WARPLINE_PYTHON": "hz=0",
    }


def cost_ns(command: list[str], environment: Mapping[str, str]) -> float:
    """What a program prints."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def measure(calls: int, place: Path) -> dict[str, tuple[float, float]]:
    """By what is measured, what the agent adds and the bar, in ns."""
    with tempfile.TemporaryDirectory(prefix="bench-calls-", dir=place) as text:
        folder = Path(text)
        program, library = folder / "call_costs", folder / "call_costs.so"
        for output, options in ((program, ()), (library, ("-shared", "-fPIC"))):
            subprocess.run(["cc", "-O2", "-pthread", *options, "-o", output, PROGRAM], check=True)
        numbers = iter(range(100))

        def added(command: list[str], options: str) -> float:
            bare = cost_ns(command, os.environ)
            return cost_ns(command, session(folder, next(numbers), options)) - bare

        read, mutex, semaphore = ([str(program), what, str(calls)] for what in ("read", "mutex", "semaphore"))
        python = [sys.executable, "-c", FROM_PYTHON, str(library), str(calls)]
        return {
            "read, below the threshold": (added(read, NEVER), 60),
            "mutex taken and given back": (added(mutex, NEVER), 10),
            "semaphore taken and given back": (added(semaphore, NEVER), 60),
            "read, recorded": (added(read, ALWAYS), 300),
            "read, recorded, ten Python frames": (added(python, f"{ALWAYS},longer=0"), 600),
        }


def show(found: Mapping[str, tuple[float, float]]) -> None:
    """The table."""
    for what, (value, bar) in found.items():
        print(f"  {what:<38}{value:>8.1f} ns   bar {bar:>4.0f}{'' if value <= bar else '   not held'}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--spool", type=Path, help="a folder on the disk to measure (default: build/)")
    options = parser.parse_args()
    place = options.spool or ROOT / "build"
    place.mkdir(exist_ok=True)
    show(measure(options.calls, place))


def test_calls(bench_smoke: bool, tmp_path: Path) -> None:
    found = measure(100 if bench_smoke else 20_000, tmp_path)
    show(found)
    assert bench_smoke or all(value <= bar for value, bar in found.values())


if __name__ == "__main__":
    main()
