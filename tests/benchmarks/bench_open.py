"""From a file to its first strip in a fresh process: time and anonymous memory, warm and cold, small against large.

    python tests/benchmarks/bench_open.py [--events 10000000 50000000] [--folder DIR] [--smoke]

Bars: the largest capture takes at most 1.5 times as long as the smallest; at most 150 MB of anonymous memory. The
yardstick is a process that imports numpy and h5py and reads one number of the file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

from tests.benchmarks.measuring import anonymous_bytes, arguments, capture_of, make_cold, table  # noqa: E402  # found through the path above


def first_strip(path: Path) -> dict[str, float]:
    """Opens a capture and queries all lanes; called in a fresh process."""
    import numpy as np

    from warpline.storage import open_capture

    began = time.perf_counter()
    with open_capture(path) as capture:
        opened = time.perf_counter()
        capture.query(np.arange(len(capture.lanes)), *capture.span, 2000)
        drawn = time.perf_counter()
        return {
            "open": opened - began,
            "strip": drawn - opened,
            "anonymous": anonymous_bytes(),
            "events": len(capture.events),
        }


def yardstick(path: Path) -> dict[str, float]:
    """What any reader pays."""
    import h5py
    import numpy as np

    with h5py.File(path) as file:
        np.asarray(file["events/start"][:1])
    return {"anonymous": anonymous_bytes()}


def in_process(what: str, path: Path, *, cold: bool) -> dict[str, float]:
    """Best of three fresh processes, with the whole process's seconds."""
    best: dict[str, float] = {}
    for _ in range(3):
        if cold:
            make_cold(path)
        began = time.perf_counter()
        answer = subprocess.run(
            [sys.executable, __file__, what, str(path)], check=True, capture_output=True, text=True
        )
        found = {**json.loads(answer.stdout), "process": time.perf_counter() - began}
        if not best or found["process"] < best["process"]:
            best = found
    return best


def run(sizes: list[int], folder: Path) -> None:
    rows = []
    smallest: dict[bool, float] = {}
    for events in sizes:
        path = capture_of(folder, events)
        for cold in (False, True):
            found, bare = (in_process(what, path, cold=cold) for what in ("--strip", "--bare"))
            smallest.setdefault(cold, found["process"])
            rows.append(
                [
                    f"{found['events']:,}",
                    "cold" if cold else "warm",
                    f"{found['open'] * 1e3:.0f} ms",
                    f"{found['strip'] * 1e3:.0f} ms",
                    f"{found['process'] * 1e3:.0f} ms",
                    f"{found['process'] / smallest[cold]:.2f}",
                    f"{bare['process'] * 1e3:.0f} ms",
                    f"{found['process'] / bare['process']:.2f}",
                    f"{found['anonymous'] / 1e6:.0f} MB",
                    f"{bare['anonymous'] / 1e6:.0f} MB",
                ]
            )
    table(
        [
            "events",
            "file",
            "open",
            "first strip",
            "process",
            "× smallest",
            "numpy+h5py",
            "ratio",
            "anonymous",
            "numpy+h5py",
        ],
        rows,
    )


def test_open(bench_smoke: bool, tmp_path: Path) -> None:
    run([20_000] if bench_smoke else [1_000_000, 5_000_000], tmp_path)


if __name__ == "__main__":
    if sys.argv[1:2] in (["--strip"], ["--bare"]):
        measure = first_strip if sys.argv[1] == "--strip" else yardstick
        print(json.dumps(measure(Path(sys.argv[2]))))
    else:
        run(*arguments(__doc__.splitlines()[0], [10_000_000, 50_000_000]))
