"""Import of Nsight SQLite exports against reading the same columns with ``fetchall``.

Run as a script: ``python tests/benchmarks/bench_nsys.py [--events N] [--file EXPORT.sqlite] [--smoke]``. The bar is a
ratio of at least 0.7: reading alone takes 70 % of the time the whole import takes.
"""

from __future__ import annotations

import argparse
import resource
import sqlite3
import tempfile
import time
from pathlib import Path

import numpy as np

from warpline.interchange import import_files

_COLUMNS = """
CUPTI_ACTIVITY_KIND_KERNEL start end deviceId contextId streamId correlationId globalPid demangledName shortName
  mangledName gridX gridY gridZ blockX blockY blockZ clusterX clusterY clusterZ registersPerThread staticSharedMemory
  dynamicSharedMemory localMemoryPerThread sharedMemoryExecuted graphNodeId graphId
CUPTI_ACTIVITY_KIND_RUNTIME start end eventClass globalTid correlationId nameId returnValue callchainId
CUPTI_ACTIVITY_KIND_MEMCPY start end deviceId contextId streamId correlationId globalPid bytes copyKind srcKind dstKind
  graphNodeId
NVTX_EVENTS start end eventType category color globalTid endGlobalTid textId domainId jsonTextId uint64Value int64Value
  uint32Value int32Value doubleValue floatValue text jsonText
SCHED_EVENTS start cpu isSchedIn globalTid threadState threadBlock
COMPOSITE_EVENTS id start cpu globalTid cpuCycles
SAMPLING_CALLCHAINS id symbol module stackDepth
StringIds id value
"""
_TABLES = {
    table: columns
    for table, *columns in (line.split() for line in _COLUMNS.replace("\n  ", " ").splitlines() if line)
}
"""Columns the import reads."""


def make_export(path: Path, events: int) -> Path:
    """A deterministic export of one process with as many rows, in the shares of a training run."""
    kernels, copies, calls = events // 4, events // 20, events * 2 // 5
    ranges = events - kernels - copies - calls
    tid = (7 << 24) + (8 << 24) + 8
    pid = tid & ~0xFFFFFF
    names = [(i, f"void kernel_{i}<float, (int){i}>(T1 *, int)") for i in range(400)]
    with sqlite3.connect(path) as out:
        out.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
        out.executemany("INSERT INTO StringIds VALUES (?, ?)", names)
        for table, columns in _TABLES.items():
            if table not in ("StringIds", "SCHED_EVENTS", "COMPOSITE_EVENTS", "SAMPLING_CALLCHAINS"):
                real = {"doubleValue", "floatValue"}
                text = {"text", "jsonText"}
                types = ("REAL" if c in real else "TEXT" if c in text else "INTEGER" for c in columns)
                out.execute(
                    f"CREATE TABLE {table} ({', '.join(map(' '.join, zip(columns, types, strict=True)))})"
                )
        base = np.arange(kernels) * 5_000 + 10**9
        rows = (
            (s, s + 3_000 + s % 977, 0, 1, 7 + i % 3, i, pid, i % 400, i % 40, i % 400, 64, 1 + i % 8, 1,
             128, 1, 1, 0, 0, 0, 32, 0, 1024, 0, 32768, None, 0)
            for i, s in enumerate(base.tolist())
        )  # fmt: skip
        _insert(out, "CUPTI_ACTIVITY_KIND_KERNEL", rows)
        spread = (events * 1250) // max(1, calls)
        _insert(
            out,
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            (
                (10**9 + i * spread, 10**9 + i * spread + spread // 2, 0, tid, i, i % 30, 0, None)
                for i in range(calls)
            ),
        )
        _insert(
            out,
            "CUPTI_ACTIVITY_KIND_MEMCPY",
            (
                (
                    10**9 + i * 20_000,
                    10**9 + i * 20_000 + 900,
                    0,
                    1,
                    9,
                    kernels + i,
                    pid,
                    4096 * (i % 9),
                    1,
                    1,
                    2,
                    None,
                )
                for i in range(copies)
            ),
        )
        spread = (events * 1250) // max(1, ranges)
        empty = (None,) * 8
        _insert(
            out,
            "NVTX_EVENTS",
            (
                (10**9 + i * spread, 10**9 + (i + (4 if i % 4 == 0 else 1)) * spread - 1, 59, None, None, tid,
                 None, None, 0, *empty[:7], f"aten::op_{i % 500}, op_id = {i // 3}", None)
                for i in range(ranges)
            ),
        )  # fmt: skip
    return path


def _insert(out: sqlite3.Connection, table: str, rows: object) -> None:
    marks = ",".join("?" * len(_TABLES[table]))
    out.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # type: ignore[arg-type]  # an iterable of tuples


def fetch_all(path: Path) -> int:
    """The yardstick: every column the import needs, one ``fetchall`` per table."""
    total = 0
    with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as connection:
        connection.text_factory = bytes
        for table, columns in _TABLES.items():
            have = {row[1].decode() for row in connection.execute(f"PRAGMA table_info({table})")}
            wanted = [column for column in columns if column in have]
            if wanted:
                quoted = ", ".join(f'"{column}"' for column in wanted)
                total += len(connection.execute(f"SELECT {quoted} FROM {table}").fetchall())
    return total


def measure(path: Path, folder: Path, repeat: int) -> None:
    """Prints one line of the table: the best of several runs of each, interleaved."""
    reading = importing = float("inf")
    rows = 0
    for _ in range(repeat):
        begin = time.perf_counter()
        rows = fetch_all(path)
        reading = min(reading, time.perf_counter() - begin)
        begin = time.perf_counter()
        import_files([path], folder / "out.h5")
        importing = min(importing, time.perf_counter() - begin)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = path.stat().st_size / 1e6
    figures = f"{reading:>9.2f} {importing:>9.2f} {rows / importing / 1e3:>9.0f} {reading / importing:>6.2f}"
    print(f"{path.name[:32]:32} {rows:>10,} {size:>8.1f} {figures} {peak:>9.0f}")


def main() -> None:
    """Measure a made-up export and, when asked, real ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--file", type=Path, action="append", default=[])
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    events, repeat = (20_000, 1) if args.smoke else (args.events, args.repeat)
    titles = f"{'fetch s':>9} {'import s':>9} {'krows/s':>9} {'ratio':>6} {'peak MB':>9}"
    print(f"{'export':32} {'rows':>10} {'MB':>8} {titles}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in args.file:
            measure(file, folder, repeat)
        measure(make_export(folder / "made.sqlite", events), folder, repeat)
    print("ratio: time of fetchall / time of the import; the bar is 0.70")


if __name__ == "__main__":
    main()
