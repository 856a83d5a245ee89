"""The highest anonymous memory and the processor time of each report, each in a process of its own (Linux).

    python tests/benchmarks/generate.py 50M.h5 --events 50000000
    python tests/benchmarks/bench_report_memory.py 50M.h5 [--report NAME …]

Lists of single events are left out by default: their memory follows the rows they print.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

from tests.benchmarks.measuring import capture_of, table  # noqa: E402  # found through the path above

BAR_BYTES = 200_000_000


def measured(arguments: list[str]) -> tuple[int, float, int]:
    """(highest anonymous bytes, seconds of processor time, exit status) of a ``warpline`` command."""
    with tempfile.TemporaryFile() as output:
        command = [sys.executable, "-m", "warpline", *arguments]
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        peak, ended = 0, 0
        while not ended:
            with (
                contextlib.suppress(OSError),
                open(f"/proc/{process.pid}/status", encoding="ascii") as status,
            ):
                lines = [line.split() for line in status if line.startswith("RssAnon:")]
                peak = max([peak, *(int(line[1]) * 1024 for line in lines)])
            time.sleep(0.003)
            ended, state, usage = os.wait4(process.pid, os.WNOHANG)
        process.returncode = os.waitstatus_to_exitcode(state)
    return peak, usage.ru_utime + usage.ru_stime, process.returncode


def bench(capture: Path, names: list[str]) -> None:
    if not names:
        command = [sys.executable, "-m", "warpline", "stats", str(capture), "--list"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        lines = [line for line in listed if "not recorded" not in line]
        names = [name for name in (line.split()[0] for line in lines) if not name.endswith("_trace")]
    rows = []
    for name in names:
        peak, seconds, status = measured(["stats", str(capture), "--report", name, "--format", "json"])
        assert status == 0, f"{name}: exit status {status}"
        rows.append([name, f"{peak / 1e6:.0f}{' !' if peak > BAR_BYTES else ''}", f"{seconds:.2f}"])
    table(("report", "anonymous MB", "CPU s"), rows)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_of_reports(bench_smoke: bool, tmp_path: Path) -> None:
    capture = capture_of(tmp_path, 20_000 if bench_smoke else 1_000_000)
    bench(capture, ["launch_latency", "cuda_kern_exec_sum", "queue_length"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Memory of reports")
    parser.add_argument("capture", type=Path)
    parser.add_argument("--report", action="append", default=[])
    options = parser.parse_args()
    bench(options.capture, options.report)
