"""A hand that does everything at once: keys, wheel, clicks, drags, searches and panels at random over a large capture.

    python tests/benchmarks/bench_walk.py [--capture FILE] [--events N] [--seconds 120] [--seed N] [--smoke]

The whole window runs; every event that Qt delivers is timed as processor time of the window's thread (not the wall:
others work on this machine). An exception, a message of Qt or a thread that fails ends the walk with status 1. Memory
is what is anonymous, every tenth of the walk, and at its end without selection and search. What the window's thread did
in an event that takes over 40 ms is printed. The yardstick is a picture of the same window with plain rectangles.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Self

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np  # noqa: E402  # the paths come first
from PySide6.QtCore import QEvent, QEventLoop, QObject, QPoint, QPointF, Qt, QTimer, qInstallMessageHandler  # noqa: E402
from PySide6.QtGui import QImage, QMouseEvent, QPainter, QWheelEvent  # noqa: E402
from PySide6.QtTest import QTest  # noqa: E402
from PySide6.QtWidgets import QApplication, QDialog, QMenu, QWidget  # noqa: E402
from tests.benchmarks.generate import generate  # noqa: E402
from tests.benchmarks.measuring import table  # noqa: E402

from warpline_app.window.quick_start import imports_uncollected  # noqa: E402  # found through the path above

# As the application begins: what is collected later, and how often, depends on it.
with imports_uncollected():
    from warpline_app.look.application import make_application
    from warpline_app.look.collecting import CycleCollector
    from warpline_app.open.background import wait_for_jobs
    from warpline_app.panels.frame.registry import all_panels
    from warpline_app.remembered.settings import Settings
    from warpline_app.window.main_window import MainWindow

FRAME_MS = 1000 / 60
SLOW_MS = 40.0
"""Of processor time: what an event did that takes longer is looked at."""
SIZE = (1480, 900)
LETTERS = "WWWSSSADFZRMPHLJKN"
KEYS = (
    *LETTERS,
    *("Backspace", "Period", "Comma", "BracketLeft", "BracketRight"),
    *("Home", "Space", "PageDown", "PageUp", "Escape"),
)
TEXTS = ("kernel_1", "aten", "/ker.*_2/", "", "gemm", "worker")
LEFT, NO_BUTTON = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
PLAIN, SHIFT, CONTROL = (
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.ControlModifier,
)


class Timed(QApplication):
    """Counts the processor time of every event that is delivered, nested ones with the outer one."""

    turns_ms: list[float]
    began: float | None = None
    """processor time of the window's thread at which the event in hand began"""
    doing = ""
    """the type of that event, and who gets it"""

    def notify(self, receiver: QObject, event: QEvent) -> bool:
        """Deliver an event. Called by Qt."""
        if self.began is not None:
            return super().notify(receiver, event)
        self.doing = f"{event.type().name} of {type(receiver).__name__}"
        self.began = began = time.thread_time()
        try:
            return super().notify(receiver, event)
        finally:
            self.began = None
            self.turns_ms.append((time.thread_time() - began) * 1e3)


class SlowEvents:
    """Looks from a second thread at what the window's thread does in an event that takes long."""

    def __init__(self, application: Timed) -> None:
        self._application, self._ident = application, threading.get_ident()
        self._clock = time.pthread_getcpuclockid(self._ident)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="slow-events")
        self.told: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        current: float | None = None
        seen: dict[str, float] = {}
        is_told = False
        while not self._stopped.wait(0.005):
            began = self._application.began
            if began is None:
                continue
            if began != current:
                current, seen, is_told = began, {}, False
            spent = (time.clock_gettime(self._clock) - began) * 1e3
            place = self._place()
            # The event may have ended meanwhile, and another have begun.
            if is_told or self._application.began != began:
                continue
            seen.setdefault(place, spent)
            if is_told := spent > SLOW_MS:
                places = "".join(f" after {when:.0f} ms:\n{stack}" for stack, when in seen.items())
                self.told.append(f"{self._application.doing} has taken {spent:.0f} ms so far;{places}")

    def _place(self) -> str:
        """What the window's thread does in its three innermost calls."""
        # A frame that is held for longer holds the event that it is about, and who is made at that event's place later
        # is taken for it by PySide.
        frame: types.FrameType | None = sys._current_frames()[self._ident]
        calls: list[tuple[str, int, str]] = []
        while frame is not None and len(calls) < 3:
            calls.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
            frame = frame.f_back
        del frame
        return "".join(traceback.format_list([traceback.FrameSummary(*call) for call in reversed(calls)]))


