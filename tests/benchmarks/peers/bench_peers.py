"""Others beside Warpline, over the same input in the same run: one command, and whoever is not installed is left out.

    make peers [ARGS="--trace FILE"]             # installs them first
    python tests/benchmarks/peers/bench_peers.py [--events 1000000] [--trace FILE] [--peers PYTHON] [--runs 3] [--smoke]

Two tables. *Kernels by name* (count, total, mean, median, least, most): Warpline's `cuda_gpu_kern_sum` over a capture,
polars and duckdb over the same columns as a Parquet file. *A trace until it can be asked*: `warpline import` of a
Chrome or Kineto trace, Perfetto's trace processor, Holistic Trace Analysis, the loader of PyTorch's plugin for
TensorBoard. ``--peers`` names a Python that has them (`pip install polars duckdb pyarrow perfetto HolisticTraceAnalysis
torch-tb-profiler`), this one otherwise. Each runs in a process of its
own, start included; runs take turns. Peak memory is that of the process and its children.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[3])]

from tests.benchmarks.measuring import capture_of, table  # noqa: E402  # found through the path above

from warpline.storage import open_capture  # noqa: E402  # found through the path above

MISSING = 77
"""What a peer exits with that is not there; the reason is its last line."""

LONGEST_S = 120
"""Whoever takes longer is ended."""

GUARD = """
import sys
def missing(reason):
    print(reason)
    raise SystemExit(77)
"""

POLARS = (
    GUARD
    + """
try:
    import polars as pl
except ImportError:
    missing("polars is not installed")
d = pl.col("duration")
found = (
    pl.scan_parquet(sys.argv[1]).group_by("name")
    .agg(pl.len(), d.sum().alias("total"), d.mean().alias("mean"), d.median().alias("median"),
         d.min().alias("least"), d.max().alias("most"), d.std().alias("deviation"))
    .sort("total", descending=True).collect()
)
print(found["len"].sum(), found["total"].sum())
"""
)

DUCKDB = (
    GUARD
    + """
try:
    import duckdb
except ImportError:
    missing("duckdb is not installed")
rows = duckdb.sql(
    "select name, count(*), sum(duration), avg(duration), median(duration), min(duration), max(duration),"
    f" stddev(duration) from read_parquet('{sys.argv[1]}') group by name order by 3 desc"
).fetchall()
print(sum(row[1] for row in rows), sum(row[2] for row in rows))
"""
)

PERFETTO = (
    GUARD
    + """
try:
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig
except ImportError:
    missing("perfetto is not installed")
try:
    tp = TraceProcessor(trace=sys.argv[1], config=TraceProcessorConfig(load_timeout=120))
except Exception as error:  # whatever keeps it from starting is told
    missing(f"its trace processor does not start: {str(error).splitlines()[0][:80]}")
print(next(iter(tp.query("select count(*) as n from slice"))).n)
tp.close()
"""
)

HTA = (
    GUARD
    + """
try:
    from hta.trace_analysis import TraceAnalysis
except ImportError:
    missing("HolisticTraceAnalysis is not installed")
try:
    found = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="")
except Exception as error:  # whatever it stumbles over is told
    missing(f"it cannot read this trace: {type(error).__name__}")
print(len(found.t.get_trace(0)))
"""
)


TORCH_TB = (
    GUARD
    + """
try:
    from torch_tb_profiler import io
    from torch_tb_profiler.profiler.loader import RunLoader
except ImportError:
    missing("torch-tb-profiler is not installed")
import pathlib, tempfile
trace = pathlib.Path(sys.argv[1]).resolve()
with tempfile.TemporaryDirectory() as folder, io.Cache() as cache:
    ending = ".gz" if trace.suffix == ".gz" else ""
    pathlib.Path(folder, f"host_1.pt.trace.json{ending}").symlink_to(trace)
    profiles = list(RunLoader("run", folder, cache).load().profiles.values())
if not profiles:
    missing("it cannot read this trace")
