"""What recording costs the program and the machine, and whether anything is lost.

    python tests/benchmarks/bench_recording.py [--pairs N] [--seconds S] [--smoke]

1. A training-like loop (numpy in the main process, loader workers in processes of their own) runs in interleaved pairs,
   with and without recording: slowdown beside the noise between runs without it, and the recorder's share of a core.
   Bars: at most 2 % of wall time; no slowdown outside the noise of 20 pairs.
2. Two processes that hand a byte to and fro switch as fast as they can; loss at 100 000 switches a second must be 0.
3. Nobody empties the rings until long after they overflow: what is in them and what is counted as lost must together be
   what the kernel counted.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from warpline.recording.sources.collector import Watched
from warpline.recording.sources.perf import records
from warpline.recording.sources.perf.collect import PerfCollector
from warpline.recording.spool.reader import SpoolFile
from warpline.storage import open_capture

TRAINING = """
import multiprocessing, sys, time
import numpy as np

def load(tasks, batches):
    rng = np.random.default_rng(0)
    for task in iter(tasks.get, None):
        batch = rng.standard_normal((64, 3 * 32 * 32), np.float32)
        batches.put((batch - batch.mean()) / batch.std())

if __name__ == "__main__":
    steps = int(sys.argv[1])
    context = multiprocessing.get_context("fork")
    tasks, batches = context.Queue(), context.Queue(4)
    workers = [context.Process(target=load, args=(tasks, batches)) for _ in range(2)]
    [worker.start() for worker in workers]
    [tasks.put(step) for step in range(steps)]
    weights = np.random.default_rng(1).standard_normal((3 * 32 * 32, 256), np.float32) * 0.01
    began = time.perf_counter()
    for _ in range(steps):
        batch = batches.get()
        hidden = np.maximum(batch @ weights, 0)
        weights -= 1e-6 * batch.T @ hidden
    print(time.perf_counter() - began)
    [tasks.put(None) for _ in workers]
    [worker.join() for worker in workers]
"""

PING_PONG = """
import json, os, resource, sys, time
rounds = int(sys.argv[1])
there, back = os.pipe(), os.pipe()
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
child = os.fork()
began = time.perf_counter()
if child == 0:
    for _ in range(rounds): os.read(there[0], 1); os.write(back[1], b"x")
    os._exit(0)
for _ in range(rounds): os.write(there[1], b"x"); os.read(back[0], 1)
_pid, _status, usage = os.wait4(child, 0)
own = resource.getrusage(resource.RUSAGE_SELF)
seconds = time.perf_counter() - began
print(json.dumps([own.ru_nvcsw + own.ru_nivcsw + usage.ru_nvcsw + usage.ru_nivcsw, seconds, os.getpid(), child]))
"""

WARPLINE = [sys.executable, "-m", "warpline", "record", "--quiet", "--trace", "cpu", "-o"]


def main() -> None:
    """Print one table for each part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=4.0, help="length of one run of the loop")
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        training_pairs(folder, 2 if args.smoke else args.pairs, 0.3 if args.smoke else args.seconds)
        rounds = 5_000 if args.smoke else 200_000
        switching(folder, rounds)
        provoked_loss(folder, max(rounds, 100_000))


def training_pairs(folder: Path, pairs: int, seconds: float) -> None:
    """Interleaved runs with and without recording."""
    script = folder / "training.py"
    script.write_text(TRAINING)
    probe = float(run([sys.executable, str(script), "60"]))
    steps = str(max(10, int(60 * seconds / probe)))
    plain, recorded, shares, switches = [], [], [], 0
    for pair in range(pairs):
        # Which comes first alternates, so that a machine getting warmer or busier favours neither.
        for with_recorder in (False, True) if pair % 2 else (True, False):
            program = [sys.executable, str(script), steps]
            if not with_recorder:
                plain.append(float(run(program)))
                continue
            took, share, switches = record_with_share(folder / "run.h5", program)
            recorded.append(took)
            shares.append(share)
    ratios = sorted(with_it / without for with_it, without in zip(recorded, plain, strict=True))
    noise = sorted(later / earlier for earlier, later in itertools.pairwise(plain))
    print(
        f"training loop, {pairs} interleaved pairs of {statistics.median(plain):.2f} s, {switches:,} events each"
    )
    print(f"  slowdown        median {statistics.median(ratios):.3f}   {spread(ratios)}")
    print(
        f"  noise           median {statistics.median(noise):.3f}   {spread(noise)}   (run after run without recording)"
    )
    print(f"  recorder        {statistics.median(shares):.2%} of one core (bar: 2 % of wall time)")