def wait(milliseconds: int) -> None:
    """Let the window live for a while."""
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


def wait_until(is_true: Callable[[], bool], seconds: float = 60) -> None:
    """Let the window live until something is so."""
    end = time.monotonic() + seconds
    while not is_true() and time.monotonic() < end:
        wait(20)


def anonymous_mb() -> float:
    """Memory of this process that no file backs."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1]) / 1024
    return 0.0


def yardstick_ms() -> float:
    """Processor time of a picture of the window's size with 2000 rectangles; the best of several."""
    image, best = QImage(*SIZE, QImage.Format.Format_RGB32), float("inf")
    for _ in range(10):
        began = time.thread_time()
        painter = QPainter(image)
        for number in range(2000):
            painter.fillRect(number % 1400, number % 800, 60, 16, Qt.GlobalColor.darkCyan)
        painter.end()
        best = min(best, time.thread_time() - began)
    return best * 1e3


class Hand:
    """What a person could do, one thing at a time, chosen by chance."""

    def __init__(self, application: Timed, window: MainWindow, seed: int) -> None:
        page = window.tabs.current_page
        assert page is not None
        self.application, self.window, self.view = application, window, page.view
        self.chance = random.Random(seed)

    def act(self) -> None:
        """Do one thing."""
        acts = (self.key, self.wheel, self.click, self.drag, self.header, self.search, self.panel)
        self.chance.choices(acts, (45, 20, 15, 10, 4, 3, 3))[0]()
        for other in self.application.topLevelWidgets():
            if isinstance(other, QDialog | QMenu) and other.isVisible():
                other.close()
        wait(self.chance.choice((0, 10, 30)))

    def _point(self, widget: QWidget, width: int | None = None) -> QPointF:
        return QPointF(self.chance.randrange(width or widget.width()), self.chance.randrange(widget.height()))

    def _mouse(
        self, kind: QEvent.Type, at: QPointF, widget: QWidget, modifier: Qt.KeyboardModifier = PLAIN
    ) -> None:
        button = NO_BUTTON if kind == QEvent.Type.MouseMove else LEFT
        held = NO_BUTTON if kind == QEvent.Type.MouseButtonRelease else LEFT
        event = QMouseEvent(kind, at, QPointF(widget.mapToGlobal(at.toPoint())), button, held, modifier)
        self.application.notify(widget, event)

    def key(self) -> None:
        """Press a key, hold it for a moment."""
        key = getattr(Qt.Key, f"Key_{self.chance.choice(KEYS)}")
        self.view.setFocus()
        QTest.keyPress(self.view, key)
        wait(self.chance.choice((5, 20, 60)))
        QTest.keyRelease(self.view, key)

    def wheel(self) -> None:
        """Turn the wheel, or move two fingers, a few times."""
        canvas = self.view.canvas
        at = self._point(canvas)
        for _ in range(self.chance.randrange(1, 8)):
            way = self.chance.choice((120, -120))
            pixels = QPoint(0, way // 3) if self.chance.random() < 0.5 else QPoint()
            modifier = self.chance.choice((CONTROL, CONTROL, PLAIN, SHIFT))
            where = QPointF(canvas.mapToGlobal(at.toPoint()))
            phase = Qt.ScrollPhase.NoScrollPhase
            event = QWheelEvent(at, where, pixels, QPoint(0, way), NO_BUTTON, modifier, phase, False)
            self.application.notify(canvas, event)
            wait(8)

    def click(self) -> None:
        """Click on an event, or beside it."""
        at = self._point(self.view.canvas)
        for kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonRelease):
            self._mouse(kind, at, self.view.canvas)

    def drag(self) -> None:
        """Select a range, or pan."""
        canvas, modifier = self.view.canvas, self.chance.choice((PLAIN, PLAIN, SHIFT))
        at = self._point(canvas)
        self._mouse(QEvent.Type.MouseButtonPress, at, canvas, modifier)
        for step in range(6):
            self._mouse(QEvent.Type.MouseMove, at + QPointF(step * 20, 0), canvas, modifier)
            wait(16)
        self._mouse(QEvent.Type.MouseButtonRelease, at + QPointF(100, 0), canvas, modifier)

    def header(self) -> None:
        """Open and close rows."""
        at = self._point(self.view.header, 60)
        for kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonRelease):
            self._mouse(kind, at, self.view.header)

    def search(self) -> None:
        """Type another name."""
        self.window.tool_row.search.setText(self.chance.choice(TEXTS))
        wait(30)

    def panel(self) -> None:
        """Bring another panel to the front."""
        self.window.panels.show_panel(
            self.chance.choice([spec.id for spec in all_panels() if spec.id != "console"])
        )


