"""How fast spool files become a capture: events per second, beside sorting the same number of rows with numpy.

    python tests/benchmarks/bench_finalise.py [--events N] [--threads T] [--smoke]

The bar: at least 2 million events a second. Events are those of the capture: two switch records make up to four.
"""

from __future__ import annotations

import argparse
import resource
import struct
import tempfile
import time
from pathlib import Path

import numpy as np

from warpline.recording import records
from warpline.recording.finalise import finalise
from warpline.recording.perf_abi import MISC_SWITCH_OUT, MISC_SWITCH_OUT_PREEMPT
from warpline.recording.session import Options, Session
from warpline.recording.spool_writer import SpoolWriter


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=8_000_000)
    parser.add_argument("--threads", type=int, default=64)
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    events = 50_000 if args.smoke else args.events
    with tempfile.TemporaryDirectory() as folder:
        spool, output = Path(folder) / "x.spool", Path(folder) / "x.h5"
        spool.mkdir()
        switches = events // 2
        write_spool(spool, switches, args.threads)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began, cpu_began = time.perf_counter(), time.process_time()
        done = finalise(spool, output)
        seconds = time.perf_counter() - began
        cpu_seconds = time.process_time() - cpu_began
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        yardstick = numpy_yardstick(done.events)
        size = output.stat().st_size
    print(f"{'switch records':<28}{switches:>14,}")
    print(f"{'events in the capture':<28}{done.events:>14,}")
    print(f"{'finalise':<28}{seconds:>12.2f} s")
    print(f"{'':<28}{done.events / seconds / 1e6:>12.2f} M events/s  (bar: 2)")
    print(f"{'of that on a core':<28}{cpu_seconds:>12.2f} s")
    print(f"{'':<28}{done.events / cpu_seconds / 1e6:>12.2f} M events per second of a core")
    print(f"{'numpy yardstick, core time':<28}{yardstick:>12.2f} s   ratio {cpu_seconds / yardstick:.2f}")
    print(f"{'memory above the start':<28}{grown / done.events:>12.1f} B/event  (bar: 300 MB + 100 B/event)")
    print(f"{'file':<28}{size / done.events:>12.1f} B/event")


def write_spool(folder: Path, switches: int, threads: int) -> None:
    """A recording of threads that take turns on four cores, half preempted and half asleep in between."""
    cpus = 4
    start = 10**12
    per_cpu = switches // cpus
    writer = SpoolWriter(folder / "perf.spool", "perf")
    for tid in range(1, threads):
        writer.append_packed(records.FORK, struct.pack("<QIIII", start + tid, 100, 100 + tid, 100, 100))
    rng = np.random.default_rng(1)
    for cpu in range(cpus):
        # Each core has threads of its own, so that none runs on two at once.
        own = np.arange(cpu, threads, cpus)
        turns = per_cpu // 2
        rows = np.zeros(turns * 2, records.switch)
        rows["type"], rows["size"] = 14, 32
        rows["pid"], rows["cpu"] = 100, cpu
        rows["tid"] = np.repeat(100 + own[np.arange(turns) % len(own)], 2)
        rows["time_ns"] = start + 1000 + np.cumsum(rng.integers(500, 5000, turns * 2)).astype(np.uint64)
        out = np.where(rng.random(turns) < 0.5, MISC_SWITCH_OUT, MISC_SWITCH_OUT | MISC_SWITCH_OUT_PREEMPT)
        rows["misc"][1::2] = out
        for first in range(0, len(rows), 1 << 14):
            writer.append(records.SWITCH, rows[first : first + (1 << 14)])
        last = int(rows["time_ns"][-1])
    writer.close()
    session = Session(
        folder, folder, ("bench",), "/", start, 0, 1, 100, Options(), stop_monotonic_ns=last + 10_000_000
    )
    session.save()


def numpy_yardstick(events: int) -> float:
    """Core seconds to sort and copy columns of so many events: what no finaliser can do without."""
    rng = np.random.default_rng(2)
    start = rng.integers(0, 1 << 40, events)
    columns = [np.zeros(events, dtype) for dtype in ("<i8", "<i8", "<u4", "u1", "u1")]
    began = time.process_time()
    order = np.argsort(start)
    for column in columns:
        column[order].tobytes()
    return time.process_time() - began


if __name__ == "__main__":
    main()
