"""Export of a synthetic capture in every format, against a numpy yardstick.

Run as a script: ``python tests/benchmarks/bench_export.py [--events N] [--smoke]``. The yardstick copies all columns of
events in memory once; figures of a busy machine say little without it.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from warpline.interchange.export.exporter import ExportOptions
from warpline.interchange.export.exporting import export_capture
from warpline.interchange.export.preview import estimate
from warpline.interchange.export.registry import exporter_for
from warpline.interchange.export.selection import ExportSelection
from warpline.storage import Capture, open_capture

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

from tests.benchmarks.generate import generate  # noqa: E402  # found through the path above


def yardstick(capture: Capture) -> float:
    """Seconds to copy the event columns."""
    begin = time.perf_counter()
    events = capture.events
    for column in (events.start, events.duration, events.name, events.kind, events.flags):
        np.array(column)
    return time.perf_counter() - begin


def main() -> None:
    """Export the whole and a tenth of a capture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=500_000)
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    events = 20_000 if args.smoke else args.events
    formats = [
        ("whole.h5", False),
        ("archive.h5", True),
        ("out.json", False),
        ("out.json.gz", False),
        ("out.csv", False),
    ]
    if importlib.util.find_spec("pyarrow") is not None:
        formats.append(("out.parquet", False))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = generate(folder / "source.h5", events)
        with open_capture(source) as capture:
            copy = yardstick(capture)
            start, stop = capture.span
            tenth = ExportSelection(start + (stop - start) // 2, start + (stop - start) * 6 // 10)
            print(f"{len(capture.events):,} events, copying their columns takes {copy * 1e3:.1f} ms")
            titles = f"{'s':>8} {'kevents/s':>10} {'× copy':>8} {'MB':>8} {'guess':>7} {'peak MB':>8}"
            print(f"{'format':22} {'events':>10} {titles}")
            for title, part in (("", ExportSelection()), ("tenth of ", tenth)):
                for file, compress in formats:
                    out = folder / file
                    expected = estimate(
                        capture, part, exporter_for(out), is_packed=compress or file.endswith(".gz")
                    )
                    begin = time.perf_counter()
                    export_capture(capture, out, part, ExportOptions(compress=compress))
                    took = time.perf_counter() - begin
                    size = out.stat().st_size
                    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                    print(
                        f"{title + file:22} {expected.events:>10,} {took:>8.2f} {expected.events / took / 1e3:>10.0f} "
                        f"{took / copy:>8.0f} {size / 1e6:>8.1f} {expected.size_bytes / size:>7.2f} {peak:>8.0f}"
                    )


if __name__ == "__main__":
    main()
