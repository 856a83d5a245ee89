"""What a recording costs while it goes on, against the same process while it is paused.

    python tests/benchmarks/recording/bench_in_place.py [--seconds S] [--loads loop,ping_pong,make,server,training]
        [--torch PYTHON] [--set "default=" --set "no samples=--python-hz 0" …]

Processor time of whole runs varies by more than what is looked for: here one process does the same piece of work
hundreds of times, the recording paused and resumed by turns, and what came over the machine came over both. What stays
when a recording is paused (the agent in the process, hooks in frameworks, a start of Python) is not in it:
bench_waits.py has all, which matters for ``make`` most, whose processes have the agent in them either way. ``--set``
names options of ``warpline record``. PYTHON has PyTorch. Bars: 3 %, 15 % for ``ping_pong``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

PROGRAM = Path(__file__).parents[1] / "programs" / "switched_loads.py"
PACKAGES = Path(__file__).resolve().parents[3] / "capture"
BAR = 1.03


def measure(load: str, seconds: float, options: Sequence[str], interpreter: str = sys.executable) -> float:
    """The median of the ratios of pairs; prints it with its middle half."""
    with tempfile.TemporaryDirectory() as text:
        output = Path(text) / "run.h5"
        recorder = [sys.executable, "-m", "warpline", "record", "-q", "--no-check", "-o", str(output)]
        program = [interpreter, str(PROGRAM), load, str(seconds), f"{output}.spool"]
        variables = {**os.environ, "PYTHONPATH": str(PACKAGES)}
        command = [*recorder, *options, "--", *program]
        done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, check=True)
    costs: dict[str, list[int]] = json.loads(done.stdout)
    ratios = sorted(a / b for a, b in zip(costs["resume"], costs["pause"], strict=True))
    quarter = len(ratios) // 4
    half = f"{ratios[quarter]:.3f}–{ratios[-1 - quarter]:.3f}"
    means = statistics.fmean(costs["resume"]) / statistics.fmean(costs["pause"])
    on, off = (sorted(costs[command])[len(ratios) // 4] for command in ("resume", "pause"))
    median = statistics.median(ratios)
    print(f"  {median:.3f} ({half}; {len(ratios)} pairs)   means {means:.3f}   lower quarters {on / off:.3f}")
    return median


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--loads", default="loop,server")
    parser.add_argument("--torch", default=sys.executable)
    parser.add_argument("--set", action="append", dest="sets", metavar="NAME=OPTIONS")
    options = parser.parse_args()
    for load in options.loads.split(","):
        for chosen in options.sets or ["default="]:
            name, _, words = chosen.partition("=")
            print(f"{load}, {name}, load average {os.getloadavg()[0]:.1f}", flush=True)
            measure(
                load, options.seconds, words.split(), options.torch if load == "training" else sys.executable
            )


def test_in_place(bench_smoke: bool) -> None:
    median = measure("loop", 0.5 if bench_smoke else 30, ())
    assert bench_smoke or median <= BAR


if __name__ == "__main__":
    main()
