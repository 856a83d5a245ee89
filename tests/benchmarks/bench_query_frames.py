"""Frames of the window while a heavy query runs: processor time of its thread for each frame of a pan.

    python tests/benchmarks/bench_query_frames.py [--capture FILE] [--events 5000000] [--frames 300] [--smoke]

Bar: at the 95th percentile a frame takes at most 16.7 ms. Processor time of the window's thread, since the query shares
the cores with it: what is missed beyond that is the machine's.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np  # noqa: E402  # after the choice of the platform
from PySide6.QtWidgets import QApplication  # noqa: E402  # the same
from tests.benchmarks.measuring import capture_of, table  # noqa: E402  # found through the path above

from warpline_app.look.application import make_application  # noqa: E402  # the same
from warpline_app.panels.query.panel import QueryPanel  # noqa: E402  # the same
from warpline_app.remembered.settings import Settings  # noqa: E402  # the same
from warpline_app.window.capture_page import CapturePage  # noqa: E402  # the same
from warpline_app.window.main_window import MainWindow  # noqa: E402  # the same

BAR_MS = 16.7
HEAVY = "SELECT count(*) FROM events a, events b, events c WHERE a.dur + b.dur + c.dur < 0"
_LIMIT_S = 120.0


def wait(is_done: object, what: str) -> None:
    """Process events until a condition holds."""
    assert callable(is_done)
    stop = time.monotonic() + _LIMIT_S
    while not is_done():
        QApplication.processEvents()
        time.sleep(0.005)
        if time.monotonic() > stop:
            raise SystemExit(f"{what} took longer than {_LIMIT_S:g} s")


def pan(page: CapturePage, frames: int) -> np.ndarray:
    """Milliseconds of this thread's processor time for each frame of a pan."""
    state = page.document.state
    low, high = page.document.capture.span
    length = (high - low) // 20
    taken = np.empty(frames)
    for number in range(frames):
        start = low + (high - low - length) * number // frames
        begun = time.thread_time()
        state.set_view(start, start + length)
        page.view.canvas.repaint()
        QApplication.processEvents()
        taken[number] = (time.thread_time() - begun) * 1000
    return taken


def main() -> int:
    """Returns 1 when the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--capture", type=Path)
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--frames", type=int, default=300)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/warpline-bench"))
    parser.add_argument("--smoke", action="store_true")
    arguments = parser.parse_args()
    events, frames = (20_000, 20) if arguments.smoke else (arguments.events, arguments.frames)
    path = arguments.capture or capture_of(arguments.folder, events)
    make_application("light", "en")
    window = MainWindow(Settings.kept_nowhere())
    window.resize(1600, 1000)
    window.show()
    window.workspace.open_file(path)
    wait(lambda: window.tabs.current_page is not None, "opening")
    page = window.tabs.current_page
    assert isinstance(page, CapturePage)
    window.panels.show_panel("query")
    panel = window.panels.panel("query")
    assert isinstance(panel, QueryPanel)
    wait(lambda: page.view.is_idle and not panel.is_busy, "the first frame")
    alone = pan(page, frames)
    panel.ask(HEAVY)
    wait(lambda: panel.is_busy, "starting the query")
    beside = pan(page, frames)
    was_running = panel.is_busy
    panel.cancel()
    wait(lambda: not panel.is_busy, "cancelling")
    window.close()
    rows = [
        (
            name,
            f"{np.percentile(taken, 50):.1f} ms",
            f"{np.percentile(taken, 95):.1f} ms",
            f"{taken.max():.1f} ms",
        )
        for name, taken in (("no query", alone), ("a query runs", beside))
    ]
    table(("frames of a pan", "median", "p95", "most"), rows)
    print("the query ran to the last frame" if was_running else "the query had ended: its frames are too few")
    return 0 if arguments.smoke or float(np.percentile(beside, 95)) <= BAR_MS else 1


if __name__ == "__main__":
    sys.exit(main())
