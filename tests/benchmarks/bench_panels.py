"""What a hand that drags a range costs the window's thread in each panel, and when the panels have caught up.

    python tests/benchmarks/bench_panels.py [--capture FILE] [--events N] [--steps N] [--panels ID …] [--window]

The end of a range is moved every 16 ms, as a mouse does. Between two moves the processor time of the window's thread
is counted (not the wall: others work on this machine); the timeline is not part of it. "Counts after" is the time from
a move to a picture that is about a range of the drag, "all after" the time from letting go to the final one, medians
included. With ``--window`` the mouse drags in the timeline of the whole window, one panel after the other below it:
then the timeline is a part, and "painted after" is the clock from a move to the end of the next frame. ``--smoke`` only
shows that it works. The yardstick is a picture with as many plain texts as a table shows.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np  # noqa: E402  # the paths come first
from PySide6.QtCore import QEventLoop, QPoint, QRect, Qt  # noqa: E402
from PySide6.QtGui import QImage, QPainter  # noqa: E402
from PySide6.QtTest import QTest  # noqa: E402
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget  # noqa: E402
from tests.benchmarks.measuring import table  # noqa: E402

from warpline.storage import open_capture  # noqa: E402
from warpline_app.look.application import make_application  # noqa: E402
from warpline_app.open.document import Document  # noqa: E402
from warpline_app.panels.frame.base import Panel  # noqa: E402
from warpline_app.panels.frame.computed import ComputedPanel  # noqa: E402
from warpline_app.panels.frame.registry import all_panels  # noqa: E402
from warpline_app.remembered.settings import Settings  # noqa: E402

if TYPE_CHECKING:
    from warpline_app.timeline.widgets.view import TimelineView
    from warpline_app.window.main_window import MainWindow

BAR_MS = 10.0
MOVE_S = 0.016
SIZE = (1180, 300)
FOLLOWING = ("summary", "events", "flame", "steps", "histogram", "memory", "counters")


def yardstick_ms() -> float:
    """Processor time of one picture with the texts of a table of 10 rows and 14 columns; the best of several."""
    image = QImage(*SIZE, QImage.Format.Format_RGB32)
    best = float("inf")
    for _ in range(20):
        began = time.thread_time()
        painter = QPainter(image)
        painter.fillRect(image.rect(), Qt.GlobalColor.black)
        painter.setPen(Qt.GlobalColor.white)
        for row in range(10):
            for column in range(14):
                painter.drawText(QRect(column * 84, row * 23, 80, 23), Qt.AlignmentFlag.AlignRight, "1,234.5")
        painter.end()
        best = min(best, time.thread_time() - began)
    return best * 1e3


def wait_until_settled(application: QApplication, panel: Panel, limit_s: float = 60.0) -> None:
    """Runs the event loop until the panel shows what the state says."""
    ends = time.monotonic() + limit_s
    while time.monotonic() < ends:
        application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents)
        if panel.is_settled:
            application.processEvents()
            return
        time.sleep(0.001)
    raise SystemExit(f"{type(panel).__name__} did not settle")


def drag(application: QApplication, document: Document, panel: Panel, steps: int) -> list[str]:
    """Drags a range over the middle of the capture: one row of the table."""
    start, stop = document.state.span
    length = stop - start
    anchor = start + length // 4
    shown: list[float] = []
    if isinstance(panel, ComputedPanel):
        show = panel.show_result

        def noted(request: object, result: object) -> None:
            show(request, result)
            shown.append(time.monotonic())

        panel.show_result = noted  # type: ignore[method-assign]  # only to know when
    busy = []
    began = time.monotonic()
    for step in range(steps):
        before = time.thread_time()
        document.state.select_range(anchor, anchor + length // 20 + length // 2 * step // steps)
        ends = time.monotonic() + MOVE_S
        while (left := ends - time.monotonic()) > 0:
            application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents)
            time.sleep(min(left, 0.0015))
        busy.append((time.thread_time() - before) * 1e3)
    first = (shown[0] - began) * 1e3 if shown else float("nan")
    during = len(shown)
    released = time.monotonic()
    wait_until_settled(application, panel)
    return [
        *(f"{np.percentile(busy, share):.1f}" for share in (50, 95, 100)),
        f"{first:.0f}",
        str(during) if isinstance(panel, ComputedPanel) else "",
        f"{(time.monotonic() - released) * 1e3:.0f}",
    ]


def measure(path: Path, panels: list[str], steps: int) -> None:
    """Prints the table for one capture."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(Path(folder) / "bench.ini")
        settings.theme = "dark"
        application = make_application(settings.theme, settings.language)
        document = Document(open_capture(path))
        unit = yardstick_ms()
        print(
            f"{path.name}: {len(document.capture.events):,} events; {steps} moves, one every {MOVE_S * 1e3:.0f} ms"
        )
        print(
            f"yardstick (a picture with 140 plain texts): {unit:.2f} ms of processor time; bar: p95 ≤ {BAR_MS:.0f} ms"
        )
        rows = []
        for spec in all_panels():
            if spec.id not in panels:
                continue
            frame = QWidget()
            frame.resize(*SIZE)
            layout = QVBoxLayout(frame)
            layout.setContentsMargins(0, 0, 0, 0)
            panel = spec.make(document, frame)
            layout.addWidget(panel)
            frame.show()
            wait_until_settled(application, panel)
            figures = drag(application, document, panel, steps)
            rows.append([spec.title, *figures, f"{float(figures[1]) / unit:.1f}"])
            document.state.select_range(None)
            frame.close()
            frame.deleteLater()
            application.processEvents()
        document.close()
    table(
        (
            "panel",
            "ms a move",
            "p95",
            "worst",
            "counts after ms",
            "pictures",
            "all after ms",
            "p95 × yardstick",
        ),
        rows,
    )


