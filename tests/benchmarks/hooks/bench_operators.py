"""What recording steps and operators costs a model of small operators of PyTorch, beside other profilers.

    WARPLINE_FRAMEWORKS_PYTHON=PYTHON python tests/benchmarks/hooks/bench_operators.py [--rounds N] [--steps N]
        [--whole ROUNDS] [--tools FOLDER]

CPU time of the process, all of its threads. First by turns inside one recorded process: nothing of ours (hooks taken
out, recording paused), everything that is on by default, operators alone, both, and torch.profiler without what it
does at its end; each for some 20 ms a round, in random order. With ``--whole``, whole processes as well, each tool once
a round, and a ratio is to the bare one of the same round; what a tool does at its end, and py-spy's own process, are
not in it. FOLDER has the packages viztracer and py-spy, such as the site-packages of an environment; those that are not
there are left out. Bars: default 1.02, operators 1.20.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

PROGRAMS = Path(__file__).parents[1] / "programs"
PACKAGES = Path(__file__).resolve().parents[3] / "capture"
RECORD = [sys.executable, "-m", "warpline", "record", "-q", "--no-check"]
DEFAULT = "cpu,nvml,nvtx,cuda,osrt,python,steps"
LOADS = {
    "add": "torch.add of 64 numbers",
    "forward": "forward of a small net",
    "step": "a step of it, with backward and optimiser",
}


def told(name: str, values: Sequence[float], bare: Sequence[float]) -> float:
    """The median of the ratios; prints it with its middle half."""
    ratios = sorted(value / other for value, other in zip(values, bare, strict=True))
    quarter = len(ratios) // 4
    median, best = statistics.median(ratios), min(values) / min(bare)
    half = f"{ratios[quarter]:.3f}–{ratios[-1 - quarter]:.3f}"
    print(f"  {name:32} {min(values) / 1e3:8.2f} us   ×{median:.3f} ({half})   best of each ×{best:.3f}")
    return median


def by_turns(python: str, load: str, rounds: int) -> dict[str, float]:
    """Ratios to the bare pieces of the same process, by setting."""
    with tempfile.TemporaryDirectory() as folder:
        output = f"{folder}/run.h5"
        recorder = [*RECORD, "--trace", f"{DEFAULT},torch"]
        program = [python, str(PROGRAMS / "operators_by_turns.py"), load, str(rounds), f"{output}.spool"]
        variables = {**os.environ, "PYTHONPATH": str(PACKAGES), "KINETO_LOG_LEVEL": "99"}
        done = subprocess.run(
            [*recorder, "-o", output, "--", *program], env=variables, stdout=subprocess.PIPE, check=True
        )
    costs: Mapping[str, list[float]] = json.loads(done.stdout)
    print(f"{LOADS[load]}, {rounds} rounds, load average {os.getloadavg()[0]:.1f}")
    return {name: told(name, values, costs["bare"]) for name, values in costs.items()}


def commands(python: str, steps: int, folder: str, tools: Path | None) -> dict[str, list[str]]:
    """How each tool runs the program."""
    program = [str(PROGRAMS / "small_operators.py"), str(steps)]
    record = [*RECORD, "-o", f"{folder}/x.h5", "--trace"]
    found = {
        "bare": [python, *program],
        "Warpline, default": [*record, DEFAULT, "--", python, *program],
        "Warpline, operators": [*record, "torch", "--", python, *program],
        "Warpline, default and operators": [*record, f"{DEFAULT},torch", "--", python, *program],
        "torch.profiler": [python, *program, "profiled"],
    }
    if tools is None:
        return found
    if (tools / "viztracer").is_dir():
        found["viztracer"] = [python, "-m", "viztracer", "--quiet", "-o", f"{folder}/v.json", "--", *program]
    py_spy = tools.parents[2] / "bin" / "py-spy"
    if py_spy.is_file():
        watch = [str(py_spy), "record", "-r", "100", "-f", "raw", "-o", f"{folder}/p", "--"]
        found["py-spy, 100 Hz"] = [*watch, python, *program]
    return found


def whole(python: str, steps: int, rounds: int, tools: Path | None) -> None:
    """Prints a table of whole processes."""
    found: dict[str, list[float]] = {}
    variables = {**os.environ, "KINETO_LOG_LEVEL": "99"}
    if tools is not None:
        variables["PYTHONPATH"] = str(tools)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name, command in commands(python, steps, folder, tools).items():
                done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
                lines = [line for line in done.stdout.splitlines() if line.startswith("step_ns=")]
                found.setdefault(name, []).append(float(lines[-1].partition("=")[2]))
                print(f"  {name:32} {found[name][-1] / 1e3:8.2f} us", file=sys.stderr, flush=True)
    print(f"whole processes of {steps} steps, {rounds} rounds, load average {os.getloadavg()[0]:.1f}")
    for name, values in found.items():
        told(name, values, found["bare"])


def test_operators_cost_little(bench_smoke: bool) -> None:
    import pytest

    python = os.environ.get("WARPLINE_FRAMEWORKS_PYTHON", "")
    if not python:
        pytest.skip("WARPLINE_FRAMEWORKS_PYTHON names no Python with PyTorch")
    ratios = by_turns(python, "forward", 2 if bench_smoke else 100)
    assert set(ratios) > {"default", "operators"}
    assert bench_smoke or ratios["operators"] <= 1.20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--loads", default=",".join(LOADS))
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--whole", type=int, default=0, metavar="ROUNDS")
    parser.add_argument("--tools", type=Path)
    chosen = parser.parse_args()
    python = os.environ["WARPLINE_FRAMEWORKS_PYTHON"]
    for load in filter(None, chosen.loads.split(",")):
        by_turns(python, load, chosen.rounds)
    if chosen.whole:
        whole(python, chosen.steps, chosen.whole, chosen.tools)


if __name__ == "__main__":
    main()
