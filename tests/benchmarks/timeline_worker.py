"""Frames of one capture in a process of its own, for bench_timeline.py: prints one line of JSON.

    python tests/benchmarks/timeline_worker.py CAPTURE [--size 2000x1200] [--lines 60] [--frames 120]

The widget paints offscreen, ruler, header and overview included. Every time is taken twice: by the clock, and as the
processor time of the painting thread, which other work on the machine disturbs less.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication

from warpline.storage import open_capture
from warpline_app.look.theme import DARK
from warpline_app.open.document import Document
from warpline_app.timeline.widgets.view import HEADER_WIDTH, TimelineView

FRAME_NS = 16_700_000
PAN_PX = 17
PAN_VIEWS = (1.25, 10, 100, 1_000, 10_000)
REDRAW_VIEWS = (1, 8, 64, 512, 4096)
SHORTEST_NS = 10_000


def memory_bytes() -> tuple[int, int]:
    """Anonymous and all resident memory of this process."""
    fields = {}
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        key, _, value = line.partition(":")
        if key in {"RssAnon", "VmRSS"}:
            fields[key] = int(value.split()[0]) * 1024
    return fields.get("RssAnon", 0), fields.get("VmRSS", 0)


def timed(work: Callable[[], None]) -> tuple[int, int]:
    """Clock and processor time of one call in this thread, in ns."""
    wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
    work()
    return time.perf_counter_ns() - wall, time.thread_time_ns() - cpu


class Bench:
    """A timeline under the hand."""

    def __init__(self, path: Path, width: int, height: int, lines: int) -> None:
        began = time.perf_counter()
        self.document = Document(open_capture(path))
        self.view = TimelineView(self.document, theme=DARK)
        self.view.resize(width + HEADER_WIDTH + 12, height + 62)
        self.view.show()
        QApplication.processEvents()
        self.first_s = time.perf_counter() - began
        self.memory_first = memory_bytes()
        self.wait()
        if lines:
            self._show(lines)
        self.canvas, self.scene, self.state = self.view.canvas, self.view.scene, self.view.state

    def _show(self, lines: int) -> None:
        """Opens rows where fewer lines are shown, and makes the window just high enough for so many."""
        view = self.view
        if sum(len(placed.lines) for placed in view.scene.layout.rows) < lines:
            rows = [row for row in view.scene.tree.root.walk() if row.key and row.is_foldable]
            view.state.set_all_expanded({row.key: True for row in rows if row.role != "stream"})
            self.wait()
        seen = 0
        for placed in view.scene.layout.rows:
            seen += len(placed.lines)
            if seen >= lines:
                break
        view.resize(view.width(), placed.bottom + view.height() - view.canvas.height())
        self.wait()

    def wait(self) -> None:
        """Until all idle work is done."""
        QApplication.processEvents()
        loop = QEventLoop()
        self.view.idle.connect(loop.quit)
        QTimer.singleShot(120_000, loop.quit)
        if not self.view.is_idle:
            loop.exec()
        self.view.idle.disconnect(loop.quit)

    @property
    def lines(self) -> int:
        """Lines of codes in view."""
        bottom = self.scene.scroll_px + self.canvas.height()
        return sum(len(placed.lines) for placed in self.scene.layout.between(self.scene.scroll_px, bottom))

    def look_at(self, divisor: float) -> None:
        """A view of this part of the capture, drawn and complete."""
        low, high = self.state.span
        length = max(SHORTEST_NS, int((high - low) / divisor))
        self.state.set_view((low + high) // 3, (low + high) // 3 + length)
        self.wait()

    def frames(self, step: Callable[[int], None], count: int) -> np.ndarray:
        """Clock and processor time of each frame, shape (count, 2)."""
        found = []
        for index in range(count):
            step(index)
            found.append(timed(self.canvas.repaint))
        return np.array(found)

    def yardstick(self) -> tuple[float, float]:
        """What it costs to fill pixels of this size with numpy and to show them once with Qt."""
        ratio = self.view.devicePixelRatioF()
        height, width = round(self.canvas.height() * ratio), round(self.canvas.width() * ratio)
        pixels = np.zeros((height, width), np.uint32)
        target = QImage(width, height, QImage.Format.Format_RGB32)

        def fill_and_show() -> None:
            pixels[:] = 7
            painter = QPainter(target)
            painter.drawImage(0, 0, QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGB32))
            painter.end()

        wall, cpu = np.median([timed(fill_and_show) for _ in range(15)], axis=0).tolist()
        return wall, cpu

    def pan(self, frames: int) -> np.ndarray:
        """Three runs to the right and one back, at five zooms."""
        found = []
        for divisor in PAN_VIEWS:
            self.look_at(divisor)
            found.append(
                self.frames(lambda i: self.scene.pan(-PAN_PX if i // 10 % 4 == 3 else PAN_PX), frames)
            )
        return np.concatenate(found)

    def zoom(self, frames: int) -> np.ndarray:
        """In from everything to a thousandth, and out again."""
        self.state.show_all()
        self.wait()
        middle = self.canvas.width() * 0.4
        inwards = self.frames(lambda _: self.scene.zoom(0.93, middle), frames)
        return np.concatenate([inwards, self.frames(lambda _: self.scene.zoom(1 / 0.93, middle), frames)])

    def redraw(self, count: int) -> np.ndarray:
        """Median clock and processor time of a whole redraw at the worst of five zooms."""

        def anew(_: int) -> None:
            self.canvas.renderer.cache.clear()
            self.canvas.invalidate()

        worst = np.zeros(2)
        for divisor in REDRAW_VIEWS:
            self.look_at(divisor)
            worst = np.maximum(worst, np.median(self.frames(anew, count), axis=0))
        return worst


def summary(times: np.ndarray) -> dict[str, Any]:
    """Milliseconds at percentiles, and the share of frames in time; by clock and by processor time."""
    return {
        name: {
            **{f"p{q}": float(np.percentile(column, q)) / 1e6 for q in (50, 95, 99)},
            "inside": float((column <= FRAME_NS).mean()),
        }
        for name, column in zip(("wall", "cpu"), times.T, strict=True)
    }


def measure(path: Path, width: int, height: int, lines: int, frames: int) -> dict[str, Any]:
    """Everything about one capture on one size of canvas."""
    application = QApplication.instance() or QApplication([])
    bench = Bench(path, width, height, lines)
    yard = bench.yardstick()
    cells = max(1, bench.lines * round(bench.canvas.width() * bench.view.devicePixelRatioF()))
    found: dict[str, Any] = {
        "events": len(bench.document.capture.events),
        "lanes": len(bench.document.capture.lanes),
        "lines": bench.lines,
        "width": round(bench.canvas.width() * bench.view.devicePixelRatioF()),
        "height": round(bench.canvas.height() * bench.view.devicePixelRatioF()),
        "yard_ms": [value / 1e6 for value in yard],
        "pan": summary(bench.pan(frames)),
        "zoom": summary(bench.zoom(frames)),
        "redraw_us": (bench.redraw(max(5, frames // 8)) / cells / 1e3).tolist(),
        "first_s": bench.first_s,
        "memory_first": bench.memory_first,
    }
    bench.wait()
    found["memory_end"] = memory_bytes()
    bench.view.shut_down()
    bench.document.close()
    application.processEvents()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("capture", type=Path)
    parser.add_argument("--size", default="2000x1200", help="canvas in device pixels")
    parser.add_argument("--lines", type=int, default=0, help="as high as so many lines instead")
    parser.add_argument("--frames", type=int, default=120)
    options = parser.parse_args()
    width, height = (int(part) for part in options.size.split("x"))
    print(json.dumps(measure(options.capture, width, height, options.lines, options.frames)))


if __name__ == "__main__":
    main()
