"""How fast traces become captures, and in how much memory, beside sorting as many numbers with numpy.

    python tests/benchmarks/bench_import.py [--events N] [--stages] [--smoke]

The 216 k-event trace of the test data as it is (gzip), unpacked, and repeated, each time later (a made-up trace without
the data); then the largest Nsight SQLite export there. Every row is the command in a process of its own, its start
included; a second time tells processor time and memory, its peak without that of decoding processes, which only odd
traces begin. The bars: at least 250 MB of JSON a second, at most 0.4 s for the trace as it is, at most 300 MB + 60 B
per event. ``--stages`` prints for each trace what every part of its import takes (`importing/stages.py`), which costs a
little itself.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

TRACE = "torch/facebookresearch+HolisticTraceAnalysis/tests/data/df_index_resolver/df_index_resolver.json.gz"
COMMAND = Path(__file__).with_name("importing") / "command.py"
_SMALL = 100e6
"""Bytes of a file whose import is short enough to differ from one time to the next: the median of seven."""
_NUMBER = re.compile(rb'"(ts|correlation|id|External id)": (\d+)')


COLUMNS = (
    ("input", 30), ("events", 12), ("size", 10), ("import", 10), ("CPU", 10), ("speed", 10), ("events", 14),
    ("per CPU s", 14), ("numpy", 10), ("ratio", 8), ("peak", 10), ("bar", 10),
)  # fmt: skip


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--stages", action="store_true")
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    print("".join(f"{title:>{width}}" for title, width in COLUMNS))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if args.smoke:
            inputs = [(folder / "trace.json", 20_000), (folder / "trace.json.gz", 20_000)]
        else:
            inputs = [(folder / "trace.json.gz", 216_092), (folder / "trace.json", 216_092)]
            inputs.append((folder / f"{args.events / 1e6:.0f}M.json", args.events))
        for path, size in inputs:
            write_trace(path, size)
            print_row(path, folder, stages=args.stages)
            path.unlink()
        exports = sorted((data_folder() / "nsys").rglob("*.sqlite"), key=lambda path: path.stat().st_size)
        if exports:
            print_row(exports[-1], folder)


def print_row(path: Path, folder: Path, *, stages: bool = False) -> None:
    """Import one file by the command, in a process of its own, and print what it took."""
    output = str(folder / "out.h5")
    command = [sys.executable, "-P", "-m", "warpline", "import", str(path), "-o", output]
    walls = []
    for _ in range(7 if path.stat().st_size < _SMALL else 1):
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        walls.append(time.perf_counter() - began)
    wall = statistics.median(walls)
    probe = [sys.executable, "-P", str(COMMAND), str(path), output, *(["--stages"] if stages else [])]
    done = subprocess.run(probe, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    events = found["events"]
    yardstick = numpy_yardstick(events)
    print(
        f"{path.name[-29:]:>30}{events:>12,}{path.stat().st_size / 1e6:>7.1f} MB{wall:>8.2f} s"
        f"{found['cpu']:>8.2f} s{path.stat().st_size / 1e6 / wall:>5.0f} MB/s"
        f"{events / wall / 1e3:>7.0f} k ev/s{events / found['cpu'] / 1e3:>7.0f} k ev/s"
        f"{yardstick:>8.2f} s{wall / yardstick:>8.1f}"
        f"{found['peak_mb']:>7.0f} MB{300 + 60 * events / 1e6:>7.0f} MB"
    )
    if found["stages"]:
        print(found["stages"])


def write_trace(path: Path, events: int) -> int:
    """Write a trace of about so many events; returns how many."""
    pieces, per_piece = source_events(events)
    copies = max(1, round(events / per_piece))
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wb") as file:
        file.write(b'{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [')
        for copy in range(copies):
            file.write((b"," if copy else b"") + shifted(pieces, copy))
        file.write(b"]}")
    return copies * per_piece


def shifted(events: bytes, copy: int) -> bytes:
    """The events two seconds later per copy, with ids of their own."""
    if not copy:
        return events
    offsets = {b"ts": copy * 2_000_000}

    def later(match: re.Match[bytes]) -> bytes:
        return b'"%s": %d' % (match[1], int(match[2]) + offsets.get(match[1], copy * 10_000_000))

    return _NUMBER.sub(later, events)


def data_folder() -> Path:
    """The folder of real captures."""
    return Path(
        os.environ.get("WARPLINE_TEST_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data"
    )


def source_events(events: int) -> tuple[bytes, int]:
    """The text of a list of events, without brackets, and their number."""
    data = data_folder()
    if events >= 216_092 and (data / TRACE).is_file():
        text = gzip.decompress((data / TRACE).read_bytes())
        begin = text.index(b"[", text.index(b'"traceEvents"')) + 1
        return text[begin : text.rindex(b"]")], 216_092
    rows = [json.dumps(event) for step in range(min(events, 200_000) // 5) for event in made_up(step)]
    return ",\n".join(rows).encode(), len(rows)


def made_up(step: int) -> Iterator[dict[str, object]]:
    """Two nested operators, a launch, its kernel and the arrow between them."""
    at = 1_700_000_000_000_000 + step * 40
    thread = {"pid": 71, "tid": 71}
    for depth, name in enumerate(("aten::linear", "aten::addmm")):
        args = {"External id": step * 2 + depth, "Ev Idx": step, "Input Dims": [[64, 1024], [1024, 1024]]}
        yield {
            "ph": "X",
            "cat": "cpu_op",
            "name": name,
            **thread,
            "ts": at + depth,
            "dur": 30 - 2 * depth,
            "args": args,
        }
    launch = {"cbid": 211, "correlation": step}
    yield {
        "ph": "X",
        "cat": "cuda_runtime",
        "name": "cudaLaunchKernel",
        **thread,
        "ts": at + 5,
        "dur": 4,
        "args": launch,
    }
    yield {"ph": "s", "cat": "ac2g", "name": "ac2g", **thread, "ts": at + 5, "id": step}
    work = {
        "device": 0,
        "context": 1,
        "stream": 7,
        "correlation": step,
        "grid": [8, 1, 1],
        "block": [128, 1, 1],
    }
    yield {
        "ph": "X",
        "cat": "kernel",
        "name": "gemm",
        "pid": 0,
        "tid": 7,
        "ts": at + 12,
        "dur": 25,
        "args": work,
    }


def numpy_yardstick(events: int) -> float:
    """Seconds to sort as many random 64-bit numbers and gather three columns in that order."""
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 1 << 60, events) for _ in range(3)]
    began = time.perf_counter()
    order = np.argsort(columns[0], kind="stable")
    for column in columns:
        column[order]
    return time.perf_counter() - began


def test_bench_import(monkeypatch: object) -> None:
    """Runs under ``make bench``."""
    del monkeypatch
    smoke = ["--smoke"] if os.environ.get("WARPLINE_BENCH_SMOKE") == "1" else []
    subprocess.run([sys.executable, __file__, *smoke], check=True)


if __name__ == "__main__":
    main()
