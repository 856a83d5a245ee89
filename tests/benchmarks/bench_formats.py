"""How fast each format becomes a capture: its largest real file, and made-up Perfetto traces of many events.

    python tests/benchmarks/bench_formats.py [--events N] [--smoke]

Every row is an import in a process of its own; CPU is its processor time without the start of Python. ``decoder``
is the speed of the protobuf loop and the tables it fills; the bar is 250 MB a second. Memory: 300 MB + 60 B per event.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[2]
PATTERNS = {
    "XPlane": "xplane/**/*.xplane.pb", "Perfetto": "perfetto/**/*trace", "rocmProfileData": "rocm/**/*.rpd",
    "rocprofv3 JSON": "rocm/**/*_results.json.gz", "Nsight recipe": "nsys_recipe/**/*.parquet",
    "Ascend database": "ascend/**/*.db",
}  # fmt: skip
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
    args = parser.parse_args()
    titles = (
        ("format", 24),
        ("size", 11),
        ("events", 11),
        ("CPU", 9),
        ("per CPU s", 13),
        ("numpy", 9),
        ("peak", 9),
    )
    print("".join(f"{title:>{width}}" for title, width in (*titles, ("bar", 9), ("decoder", 13))))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = folder / "made.pftrace"
        made.write_bytes(track_events(10_000 if args.smoke else args.events))
        print_row("Perfetto, slices", made, folder, decoded=True)
        if args.smoke:
            return
        for title, pattern in PATTERNS.items():
            files = sorted(data_folder().glob(pattern), key=lambda path: path.stat().st_size)
            if files:
                print_row(title, files[-1], folder, decoded=title == "Perfetto")


def print_row(title: str, path: Path, folder: Path, *, decoded: bool = False) -> None:
    """Import one file and print what it took."""
    command = [sys.executable, "-P", "-c", _PROBE, str(path), str(folder / "out.h5")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    events, size = found["events"], path.stat().st_size / 1e6
    print(
        f"{title:>24}{size:>8.1f} MB{events:>11,}{found['cpu']:>7.2f} s{events / found['cpu'] / 1e3:>10.0f} k/s"
        f"{numpy_yardstick(events):>7.2f} s{found['peak']:>6.0f} MB{300 + 60 * events / 1e6:>6.0f} MB"
        + (f"{decoder_speed(path):>8.0f} MB/s" if decoded else "")
    )


def decoder_speed(path: Path) -> float:
    """MB of a Perfetto trace that become tables in a second of a processor."""
    from warpline.interchange.framework.messages.message_tables import MessageReader
    from warpline.interchange.perfetto.schemas import PACKET

    content = path.read_bytes()
    content *= max(1, (32 << 20) // len(content))
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        for _tables in MessageReader(io.BytesIO(content), PACKET):
            pass
        best = min(best, time.process_time() - began)
    return len(content) / 1e6 / best


def track_events(count: int) -> bytes:
    """A trace of pairs of nested slices on 16 threads, 20 bytes a packet."""
    sys.path[:0] = [str(REPOSITORY)]
    from tests.fuzz.campaign.mutate_pb import varint
    from tests.fuzz.guided.formats import message

    names = message(*((2, message((1, number), (2, b"name %d" % number))) for number in range(1, 50)))
    packets = [message((10, 3), (13, 1), (12, names))]
    packets += [
        message((10, 3), (60, message((1, 10 + number), (4, message((1, 7), (2, 8 + number))))))
        for number in range(16)
    ]
    out = [message((1, packet)) for packet in packets]
    for number in range(count // 2):
        time_ns, track = 10_000_000_000 + number * 1000, bytes([0x58, 10 + number % 16])
        for kind, offset in ((1, 0), (1, 100), (2, 300), (2, 900)):
            event = bytes([0x48, kind]) + track + (bytes([0x50, 1 + number % 48]) if kind == 1 else b"")
            packet = (
                b"\x40" + varint(time_ns + offset) + b"\x50\x03\x68\x02\x5a" + bytes([len(event)]) + event
            )
            out.append(b"\x0a" + bytes([len(packet)]) + packet)
    return b"".join(out)


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
