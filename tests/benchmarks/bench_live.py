"""What it costs to show the timeline of a recording while it runs, and how late an event is seen.

    QT_QPA_PLATFORM=offscreen python tests/benchmarks/bench_live.py [--rate N] [--seconds N] [--nice N] [--smoke]

The same program is recorded from the window twice, without and with a live timeline. *Seen after* is the time from an
event to the frame that shows it: a snapshot ends at its head, and the oldest event that is new in it has waited since
the head of the one before. A busy machine makes all of it longer: the process is niced.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

import numpy as np  # noqa: E402  # found through the path above
from tests.benchmarks.measuring import table  # noqa: E402  # the same

from warpline.recording.live import process  # noqa: E402  # the same

PROGRAM = Path(__file__).parent / "programs" / "steady_ranges.py"
TICK_S = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--nice", type=int, default=process.NICE)
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    process.NICE = args.nice
    rate, seconds = (3_000, 3) if args.smoke else (args.rate, args.seconds)
    rows = [run(rate, seconds, is_live=is_live) for is_live in (False, True)]
    print(f"{rate:,} ranges a second for {seconds} s")
    heads = [
        "",
        "events",
        "program",
        "live process",
        "window",
        "snapshots",
        "seen after, median",
        "p95",
        "worst frame",
    ]
    table(heads, rows)


def run(rate: int, seconds: int, *, is_live: bool) -> list[str]:
    """Record the program; a row of the table."""
    from PySide6.QtWidgets import QApplication

    from warpline_app.look.application import make_application
    from warpline_app.recording.recording import Recording
    from warpline_app.recording.request import RecordingRequest
    from warpline_app.remembered.settings import Settings
    from warpline_app.window.main_window import MainWindow

    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(Path(folder) / "settings.ini")
        settings.follows_recordings = is_live
        application = QApplication.instance() or make_application("dark", "en")
        window = MainWindow(settings)
        window.resize(1600, 1000)
        window.show()
        request = RecordingRequest(
            interpreter=sys.executable,
            script=str(PROGRAM),
            arguments=f"{rate} {seconds}",
            output=str(Path(folder) / "run.h5"),
        )
        recording = Recording(request.checked(), window.workspace)
        window.workspace.begin(recording, has_tab=True)
        heads: list[int] = []
        seen: list[float] = []
        frames: list[float] = []
        live_cpu, cpu = 0.0, time.process_time()
        while "ranges" not in recording.text.text and not recording.has_ended:
            application.processEvents()
            begun = time.perf_counter()
            document = recording.document
            edge = document.live_edge if document is not None else None
            if document is not None and edge is not None and (not heads or edge.head_ns != heads[-1]):
                window.grab()
                start = document.capture.meta["start_monotonic_ns"]
                kept = document.capture.span[0]
                now = time.monotonic_ns() - (start - kept)
                if heads:
                    seen.append((now - heads[-1]) / 1e9)
                heads.append(edge.head_ns)
                frames.append(time.perf_counter() - begun)
            if recording.following is not None:
                live_cpu = _cpu_s(recording.following.process_id) or live_cpu
            time.sleep(0.002)
        cpu = time.process_time() - cpu
        while not recording.has_ended:
            application.processEvents()
            time.sleep(0.01)
        told = re.search(r"ranges (\d+) seconds ([\d.]+) cpu ([\d.]+)", recording.text.text)
        assert told is not None, recording.text.text
        took = float(told[2])
        row = [
            "live" if is_live else "without",
            f"{int(recording.status.get('events', 0)):,}",
            f"{float(told[3]) / took:.3f} cores",
            f"{live_cpu / took:.3f} cores",
            f"{cpu / took:.3f} cores",
            str(len(heads)),
            f"{np.median(seen):.2f} s" if seen else "–",
            f"{np.quantile(seen, 0.95):.2f} s" if seen else "–",
            f"{1000 * max(frames):.0f} ms" if frames else "–",
        ]
        window.workspace.close_all()
        window.close()
        from warpline_app.open.background import wait_for_jobs

        wait_for_jobs()
    return row


def _cpu_s(pid: int) -> float:
    """CPU time of a process; 0 when there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICK_S


def test_live(bench_smoke: bool) -> None:
    """Show that it runs; the figures are printed when it is called by hand."""
    if bench_smoke:
        run(3_000, 3, is_live=True)


if __name__ == "__main__":
    main()