print(len((profiles[0].operation_table_by_name or {"data": []})["data"]))
"""
)


@dataclass(frozen=True)
class Run:
    """One process: seconds by the clock and of the processor, its largest memory, and what it said last."""

    clock_s: float
    cpu_s: float
    peak_mb: float
    said: str
    status: int


@dataclass(frozen=True)
class Contender:
    """Who, and the command that does the work."""

    name: str
    command: tuple[str, ...]


def peak_kib(pid: int) -> int:
    """The most memory that a process and its children have had, added up.

    Not `ru_maxrss`: that begins with the memory of whoever started the process.
    """
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
        status = Path(f"/proc/{pid}/status").read_text("utf-8", "replace")
    except OSError:
        return 0
    own = sum(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
    return own + sum(peak_kib(int(child)) for child in children)


def run(command: Sequence[str]) -> Run:
    """Runs a command in a process of its own and waits for it."""
    with tempfile.TemporaryFile("w+") as out:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        alarm = threading.Timer(LONGEST_S, process.kill)
        alarm.start()
        peak, ended = 0, 0
        while not ended:
            peak = max(peak, peak_kib(process.pid))
            time.sleep(0.003)
            ended, waited, usage = os.wait4(process.pid, os.WNOHANG)
        alarm.cancel()
        clock = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(waited)
        out.seek(0)
        said = (out.read().strip().splitlines() or [""])[-1]
    return Run(clock, usage.ru_utime + usage.ru_stime, peak / 1024, said, process.returncode)


def compare(title: str, contenders: Sequence[Contender], runs: int) -> None:
    """Prints a line for each contender; medians of runs that take turns."""
    found: dict[str, list[Run]] = {one.name: [] for one in contenders}
    for _ in range(runs):
        for one in contenders:
            known = found[one.name]
            if not known or known[-1].status == 0:
                known.append(run(one.command))
    rows: list[list[object]] = []
    own = statistics.median(done.cpu_s for done in found[contenders[0].name])
    for name, done in found.items():
        if done[-1].status != 0:
            reason = done[-1].said if done[-1].status == MISSING else f"ended with {done[-1].status}"
            rows.append([name, "", "", "", "", f"left out: {reason[:90]}"])
            continue
        clock, cpu = (statistics.median(getattr(one, key) for one in done) for key in ("clock_s", "cpu_s"))
        peak = max(one.peak_mb for one in done)
        rows.append(
            [name, f"{clock:.2f} s", f"{cpu:.2f} s", f"{cpu / own:.1f}", f"{peak:.0f} MB", done[-1].said[:40]]
        )
    print(title)
    table(["", "clock", "processor", "× Warpline", "memory", "says"], rows)


def parquet_of(path: Path, python: str, out: Path) -> bool:
    """Names and durations of a capture's kernels as a Parquet file, written by the peers' pyarrow."""
    with open_capture(path) as capture:
        rows = capture.kinds["kernel"].rows
        ids, place = np.unique(capture.events.name[rows], return_inverse=True)
        (out / "texts.json").write_text(json.dumps([capture.strings[name] for name in ids.tolist()]))
        place.astype(np.int32).tofile(out / "name.bin")
        capture.events.duration[rows].tofile(out / "duration.bin")
    code = (
        "import json, sys, pathlib, numpy as np, pyarrow as pa, pyarrow.parquet as pq\n"
        "f = pathlib.Path(sys.argv[1])\n"
        "names = pa.DictionaryArray.from_arrays(np.fromfile(f / 'name.bin', np.int32),"
        " json.loads((f / 'texts.json').read_text()))\n"
        "pq.write_table(pa.table({'name': names, 'duration': np.fromfile(f / 'duration.bin', np.int64)}),"
        " f / 'kernels.parquet')\n"
    )
    return (
        subprocess.run([python, "-c", code, str(out)], check=False, stderr=subprocess.DEVNULL).returncode == 0
    )


def made_trace(path: Path, out: Path) -> Path:
    """The capture's first events as Chrome JSON, for whoever has no trace at hand."""
    trace = out / "trace.json"
    command = [sys.executable, "-m", "warpline", "export", str(path), str(trace)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return trace


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=Path("build/bench"))
    parser.add_argument(
        "--trace", type=Path, help="a trace of a profiler; otherwise the capture is exported as one"
    )
    parser.add_argument("--peers", default=sys.executable, help="a Python that has the others")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    events, runs = (20_000, 1) if options.smoke else (options.events, options.runs)
    options.folder.mkdir(parents=True, exist_ok=True)
    path = capture_of(options.folder, events)
    own = (sys.executable, "-m", "warpline")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        contenders = [
            Contender(
                "Warpline", (*own, "stats", "--report", "cuda_gpu_kern_sum", "--format", "csv", str(path))
            )
        ]
        if parquet_of(path, options.peers, out):
            parquet = str(out / "kernels.parquet")
            contenders += [
                Contender("polars", (options.peers, "-c", POLARS, parquet)),
                Contender("duckdb", (options.peers, "-c", DUCKDB, parquet)),
            ]
        else:
            print("polars and duckdb are left out: no pyarrow there to hand them the columns")
        compare(f"Kernels by name, capture of {events:,} events", contenders, runs)
        trace = options.trace or made_trace(path, out)
        made = str(out / "made.h5")
        compare(
            f"A trace of {trace.stat().st_size / 1e6:.0f} MB until it can be asked",
            [
                Contender("Warpline", (*own, "import", str(trace), "-o", made)),
                Contender("Perfetto", (options.peers, "-c", PERFETTO, str(trace))),
                Contender("HTA", (options.peers, "-c", HTA, str(trace))),
                Contender("torch_tb_profiler", (options.peers, "-c", TORCH_TB, str(trace))),
            ],
            runs,
        )
        print("Perfetto's page is left out: what a browser does until a trace stands there is not measured.")


if __name__ == "__main__":
    main()
