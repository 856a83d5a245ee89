"""How fast each format becomes a capture: made files of many events, the largest real files, the formats' own tools.

    python tests/benchmarks/bench_formats.py [--events N] [--only TEXT]… [--smoke]

Every row is an import in a process of its own; CPU is its processor time without the start of Python. ``decoder``
is the speed of the protobuf loop and the tables it fills; the bar is 250 MB a second. Memory: 300 MB + 60 B per event.
``own tool`` is the processor time of what the format comes with, where it is installed: ``perf script``,
``trace-cmd report``. It starts within that time, and prints text that nobody reads.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY)]
from tests.benchmarks.importing.made_files import MADE  # noqa: E402  # a script finds `tests` by the line above

PATTERNS = {
    "XPlane": "xplane/**/*.xplane.pb", "Perfetto": "perfetto/**/*trace", "Perfetto, Chrome": "perfetto/**/*.pftrace",
    "rocmProfileData": "rocm/**/*.rpd", "rocprofv3 JSON": "rocm/**/*_results.json.gz",
    "Nsight recipe": "nsys_recipe/**/*.parquet", "Ascend database": "ascend/**/*.db",
    "perf.data": "perf_data/**/perf.data.*[0-9]", "trace.dat": "ftrace/**/*.dat",
}  # fmt: skip
OWN_TOOLS = {"perf.data": ("perf", "script", "-i"), "trace.dat": ("trace-cmd", "report", "-i")}
_PROBE = """
import json, re, sys, time
from warpline.interchange import import_files
began = time.process_time()
import_files([sys.argv[1]], sys.argv[2])
cpu = time.process_time() - began
# Not ru_maxrss, which a process inherits from the one that started it.
peak = int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) / 1024
from warpline.storage import open_capture
with open_capture(sys.argv[2]) as capture:
    print(json.dumps({"events": len(capture.events), "cpu": cpu, "peak": peak}))
"""


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--only", action="append", help="part of a title")
    args = parser.parse_args()
    titles = (
        ("format", 24), ("size", 11), ("events", 11), ("CPU", 9), ("speed", 11), ("events a second", 17), ("numpy", 9),
        ("peak", 9), ("bar", 9), ("decoder", 13), ("own tool", 10),
    )  # fmt: skip
    print("".join(f"{title:>{width}}" for title, width in titles))

    def wanted(title: str) -> bool:
        return not args.only or any(part.lower() in title.lower() for part in args.only)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for title, (file, make) in MADE.items():
            if wanted(title):
                make(folder / file, 1000 if args.smoke else args.events)
                print_row(title, folder / file, folder)
                (folder / file).unlink()
        if args.smoke:
            return
        for title, pattern in PATTERNS.items():
            files = sorted(data_folder().glob(pattern), key=lambda path: path.stat().st_size)
            if files and wanted(f"{title}, real"):
                print_row(f"{title}, real", files[-1], folder)


def print_row(title: str, path: Path, folder: Path) -> None:
    """Import one file and print what it took."""
    command = [sys.executable, "-P", "-c", _PROBE, str(path), str(folder / "out.h5")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    events, size = found["events"], path.stat().st_size / 1e6
    decoder = f"{decoder_speed(path):>8.0f} MB/s" if title.startswith("Perfetto") else f"{'':>13}"
    print(
        f"{title:>24}{size:>8.1f} MB{events:>11,}{found['cpu']:>7.2f} s{size / found['cpu']:>6.0f} MB/s"
        f"{events / found['cpu'] / 1e3:>13.0f} k/s{numpy_yardstick(events):>7.2f} s{found['peak']:>6.0f} MB"
        f"{300 + 60 * events / 1e6:>6.0f} MB{decoder}{own_tool(title, path):>10}",
        flush=True,
    )


def own_tool(title: str, path: Path) -> str:
    """The processor time of the format's own tool, "" without one."""
    command = next((own for name, own in OWN_TOOLS.items() if title.startswith(name)), None)
    if command is None or shutil.which(command[0]) is None:
        return ""
    before = os.times()
    done = subprocess.run(
        [*command, str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    after = os.times()
    used = after.children_user - before.children_user + after.children_system - before.children_system
    return f"{used:.2f} s" if done.returncode == 0 else "failed"


def decoder_speed(path: Path) -> float:
    """MB of a Perfetto trace that become tables in a second of a processor."""
    from warpline.interchange.framework.messages.message_tables import MessageReader
    from warpline.interchange.perfetto.schemas import PACKET

    content = path.read_bytes()
    content = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
    content *= max(1, (32 << 20) // len(content))
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        for _tables in MessageReader(io.BytesIO(content), PACKET):
            pass
        best = min(best, time.process_time() - began)
    return len(content) / 1e6 / best


def data_folder() -> Path:
    """The folder of real captures."""
    return Path(os.environ.get("WARPLINE_TEST_DATA") or REPOSITORY.parent / "shared" / "data")


def numpy_yardstick(events: int) -> float:
    """Seconds of a processor to sort as many random 64-bit numbers and gather three columns in that order."""
    columns = [np.random.default_rng(1).integers(0, 1 << 60, events) for _ in range(3)]
    began = time.process_time()
    order = np.argsort(columns[0], kind="stable")
    for column in columns:
        column[order]
    return time.process_time() - began


def test_bench_formats() -> None:
    """Runs under ``make bench``."""
    smoke = ["--smoke"] if os.environ.get("WARPLINE_BENCH_SMOKE") == "1" else []
    subprocess.run([sys.executable, __file__, *smoke], check=True)


if __name__ == "__main__":
    main()
