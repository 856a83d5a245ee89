"""One very large capture, opened, flown through, selected and summarised with little memory, page cache included.

    python tests/benchmarks/huge/bench_billion.py [--events 1000000000] [--folder DIR] [--cgroup GROUP] [--smoke]

Makes the capture where it is not there (29 GB for a billion events, and 25 GB more while it is made). ``--cgroup``
names a memory control group of yours (version 1 or 2): each step runs in it with 4 GB, which the pages of the file that
it looked at are part of. Every step is a process of its own: the frames of `timeline_worker`, a hand that drags a range
(`dragging`), and the command line.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[3])]

from tests.benchmarks.measuring import REPOSITORY, capture_of, table  # noqa: E402  # the path is known only now

from warpline.analysis.framework.options import Options  # noqa: E402  # likewise
from warpline.analysis.framework.registry import compute_report  # noqa: E402  # likewise
from warpline.analysis.framework.selection import Selection  # noqa: E402  # likewise
from warpline.storage import open_capture  # noqa: E402  # likewise

WORKER = REPOSITORY / "tests" / "benchmarks" / "timeline_worker.py"
MOVES = 40
LIMIT_BYTES = 4 << 30
STATS = (sys.executable, "-m", "warpline", "stats", "--format", "json", "--report")


def limited(command: Sequence[str | Path], cgroup: Path | None) -> list[str]:
    """The command, run in a control group that is held to `LIMIT_BYTES`."""
    plain = [str(part) for part in command]
    if cgroup is None:
        return plain
    limit = cgroup / "memory.max"
    limit = limit if limit.exists() else cgroup / "memory.limit_in_bytes"
    limit.write_text(str(LIMIT_BYTES))
    return ["sh", "-c", f'echo $$ > "{cgroup}/cgroup.procs" && exec "$@"', "sh", *plain]


def step(title: str, command: Sequence[str | Path], cgroup: Path | None) -> tuple[list[object], str]:
    """A row of the table (seconds by the clock and of the processor), and what the command printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    # Without an index of names that an earlier run left in the user's cache.
    with tempfile.TemporaryDirectory() as cache:
        environment["XDG_CACHE_HOME"] = cache
        done = subprocess.run(
            limited(command, cgroup), check=False, stdout=subprocess.PIPE, text=True, env=environment
        )
    clock = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    told = "" if done.returncode == 0 else f"failed with {done.returncode}"
    return [title, f"{clock:.1f} s", f"{spent:.1f} s", told], done.stdout


def dragging(path: Path) -> None:
    """Prints what a hand that drags the stop of a range costs: kernels by name without medians, then with them."""
    with open_capture(path) as capture:
        start, stop = capture.span
        first = start + (stop - start) // 10

        def timed(end: int, options: Options) -> tuple[float, float]:
            wall, cpu = time.perf_counter(), time.process_time()
            compute_report(capture, "kernel", Selection(first, end), options)
            return (time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3

        quick = Options(quick=True)
        made = timed(stop, quick)
        moves = [
            timed(first + (stop - first) * (move + MOVES) // (3 * MOVES), quick) for move in range(MOVES)
        ]
        rests = timed(first + (stop - start) // 10, Options())
    print(f"blocks made: {made[0]:.0f} ms (processor {made[1]:.0f})")
    for name, column in zip(("clock", "processor"), zip(*moves, strict=True), strict=True):
        ordered = sorted(column)
        print(f"a move, {name}: median {ordered[MOVES // 2]:.1f} ms, p95 {ordered[MOVES * 95 // 100]:.1f} ms")
    print(f"medians of a tenth: {rests[0]:.0f} ms (processor {rests[1]:.0f})")


def main() -> None:
    """Prints the size of the file, the frames and a line for each step."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=1_000_000_000)
    parser.add_argument("--folder", type=Path, default=Path("build/bench"))
    parser.add_argument("--file", type=Path, help="a capture that is there already")
    parser.add_argument("--cgroup", type=Path)
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--drag", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drag:
        dragging(options.drag)
        return
    events, frames = (20_000, 3) if options.smoke else (options.events, options.frames)
    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.file or capture_of(options.folder, events)
    with open_capture(path) as capture:
        count = len(capture.events)
    size = path.stat().st_size
    print(f"{path.name}: {count:,} events, {size / 1e9:.1f} GB, {size / count:.1f} B an event", flush=True)
    rows = []
    row, told = step(
        "open, pan and zoom", [sys.executable, WORKER, path, "--frames", str(frames)], options.cgroup
    )
    rows.append(row)
    if told:
        found = json.loads(told.splitlines()[-1])
        for name in ("pan", "zoom"):
            middle = {key: found[name][key]["p50"] for key in ("wall", "cpu")}
            late = {key: found[name][key]["p95"] for key in ("wall", "cpu")}
            print(
                f"{name}: median {middle['wall']:.1f} ms (processor {middle['cpu']:.1f}), "
                f"p95 {late['wall']:.1f} ms ({late['cpu']:.1f})"
            )
        print(
            f"first frame {found['first_s']:.2f} s after opening began; anonymous memory "
            f"{found['memory_first'][0] >> 20} MB then, {found['memory_end'][0] >> 20} MB at the end"
        )
    row, told = step("drag a range", [sys.executable, __file__, "--drag", path], options.cgroup)
    rows.append(row)
    print(told, end="")
    # Generated captures last 0.2 us for each event.
    part = ("--range", f"0:{events // 50}us")
    for title, command in (
        ("info", (sys.executable, "-m", "warpline", "info", path)),
        ("kernels of a tenth", (*STATS, "cuda_gpu_kern_sum", *part, path)),
        ("kernels of everything", (*STATS, "cuda_gpu_kern_sum", path)),
        ("calls of everything", (*STATS, "cuda_api_sum", path)),
    ):
        rows.append(step(title, command, options.cgroup)[0])
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    table(["step", "clock", "processor", ""], rows)
    print(f"largest resident memory of a step: {peak:,.0f} MB")


if __name__ == "__main__":
    main()
