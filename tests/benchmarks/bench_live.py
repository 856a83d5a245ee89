"""What it costs to show the timeline of a recording while it runs, and how late an event is seen.

    QT_QPA_PLATFORM=offscreen python tests/benchmarks/bench_live.py [--rate N] [--seconds N] [--nice N] [--smoke]
    … --modes ticks --seconds 600 --by-minute

The same program is recorded from the window three times: without a live timeline, with one of snapshots, each of all of
the recording, and with one of ticks, each of what is new. *Seen after* is the time from the end of an event to the
frame that shows it, of all events that a capture has and the one before did not. *Behind* is the part of it before
the capture's head was taken, *made* the part until it arrived in the window's thread, *drawn* the rest. *Later* is the
live process's share of a core in the last third, divided by that in the first: 1.0 is flat. A busy machine makes all of
it longer: the process is niced. *Grow* is the time that the window's thread takes for a new capture. With
``--by-minute``, a second table has CPU and memory of the live process and of the window for each minute.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

import numpy as np  # noqa: E402  # found through the path above
from tests.benchmarks.measuring import table  # noqa: E402  # the same

from warpline.model.flags import Flag  # noqa: E402  # the same
from warpline.recording.live import captures, process  # noqa: E402  # the same

if TYPE_CHECKING:
    from warpline.storage import Capture

PROGRAM = Path(__file__).parent / "programs" / "steady_ranges.py"
TICK_S = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--nice", type=int, default=process.NICE)
    parser.add_argument("--modes", default="without,snapshots,ticks")
    parser.add_argument("--by-minute", action="store_true")
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    process.NICE = args.nice
    rate, seconds = (3_000, 3) if args.smoke else (args.rate, args.seconds)
    minutes: list[Minute] = []
    rows = [run(rate, seconds, mode, minutes) for mode in args.modes.split(",")]
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(
        f"{rate:,} ranges a second for {seconds} s, niceness {args.nice}; load of {os.cpu_count()} cores: {load}"
    )
    heads = [
        "",
        "events",
        "program",
        "live process",
        "window",
        "later",
        "captures",
        "seen after, median",
        "p95",
        "behind, made, drawn",
        "grow, p95",
        "worst",
    ]
    table(heads, rows)
    if args.by_minute:
        heads = ["minute", "live process", "its memory", "window", "its memory", "captures", "load"]
        table(heads, [minute.row(before) for before, minute in itertools.pairwise(minutes)])


@dataclass(frozen=True)
class Minute:
    """What was used by the end of a minute since the first capture; CPU in seconds."""

    number: int
    live_cpu_s: float
    live_bytes: int
    window_cpu_s: float
    window_bytes: int
    captures: int
    load: float

    @staticmethod
    def of(number: int, live_cpu_s: float, live_pid: int, captures: int) -> Minute:
        """The usage now."""
        own = time.process_time()
        return Minute(
            number, live_cpu_s, _memory(live_pid), own, _memory(os.getpid()), captures, os.getloadavg()[0]
        )

    def row(self, before: Minute) -> list[str]:
        """The difference to the minute before."""
        return [
            str(self.number),
            f"{(self.live_cpu_s - before.live_cpu_s) / 60:.3f} cores",
            f"{self.live_bytes / 1e6:.0f} MB",
            f"{(self.window_cpu_s - before.window_cpu_s) / 60:.3f} cores",
            f"{self.window_bytes / 1e6:.0f} MB",
            str(self.captures - before.captures),
            f"{self.load:.1f}",
        ]


def run(rate: int, seconds: int, mode: str, minutes: list[Minute] | None = None) -> list[str]:
    """Record the program; a row of the table."""
    captures._ATTEMPTS = 0 if mode == "snapshots" else 3
    from PySide6.QtCore import QEventLoop, QTimer
    from PySide6.QtWidgets import QApplication

    from warpline_app.look.application import make_application
    from warpline_app.open.live_document import LiveDocument
    from warpline_app.recording.recording import Recording
    from warpline_app.recording.request import RecordingRequest
    from warpline_app.remembered.settings import Settings
    from warpline_app.timeline.widgets.canvas import Canvas
    from warpline_app.window.main_window import MainWindow

    grow = LiveDocument.grow
    grows: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(Path(folder) / "settings.ini")
        settings.follows_recordings = mode != "without"
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
        LiveDocument.grow = _timed(grow, grows, lambda: seen)  # type: ignore[method-assign]
        heads: list[int] = []
        seen = Seen()
        shares: list[tuple[float, float]] = []
        live_cpu, cpu, polled = 0.0, time.process_time(), 0.0
        waker = QTimer()
        waker.start(50)
        while "ranges" not in recording.text.text and not recording.has_ended:
            application.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
            document = recording.document
            edge = document.live_edge if document is not None else None
            if document is not None and edge is not None and (not heads or edge.head_ns != heads[-1]):
                for canvas in () if heads else window.findChildren(Canvas):
                    canvas.frame_drawn.connect(seen.drawn)
                heads.append(edge.head_ns)
            if recording.following is not None and time.monotonic() > polled + 0.1:
                polled = time.monotonic()
                live_cpu = _cpu_s(recording.following.process_id) or live_cpu
                shares.append((time.monotonic(), live_cpu))
                number = int((shares[-1][0] - shares[0][0]) // 60)
                if minutes is not None and heads and number >= len(minutes):
                    pid = recording.following.process_id
                    minutes.append(Minute.of(number, live_cpu, pid, len(heads)))
                    print(*minutes[-1].row(minutes[max(0, len(minutes) - 2)]), file=sys.stderr, flush=True)
        waker.stop()
        cpu = time.process_time() - cpu - seen.own_cpu_s
        while not recording.has_ended:
            application.processEvents()
            time.sleep(0.01)
        told = re.search(r"ranges (\d+) seconds ([\d.]+) cpu ([\d.]+)", recording.text.text)
        assert told is not None, recording.text.text
        took = float(told[2])
        row = [
            mode,
            f"{int(recording.status.get('events', 0)):,}",
            f"{float(told[3]) / took:.3f} cores",
            f"{live_cpu / took:.3f} cores",
            f"{cpu / took:.3f} cores",
            _later(shares),
            str(len(heads)),
            *seen.row(),
            f"{1000 * np.quantile(grows, 0.95):.0f} ms" if grows else "–",
            f"{1000 * max(grows):.0f} ms" if grows else "–",
        ]
        LiveDocument.grow = grow  # type: ignore[method-assign]
        window.workspace.close_all()
        window.close()
        from warpline_app.open.background import wait_for_jobs

        wait_for_jobs()
    return row


class Seen:
    """How long events of a running recording waited until they were drawn."""

    LOOKED_BACK_NS = 2_000_000_000
    BIN_NS = 5_000_000

    def __init__(self) -> None:
        self.own_cpu_s = 0.0
        self._counts: Counter[int] = Counter()
        self._pending: tuple[Counter[int], float, float] | None = None
        self._waits: list[tuple[float, float, float, int]] = []
        """Seconds behind, made, drawn, and number of events"""

    def grown(self, capture: Capture, head_ns: int) -> None:
        """A capture arrived in the window's thread."""
        cpu, now = time.thread_time(), time.monotonic_ns()
        start = capture.meta["start_monotonic_ns"] - capture.span[0]
        ends: Counter[int] = Counter()
        for lane in range(len(capture.lanes)):
            rows = capture.lane_slice(lane, head_ns - self.LOOKED_BACK_NS, head_ns)
            events = capture.events
            stops = (events.start[rows] + events.duration[rows])[events.flags[rows] & Flag.CUT_END == 0]
            bins, counts = np.unique(stops // self.BIN_NS, return_counts=True)
            ends.update(dict(zip(bins.tolist(), counts.tolist(), strict=True)))
        new = ends - self._counts
        is_first, self._counts = not self._counts, ends
        self._pending = None if is_first else (new, head_ns / 1e9, (now - start) / 1e9)
        self._start_ns = start
        self.own_cpu_s += time.thread_time() - cpu

    def drawn(self) -> None:
        """A frame was painted."""
        if self._pending is None:
            return
        new, head_s, made_s = self._pending
        self._pending, now_s = None, (time.monotonic_ns() - self._start_ns) / 1e9
        for place, count in new.items():
            end_s = (place + 0.5) * self.BIN_NS / 1e9
            if end_s > head_s - self.LOOKED_BACK_NS / 2e9:
                self._waits.append((max(0.0, head_s - end_s), made_s - head_s, now_s - made_s, count))

    def row(self) -> list[str]:
        """Median and p95 of all events, and the medians of the parts."""
        if not self._waits:
            return ["–", "–", "–"]
        parts = np.array(self._waits)
        waits = np.repeat(parts[:, :3].sum(axis=1), parts[:, 3].astype(int))
        median, most = np.quantile(waits, (0.5, 0.95))
        behind, made, drawn = np.median(parts[:, :3], axis=0)
        return [f"{median:.2f} s", f"{most:.2f} s", f"{behind:.2f}, {made:.2f}, {drawn:.2f} s"]


def _timed(grow: Callable[..., None], seconds: list[float], seen: Callable[[], Seen]) -> Callable[..., None]:
    def timed(*args: Any) -> None:
        seen().grown(args[1], args[2].head_ns)
        begun = time.perf_counter()
        grow(*args)
        seconds.append(time.perf_counter() - begun)

    return timed


def _later(shares: list[tuple[float, float]]) -> str:
    """CPU time of the last third divided by that of the first."""
    if len(shares) < 6:
        return "–"
    times, spent = (np.array(column) for column in zip(*shares, strict=True))
    at = np.interp(np.linspace(times[0], times[-1], 4), times, spent)
    first, last = at[1] - at[0], at[3] - at[2]
    return f"{last / first:.2f}" if first > 0 else "–"


def _memory(pid: int) -> int:
    """Bytes of memory of a process that are its own; 0 when there is none."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")


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
        run(3_000, 3, "ticks")


if __name__ == "__main__":
    main()
