"""Frames of one timeline, or of two that move as one, in a process of its own; for bench_locked.py: prints JSON.

    python tests/benchmarks/comparing/locked_worker.py A [B] [--width 2000] [--lines 60] [--frames 120]

With two captures the tab of a comparison is shown, with half of the lines in each timeline. A frame is a step of the
hand and all that the window paints for it: canvases, headers, rulers, overviews. Every time is taken twice: by the
clock, and as the processor time of the painting thread, which other work on the machine disturbs less.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path[:0] = [str(Path(__file__).resolve().parents[3])]

import numpy as np  # noqa: E402  # the path above comes first
from PySide6.QtCore import QEventLoop, QTimer  # noqa: E402  # the path above comes first
from PySide6.QtWidgets import QApplication, QWidget  # noqa: E402  # the path above comes first
from tests.benchmarks.timeline_worker import (  # noqa: E402  # the path above comes first
    PAN_PX,
    PAN_VIEWS,
    SHORTEST_NS,
    summary,
    timed,
)

from warpline.analysis.compare.alignment import Align  # noqa: E402  # the path above comes first
from warpline.analysis.compare.comparison import CaptureRun, Choices, compare  # noqa: E402  # the path above comes first
from warpline.library.opening import Opened  # noqa: E402  # the path above comes first
from warpline.storage import open_capture  # noqa: E402  # the path above comes first
from warpline_app.comparison.page import ComparisonPage  # noqa: E402  # the path above comes first
from warpline_app.look.theme import DARK  # noqa: E402  # the path above comes first
from warpline_app.open.comparing import ComparedFiles, ComparedPair  # noqa: E402  # the path above comes first
from warpline_app.open.document import Document  # noqa: E402  # the path above comes first
from warpline_app.open.workspace import Workspace  # noqa: E402  # the path above comes first
from warpline_app.remembered.settings import Settings  # noqa: E402  # the path above comes first
from warpline_app.timeline.widgets.view import HEADER_WIDTH, TimelineView  # noqa: E402  # the path above comes first

COMPARED = (0, 50_000_000)
"""What of both is compared, ns: the benchmark is about what moves."""
BESIDE_PX = HEADER_WIDTH + 12


class Hand:
    """Timelines that a hand moves by the first of them."""

    def __init__(self, window: QWidget, views: tuple[TimelineView, ...], lines: int, width_px: int) -> None:
        self.window, self.views = window, views
        self.first = views[0]
        window.resize(width_px + BESIDE_PX, 1200)
        window.show()
        self.wait()
        for view in views:
            rows = [row for row in view.scene.tree.root.walk() if row.key and row.is_foldable]
            view.state.set_all_expanded({row.key: True for row in rows if row.role != "stream"})
        self.wait()
        self.heights = [_height_for(view, lines // len(views)) for view in views]

    def wait(self) -> None:
        """Until all idle work of all timelines is done."""
        QApplication.processEvents()
        for view in self.views:
            loop = QEventLoop()
            view.idle.connect(loop.quit)
            QTimer.singleShot(120_000, loop.quit)
            if not view.is_idle:
                loop.exec()
            view.idle.disconnect(loop.quit)

    @property
    def lines(self) -> int:
        """Lines in view, of all timelines."""
        found = 0
        for view in self.views:
            bottom = view.scene.scroll_px + view.canvas.height()
            found += sum(len(row.lines) for row in view.scene.layout.between(view.scene.scroll_px, bottom))
        return found

    def look_at(self, divisor: float) -> None:
        """A view of this part of the capture, drawn and complete."""
        low, high = self.first.state.span
        length = max(SHORTEST_NS, int((high - low) / divisor))
        self.first.state.set_view((low + high) // 3, (low + high) // 3 + length)
        self.wait()

    def frames(self, step: Callable[[int], None], count: int) -> np.ndarray:
        """Clock and processor time of each step with what the window paints for it, shape (count, 2)."""

        def frame(index: int) -> None:
            step(index)
            QApplication.processEvents()

        return np.array([timed(partial(frame, index)) for index in range(count)])

    def pan(self, frames: int) -> np.ndarray:
        """Three runs to the right and one back, at five zooms."""
        found, scene = [], self.first.scene
        for divisor in PAN_VIEWS:
            self.look_at(divisor)
            found.append(self.frames(lambda i: scene.pan(-PAN_PX if i // 10 % 4 == 3 else PAN_PX), frames))
        return np.concatenate(found)

    def zoom(self, frames: int) -> np.ndarray:
        """In from everything to a thousandth, and out again."""
        self.first.state.show_all()
        self.wait()
        scene, middle = self.first.scene, self.first.canvas.width() * 0.4
        inwards = self.frames(lambda _: scene.zoom(0.93, middle), frames)
        return np.concatenate([inwards, self.frames(lambda _: scene.zoom(1 / 0.93, middle), frames)])


def _height_for(view: TimelineView, lines: int) -> int:
    """The height of a view whose canvas shows so many lines."""
    seen, bottom = 0, 0
    for placed in view.scene.layout.rows:
        seen += len(placed.lines)
        bottom = placed.bottom
        if seen >= lines:
            break
    return bottom + view.height() - view.canvas.height()


def one(path: Path, lines: int, width_px: int) -> tuple[Hand, Callable[[], None]]:
    """A timeline alone, and what ends it."""
    document = Document(open_capture(path))
    view = TimelineView(document, theme=DARK)
    hand = Hand(view, (view,), lines, width_px)
    view.resize(view.width(), hand.heights[0])

    def end() -> None:
        view.shut_down()
        document.close()

    return hand, end


def pair(paths: tuple[Path, Path], lines: int, width_px: int) -> tuple[Hand, Callable[[], None]]:
    """The tab of two captures, and what ends it."""
    captures = [open_capture(path) for path in paths]
    runs = [CaptureRun(c, str(path), COMPARED) for c, path in zip(captures, paths, strict=True)]
    found = compare([runs[0]], [runs[1]], Choices(align=Align.RANGE))
    a, b = (Opened(capture, path) for capture, path in zip(captures, paths, strict=True))
    shown = ComparedPair(ComparedFiles(a, b, found))
    page = ComparisonPage(shown, Workspace(Settings.kept_nowhere()))
    hand = Hand(page, page.views, lines, width_px)
    around = page.height() - sum(view.height() for view in page.views)
    page.resize(page.width(), around + sum(hand.heights))
    boxes = [view.parentWidget() for view in page.views]
    strips = [
        box.height() - view.height() for box, view in zip(boxes, page.views, strict=True) if box is not None
    ]
    page.splitter.setSizes([*np.add(hand.heights, strips).tolist(), page.splitter.sizes()[2]])

    def end() -> None:
        page.take_timelines_away()
        page.close()
        shown.close()

    return hand, end


def measure(paths: list[Path], lines: int, width_px: int, frames: int) -> dict[str, Any]:
    """Everything about one timeline or two."""
    application = QApplication.instance() or QApplication([])
    hand, end = (
        one(paths[0], lines, width_px) if len(paths) == 1 else pair((paths[0], paths[1]), lines, width_px)
    )
    hand.wait()
    found = {
        "lines": hand.lines,
        "width": hand.first.canvas.width(),
        "pan": summary(hand.pan(frames)),
        "zoom": summary(hand.zoom(frames)),
    }
    end()
    application.processEvents()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("captures", type=Path, nargs="+")
    parser.add_argument("--width", type=int, default=2000, help="of each canvas, in device pixels")
    parser.add_argument("--lines", type=int, default=60, help="in view, of all timelines together")
    parser.add_argument("--frames", type=int, default=120)
    options = parser.parse_args()
    print(json.dumps(measure(options.captures, options.lines, options.width, options.frames)))


if __name__ == "__main__":
    main()
