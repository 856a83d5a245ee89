"""The map of a large job: how long a frame of it takes, beside one pass of numpy over its cells.

    python tests/benchmarks/jobview/bench_job_map.py [--ranks 4096] [--steps 1000] [--smoke]

Cells of a job that was never recorded are painted on 1600 × 800 pixels: all of them (every pixel shares cells), while
zooming in at the middle, while panning over a quarter, and while the pointer moves, which paints over an image that is
kept. The yardstick is the largest of all cells, by numpy. Times are of the processor, the median of a motion's frames.
Bars: a frame that reads all cells ≤ 30 × the yardstick, one of the pointer ≤ 10 ×.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[3])]
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from tests.benchmarks.jobview.made_job import made_job  # noqa: E402  # found through the path above
from tests.benchmarks.measuring import table  # noqa: E402  # found through the path above

ALL_BAR, POINTER_BAR = 30.0, 10.0


def frames_of(act: Callable[[int], None], paint: Callable[[], None], count: int) -> float:
    """Seconds of processor time of a frame, the median."""
    found = []
    for number in range(count):
        act(number)
        begin = time.process_time()
        paint()
        found.append(time.process_time() - begin)
    return statistics.median(found)


def run(ranks: int, steps: int, frames: int) -> bool:
    """Prints a line for each motion; returns whether the bars are held."""
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtWidgets import QApplication

    from warpline_app.job.map_canvas import JobMapCanvas
    from warpline_app.open.job.board import JobBoard
    from warpline_app.remembered.settings import Settings

    application = QApplication.instance() or QApplication([])
    board = JobBoard(made_job(ranks, steps), [Path("job")], Settings.kept_nowhere())
    canvas = JobMapCanvas(board)
    canvas.resize(1600, 800)
    canvas.fit()
    picture = QImage(canvas.size(), QImage.Format.Format_RGB32)

    def paint() -> None:
        painter = QPainter(picture)
        canvas.draw(painter, 1.0)
        painter.end()

    def forget(_number: int) -> None:
        canvas.forget_image()

    def hover(number: int) -> None:
        board.set_hover((number % ranks, number % steps))

    cells = board.map.cells(board.column)
    most: list[float] = []
    yardstick = frames_of(lambda _number: most.clear(), lambda: most.append(float(cells.max())), frames)
    paint()
    times = {
        "all": frames_of(forget, paint, frames),
        "pointer": frames_of(hover, paint, frames),
        "zoom": frames_of(
            lambda _number: canvas.set_view(canvas.rows.zoomed(0.9, 400), canvas.steps.zoomed(0.9, 800)),
            paint,
            frames,
        ),
        "pan": frames_of(
            lambda _number: canvas.set_view(canvas.rows.moved(3), canvas.steps.moved(1)), paint, frames
        ),
    }
    rows = [["numpy, one pass", f"{1e3 * yardstick:.2f}", "1.0"]]
    rows += [[name, f"{1e3 * one:.2f}", f"{one / yardstick:.1f}"] for name, one in times.items()]
    print(f"\n{ranks:,} ranks x {steps:,} steps, 1600 x 800 pixels")
    table(["frame", "ms", "x numpy"], rows)
    del application
    return times["all"] <= ALL_BAR * yardstick and times["pointer"] <= POINTER_BAR * yardstick


def test_bench_job_map(bench_smoke: bool) -> None:
    """The bars; a small map and no bars where it should only run."""
    ranks, steps, frames = (64, 50, 3) if bench_smoke else (4_096, 1_000, 40)
    held = run(ranks, steps, frames)
    assert held or bench_smoke


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ranks", type=int, default=4_096)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--frames", type=int, default=40)
    parser.add_argument("--smoke", action="store_true")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.ranks, arguments.steps, arguments.frames = 64, 50, 3
    sys.exit(0 if run(arguments.ranks, arguments.steps, arguments.frames) or arguments.smoke else 1)