def record_with_share(output: Path, program: list[str]) -> tuple[float, float, int]:
    """The program's own time, the recorder's CPU share while the program ran, and the capture's events."""
    read, write = os.pipe()
    command = [*WARPLINE, str(output), "--status-fd", str(write), "--", *program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, pass_fds=(write,)) as recorder:
        os.close(write)
        first = last = (0.0, 0.0)
        events = 0
        with open(read) as statuses:
            for line in statuses:
                status = json.loads(line)
                if status["state"] == "recording":
                    last = (time.perf_counter(), cpu_seconds(recorder.pid))
                    first = first if first[0] else last
                events = status.get("events", events)
        assert recorder.stdout is not None
        took = float(recorder.stdout.read().split()[-1])
    share = (last[1] - first[1]) / (last[0] - first[0]) if last[0] > first[0] else float("nan")
    return took, share, events


def switching(folder: Path, rounds: int) -> None:
    """Loss while two processes switch as fast as they can."""
    command = [sys.executable, "-c", PING_PONG, str(rounds)]
    _count, plain, _pid, _child = json.loads(run(command))
    switches, seconds, pid, child = json.loads(run([*WARPLINE, str(folder / "run.h5"), "--", *command]))
    outs, lost = recorded_outs(folder / "run.h5", {pid, child})
    rate = switches / seconds
    print(f"hand to hand, {switches:,} switches at {rate:,.0f} a second (worst case x{seconds / plain:.2f})")
    print(f"  recorded {outs:,}, lost {lost:,}   (bar: 0 lost at 100,000 a second)")


def provoked_loss(folder: Path, rounds: int) -> None:
    """Loss when nobody empties the rings until it is too late."""
    release, hold = os.pipe()
    output, result = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(result, 1)
        os.read(release, 1)
        os.execv(sys.executable, [sys.executable, "-c", PING_PONG, str(rounds)])
    os.close(result)
    collector = PerfCollector(Watched(directory=folder, root_pid=pid))
    os.write(hold, b"x")
    with open(output) as lines:
        own, _seconds, _pid, _child = json.loads(lines.readline())
    os.waitpid(pid, 0)
    collector.close()
    perf = SpoolFile(folder / "perf.spool")
    got = len(perf.records(records.SWITCH, records.switch).values)
    lost = int(perf.records(records.LOST, records.lost).values["count"].sum())
    # Each time out is a record, and each time in; a last time out is none; names, forks and exits may be lost too.
    print(f"rings never emptied, {own:,} switches: {got:,} recorded + {lost:,} counted as lost")
    print(f"  = {got + lost:,} of about {2 * own:,} (difference {got + lost - 2 * own:+d})")


def recorded_outs(path: Path, pids: set[int]) -> tuple[int, int]:
    """How often threads of these processes left a core, as the capture has it, and how much was lost."""
    with open_capture(path) as capture:
        events = capture.events
        running = capture.strings.id("running")
        outs = 0
        for track in capture.tracks:
            if (
                track.role == "state"
                and track.process is not None
                and capture.processes[track.process].pid in pids
            ):
                rows = capture.rows_of_track(track.index)
                outs += int((events.name[rows] == running).sum())
        return outs, sum(source.lost for source in capture.sources)


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far."""
    return time.clock_gettime((~pid << 3) | 2)


def run(command: list[str]) -> str:
    """A program's output."""
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")[-2]


def spread(values: list[float]) -> str:
    """The middle half of sorted ratios."""
    return f"middle half {values[len(values) // 4]:.3f}–{values[-1 - len(values) // 4]:.3f}"


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