def walk(capture: Path, seconds: float, seed: int) -> int:
    """Opens a capture, walks, prints; the number of things that went wrong."""
    wrong: list[str] = []
    qInstallMessageHandler(
        lambda _kind, _context, text: None if "propagateSizeHints" in text else wrong.append(text)
    )
    sys.excepthook = lambda *error: wrong.append("".join(traceback.format_exception(*error)))
    sys.unraisablehook = lambda error: wrong.append(str(error.exc_value))
    threading.excepthook = lambda error: wrong.append(str(error.exc_value))
    application = Timed([])
    application.turns_ms = []
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(Path(folder) / "settings.ini")
        make_application(settings.theme, settings.language)
        CycleCollector(application)
        window = MainWindow(settings)
        window.resize(*SIZE)
        window.show()
        window.workspace.open_file(capture)
        wait_until(lambda: window.tabs.current_page is not None)
        hand = Hand(application, window, seed)
        wait_until(lambda: hand.view.is_idle)
        wait(500)
        opening, application.turns_ms = max(application.turns_ms), []
        memory = [anonymous_mb()]
        began = time.monotonic()
        actions = 0
        with SlowEvents(application) as slow:
            while time.monotonic() - began < seconds:
                hand.act()
                actions += 1
                if time.monotonic() - began > len(memory) * seconds / 10:
                    memory.append(anonymous_mb())
        turns = np.array(application.turns_ms)
        window.tool_row.search.setText("")
        for _ in range(5):
            hand.view.state.clear()
        wait_until(lambda: hand.view.is_idle and window.panels.is_settled)
        memory.append(anonymous_mb())
        window.close()
        wait_for_jobs()
        wait(100)
    plain = yardstick_ms()
    print(
        f"{capture.name}: {actions} actions, {len(turns)} events, {len(wrong)} went wrong; "
        f"opening took at most {opening:.0f} ms at once"
    )
    print("anonymous MB: " + " ".join(f"{value:.0f}" for value in memory) + " (the last one at rest)")
    names = ("p50", "p99", "p99.9", "max")
    values = (*np.percentile(turns, (50, 99, 99.9)).tolist(), float(turns.max()))
    late = float((turns > FRAME_MS).mean() * 100)
    table(
        ["event", *names, f"over {FRAME_MS:.1f} ms", "yardstick"],
        [["CPU ms", *(f"{value:.1f}" for value in values), f"{late:.2f} %", f"{plain:.2f}"]],
    )
    for text in (*slow.told[:5], *wrong[:5]):
        print(text)
    return len(wrong)


def test_walk(bench_smoke: bool) -> None:
    """A walk in a process of its own: the application of the tests is not one that times its events."""
    command = [sys.executable, __file__, *(["--smoke"] if bench_smoke else ["--events", "1000000"])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=600, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout


def main() -> int:
    """Parses the command line; the exit status is 1 when something went wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--capture", type=Path)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    is_smoke = args.smoke or os.environ.get("WARPLINE_BENCH_SMOKE") == "1"
    events, seconds = (20_000, 3.0) if is_smoke else (args.events, args.seconds)
    with tempfile.TemporaryDirectory() as folder:
        capture = args.capture or generate(Path(folder) / f"{events}.h5", events)
        return 1 if walk(capture, seconds, args.seed) else 0


if __name__ == "__main__":
    sys.exit(main())