def wait_in_window(application: QApplication, is_done: Callable[[], bool], limit_s: float = 120.0) -> None:
    """Runs the event loop until something is so."""
    ends = time.monotonic() + limit_s
    while not is_done():
        if time.monotonic() > ends:
            raise SystemExit("the window did not settle")
        application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents)
        time.sleep(0.001)


def drag_in_window(
    application: QApplication, window: MainWindow, view: TimelineView, steps: int
) -> list[str]:
    """Drags a range over the timeline with the left button, and rests: one row of the table."""
    frames: list[float] = []

    def note() -> None:
        frames.append(time.monotonic())

    view.canvas.frame_drawn.connect(note)
    at = QPoint(view.canvas.width() // 4, view.canvas.height() // 2)
    last = (steps - 1) * view.canvas.width() // 2 // steps
    button = Qt.MouseButton.LeftButton
    QTest.mousePress(view.canvas, button, pos=at)
    painted, busy = [], []
    for step in range(steps):
        frames.clear()
        began, before = time.monotonic(), time.thread_time()
        QTest.mouseMove(view.canvas, at + QPoint(20 + last * step // steps, 0))
        while (left := began + MOVE_S - time.monotonic()) > 0 or not frames:
            application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents)
            time.sleep(min(max(left, 0.0), 0.0015))
        busy.append((time.thread_time() - before) * 1e3)
        painted.append((frames[0] - began) * 1e3)
    released, before = time.monotonic(), time.thread_time()
    QTest.mouseRelease(view.canvas, button, pos=at + QPoint(20 + last, 0))
    wait_in_window(application, lambda: window.panels.is_settled)
    rested, processor = time.monotonic() - released, time.thread_time() - before
    view.canvas.frame_drawn.disconnect(note)
    assert view.state.range_selection is not None
    return [
        *(f"{np.percentile(busy, share):.1f}" for share in (50, 95, 100)),
        *(f"{np.percentile(painted, share):.1f}" for share in (50, 95, 100)),
        f"{rested * 1e3:.0f}",
        f"{processor * 1e3:.0f}",
    ]


def measure_window(path: Path, panels: list[str], steps: int) -> None:
    """Prints the table of the whole window for one capture, and when the window had settled after opening it."""
    from warpline_app.window.main_window import MainWindow

    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(Path(folder) / "bench.ini")
        application = make_application(settings.theme, settings.language)
        window = MainWindow(settings)
        window.resize(1480, 900)
        window.show()
        began, processor = time.monotonic(), time.process_time()
        window.workspace.open_file(path)
        wait_in_window(application, lambda: window.tabs.current_page is not None)
        page = window.tabs.current_page
        assert page is not None
        wait_in_window(application, lambda: page.view.is_idle and window.panels.is_settled)
        print(
            f"{path.name}: settled {time.monotonic() - began:.1f} s after it was opened, "
            f"{time.process_time() - processor:.1f} s of processor time; {steps} moves"
        )
        rows = []
        for spec in all_panels():
            if spec.id in panels:
                window.panels.show_panel(spec.id)
                wait_in_window(application, lambda: page.view.is_idle and window.panels.is_settled)
                rows.append([spec.title, *drag_in_window(application, window, page.view, steps)])
                page.view.state.clear()
        window.close()
        application.processEvents()
    head = ("CPU ms a move", "p95", "worst", "painted after ms", "p95", "worst", "settled after ms", "CPU ms")
    table(("panel", *head), rows)


def test_panels(bench_smoke: bool, tmp_path: Path) -> None:
    """One run of the table, tiny where it should only show that it works."""
    from tests.benchmarks.generate import generate

    events, steps = (20_000, 4) if bench_smoke else (1_000_000, 60)
    capture = generate(tmp_path / "bench.h5", events, 60)
    measure(capture, list(FOLLOWING), steps)
    measure_window(capture, ["summary"], steps)


def main() -> None:
    """Parses the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--capture", type=Path, help="measure on this capture instead of a synthetic one")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--panels", nargs="+", default=list(FOLLOWING))
    parser.add_argument("--window", action="store_true", help="drag in the timeline of the whole window")
    parser.add_argument("--smoke", action="store_true", help="a tiny run that only shows that it works")
    options = parser.parse_args()
    if options.smoke:
        options.events, options.steps = 20_000, 6
    act = measure_window if options.window else measure
    if options.capture is not None:
        act(options.capture, options.panels, options.steps)
        return
    from tests.benchmarks.generate import generate

    with tempfile.TemporaryDirectory() as folder:
        act(generate(Path(folder) / "bench.h5", options.events, 60), options.panels, options.steps)


if __name__ == "__main__":
    main()
