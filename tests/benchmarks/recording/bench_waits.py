"""What the default set of sources costs programs that wait, beside other profilers where they are installed.

    python tests/benchmarks/recording/bench_waits.py [--pairs 20] [--seconds S] [--loads loop,make,…] [--tools FOLDER]
        [--others N] [--torch PYTHON]

Each load runs bare and recorded in interleaved rounds; CPU time is that of the program and its children, as the kernel
counts it, and the ratio that of a round; beside it that of the fastest runs, which others disturbed least. What the
recorder itself uses, and how much is written, stand beside it. ``py-spy`` and ``viztracer`` are taken from FOLDER/bin,
or from the path; the training runs with the interpreter PYTHON and is left out where that has no PyTorch. Its own
profiler (torch.profiler, around all steps) is beside it. The other profilers run in every N-th round. Bars: at most 3 %
of CPU time, 15 % where threads do nothing but take locks.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).parents[1] / "programs"
SIZES = {
    "loop": 6_000_000,
    "ping_pong": 4_000_000,
    "hand_over": 60_000,
    "server": 1_200,
    "make": 40,
    "training": 300,
}
SMOKE_SIZES = {"loop": 1000, "ping_pong": 1000, "hand_over": 10, "server": 2, "make": 2, "training": 2}
BARS = dict.fromkeys(SIZES, 1.03) | {"ping_pong": 1.15, "hand_over": 1.15}
BARE, RECORDED, PY_SPY, VIZTRACER = "bare", "warpline", "py-spy 100 Hz", "viztracer"
TORCH_PROFILER = "torch.profiler"


@dataclass(frozen=True)
class Run:
    """What one run cost: the program's CPU and wall seconds, that of all around it, and bytes written."""

    cpu_s: float
    wall_s: float
    around_s: float
    written_bytes: int


def load_command(name: str, size: int, folder: Path, torch: str) -> list[str]:
    """The command of a load; what it needs is made in a folder. ``torch`` is the interpreter that has it."""
    if name == "training":
        return [torch, str(PROGRAMS / "training_load.py"), str(size)]
    if name != "make":
        return [sys.executable, str(PROGRAMS / "waiting_loads.py"), name, str(size)]
    for number in range(size):
        lines = "".join(f"int f{number}_{i}(int x) {{ return x * {i} + {number}; }}\n" for i in range(200))
        (folder / f"part{number}.c").write_text(f"#include <stdio.h>\n#include <stdlib.h>\n{lines}")
    objects = " ".join(f"part{number}.o" for number in range(size))
    (folder / "Makefile").write_text(f"all: {objects}\n%.o: %.c\n\tcc -O1 -c $< -o $@\n")
    return ["make", "-C", str(folder), "-j2", "-s", "-B"]


def run(tool: str, command: Sequence[str], folder: Path) -> Run:
    """Runs a command under a tool. Raises RuntimeError when it fails."""
    cost, output = folder / "cost.json", folder / "output"
    measured = [sys.executable, "-S", str(PROGRAMS / "costs_of_a_command.py"), str(cost)]
    if tool == RECORDED:
        recorder = [sys.executable, "-m", "warpline", "record", "-q", "-o", f"{output}.h5", "--"]
        whole = [*recorder, *measured, *command]
    elif tool == PY_SPY:
        whole = ["py-spy", "record", "--subprocesses", "-r", "100", "-f", "raw", "-o", str(output), "--"]
        whole += [*measured, *command]
    elif tool == TORCH_PROFILER:
        whole = [*measured, *command, f"{output}.json"]
    elif tool == VIZTRACER:
        whole = [*measured, "viztracer", "-o", f"{output}.json", "--", *command[1:]]
    else:
        whole = [*measured, *command]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(whole, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not cost.exists():
        raise RuntimeError(f"{tool}: {done.stderr.decode()[-300:]}")
    told = json.loads(cost.read_text())
    cost.unlink()
    written = 0
    for path in folder.glob("output*"):
        written += path.stat().st_size
        path.unlink()
    whole_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(told["cpu_s"], told["wall_s"], whole_s - told["cpu_s"], written)


def tools_for(name: str) -> list[str]:
    """The tools that are there and understand a load; the bare run is the first."""
    found = [BARE, RECORDED]
    if name != "make":
        found += [PY_SPY] if shutil.which("py-spy") else []
        found += [VIZTRACER] if shutil.which("viztracer") and name != "training" else []
    return [*found, TORCH_PROFILER] if name == "training" else found


def can_run(name: str, torch: str) -> bool:
    """Whether what a load needs is here."""
    if name == "make":
        return shutil.which("make") is not None and shutil.which("cc") is not None
    if name == "training":
        return (
            subprocess.run([torch, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode
            == 0
        )
    return True


def measure(
    name: str,
    size: int,
    pairs: int,
    torch: str = sys.executable,
    seconds: float = float("inf"),
    others: int = 1,
) -> float:
    """Prints the table of a load; returns the median ratio of the recorded runs. No round begins after ``seconds``."""
    began, rounds = time.perf_counter(), 0
    runs: dict[str, dict[int, Run]] = {tool: {} for tool in tools_for(name)}
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        command = load_command(name, size, folder, torch)
        while rounds < pairs and (rounds == 0 or time.perf_counter() - began < seconds):
            rounds += 1
            # To and fro, so that none always runs on a machine that the same other one has warmed or filled.
            for tool in list(runs)[:: 1 if rounds % 2 else -1]:
                if tool not in {BARE, RECORDED} and (rounds - 1) % others:
                    continue
                try:
                    runs[tool][rounds] = run(tool, command, folder)
                except RuntimeError as error:
                    print(f"  {error}")
                    del runs[tool]
    print(f"\n{name} ({size:,}), {rounds} rounds; medians", flush=True)
    print(
        f"  {'':14} {'CPU s':>8} {'ratio':>7} {'middle half':>15} {'fastest':>8} {'around, s':>10} {'MB/s':>8}   rounds"
    )
    median = 1.0
    for tool, own in runs.items():
        ratios = sorted(one.cpu_s / runs[BARE][number].cpu_s for number, one in own.items())
        found = list(own.values())
        cpu, around = (statistics.median(getattr(one, key) for one in found) for key in ("cpu_s", "around_s"))
        speed = statistics.median(one.written_bytes / one.wall_s for one in found) / 1e6
        quarter = len(ratios) // 4
        half = f"{ratios[quarter]:.3f}–{ratios[-1 - quarter]:.3f}"
        fastest = min(one.cpu_s for one in found) / min(runs[BARE][number].cpu_s for number in own)
        middle = f"{statistics.median(ratios):7.3f} {half:>15} {fastest:8.3f}"
        print(f"  {tool:14} {cpu:8.3f} {middle} {around:10.3f} {speed:8.2f}   {len(own)}")
        if tool == RECORDED:
            median = statistics.median(ratios)
    print(f"  bar {BARS[name]:.2f}: {'held' if median <= BARS[name] else 'not held'}")
    return median


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="a load: only the rounds that fit"
    )
    parser.add_argument("--loads", default=",".join(SIZES))
    parser.add_argument("--tools", type=Path, help="a virtual environment with py-spy and viztracer")
    parser.add_argument("--torch", default=sys.executable, help="an interpreter that has PyTorch")
    parser.add_argument("--others", type=int, default=1, help="other profilers run in every N-th round")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    if options.tools:
        os.environ["PATH"] = f"{options.tools}/bin:{os.environ['PATH']}"
    sizes = SMOKE_SIZES if options.smoke else SIZES
    began = time.perf_counter()
    for name in options.loads.split(","):
        if can_run(name, options.torch):
            measure(name, sizes[name], options.pairs, options.torch, options.seconds, options.others)
        else:
            print(f"\n{name}: not here")
    print(
        f"\n{time.perf_counter() - began:.0f} s; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )


def test_waits(bench_smoke: bool) -> None:
    pairs = 1 if bench_smoke else 20
    sizes = SMOKE_SIZES if bench_smoke else SIZES
    for name, size in sizes.items():
        if not can_run(name, sys.executable):
            continue
        median = measure(name, size, pairs)
        assert bench_smoke or median <= BARS[name]


if __name__ == "__main__":
    main()
