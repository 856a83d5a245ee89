"""Frames of the timeline while a hand pans and zooms: wall and CPU time per frame, and memory.

    python tests/benchmarks/bench_timeline.py [--events 10000000] [--lanes 60] [--size 2000x1200] [--scale 1] [--smoke]

Frames are painted offscreen by the widget itself, ruler, header and overview included. The yardstick is what
numpy and Qt need to fill and show a frame of this size once; ratios to it carry over to other machines.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

FRAME_NS = 16_700_000
PAN_BAR = 0.99
ZOOM_P95_NS = 20_000_000
LANE_PIXEL_NS = 250


def main() -> None:
    """Parses the command line and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--lanes", type=int, default=60)
    parser.add_argument("--size", default="2000x1200", help="canvas in logical pixels")
    parser.add_argument("--scale", type=float, default=1.0, help="device pixels per logical pixel")
    parser.add_argument("--capture", type=Path, help="measure on this capture instead of a synthetic one")
    parser.add_argument("--smoke", action="store_true", help="a tiny run that only shows that it works")
    options = parser.parse_args()
    if options.smoke:
        options.events, options.size = 50_000, "600x400"
    os.environ["QT_SCALE_FACTOR"] = str(options.scale)
    width, height = (int(part) for part in options.size.split("x"))
    if options.capture is not None:
        measure(options.capture, width, height, 20 if options.smoke else 120)
        return
    from tests.benchmarks.generate import generate

    with tempfile.TemporaryDirectory() as folder:
        path = generate(Path(folder) / "bench.h5", options.events, options.lanes)
        measure(path, width, height, 20 if options.smoke else 120)


def measure(path: Path, width: int, height: int, frames: int) -> None:
    """Prints the table for one capture."""
    import numpy as np
    from PySide6.QtCore import QEventLoop, QTimer
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtWidgets import QApplication

    application = QApplication.instance() or QApplication([])
    from warpline.storage import open_capture
    from warpline_app.state import Document
    from warpline_app.theme import DARK
    from warpline_app.timeline.view import HEADER_WIDTH, TimelineView

    begin = time.perf_counter_ns()
    document = Document(open_capture(path))
    view = TimelineView(document, theme=DARK)
    view.resize(width + HEADER_WIDTH + 12, height + 62)
    view.show()
    application.processEvents()
    first_frame_ns = time.perf_counter_ns() - begin
    memory_first = anonymous_bytes()

    def wait() -> None:
        loop = QEventLoop()
        view.idle.connect(loop.quit)
        QTimer.singleShot(30_000, loop.quit)
        if not view.is_idle:
            loop.exec()
        view.idle.disconnect(loop.quit)

    wait()
    canvas, scene, state = view.canvas, view.scene, view.state
    ratio = view.devicePixelRatioF()
    device = (round(canvas.height() * ratio), round(canvas.width() * ratio))
    pixels, target = np.zeros(device, np.uint32), QImage(device[1], device[0], QImage.Format.Format_RGB32)

    def yardstick() -> None:
        pixels[:] = 7
        image = QImage(pixels.data, device[1], device[0], 4 * device[1], QImage.Format.Format_RGB32)
        painter = QPainter(target)
        painter.drawImage(0, 0, image)
        painter.end()

    unit = float(np.median([timed(yardstick)[0] for _ in range(15)]))
    lines = sum(len(placed.lines) for placed in scene.layout.between(0, canvas.height()))
    print(
        f"{path.name}: {len(document.capture.events):,} events, {len(document.capture.lanes)} lanes, "
        f"{lines} lines visible on {device[1]}×{device[0]} pixels"
    )
    print(
        f"yardstick (fill and show one frame): {unit / 1e6:.2f} ms; "
        f"first frame "
        f"{first_frame_ns / 1e6:.0f} ms after opening began; anonymous memory then {memory_first / 2**20:.0f} MB"
    )
    print(
        f"{'':28}{'median':>9}{'p95':>9}{'p99':>9}{'worst':>9}   ms   {'CPU med.':>9}{'×yard':>8}  {'≤16.7 ms':>9}"
    )

    def paint() -> None:
        canvas.repaint()

    def table(name: str, step: Callable[[int], None], count: int) -> np.ndarray:
        wall, cpu = [], []
        for index in range(count):
            step(index)
            w, c = timed(paint)
            wall.append(w)
            cpu.append(c)
        times = np.array(wall)
        p = [float(np.percentile(times, q)) / 1e6 for q in (50, 95, 99, 100)]
        inside = float((times <= FRAME_NS).mean())
        print(
            f"{name:28}"
            + "".join(f"{value:9.1f}" for value in p)
            + f"        {np.median(cpu) / 1e6:9.1f}{p[0] * 1e6 / unit:8.1f}  {inside:9.1%}"
        )
        return times

    def pan_step(index: int) -> None:
        # Three runs to the right, one back.
        scene.pan(-17 if index // 10 % 4 == 3 else 17)

    def zoom_by(factor: float) -> Callable[[int], None]:
        return lambda _index: scene.zoom(factor, width * 0.4)

    low, high = state.span
    every_pan, every_zoom = [], []
    for divisor in (1.25, 10, 100, 1_000, 10_000):
        length = max(10_000, int((high - low) / divisor))
        state.set_view((low + high) // 3, (low + high) // 3 + length)
        wait()
        every_pan.append(table(f"pan 17 px, 1/{divisor:g}", pan_step, frames))
    wait()
    for factor, name in ((0.93, "zoom in from everything"), (1 / 0.93, "zoom out again")):
        if factor < 1:
            state.show_all()
            wait()
        every_zoom.append(table(name, zoom_by(factor), frames))
    worst = 0.0
    for divisor in (1, 8, 64, 512, 4096):
        length = max(10_000, int((high - low) / divisor))
        state.set_view((low + high) // 3, (low + high) // 3 + length)

        def anew(_i: int) -> None:
            canvas.renderer.cache.clear()
            canvas.invalidate()

        times = table(f"whole redraw, 1/{divisor}", anew, max(5, frames // 8))
        worst = max(worst, float(np.median(times)) / max(1, lines * device[1]))
    pan, zoom = np.concatenate(every_pan), np.concatenate(every_zoom)
    wait()
    print(
        f"pan: {float((pan <= FRAME_NS).mean()):.1%} of frames ≤ 16.7 ms (bar 99 %)   "
        f"zoom: p95 {np.percentile(zoom, 95) / 1e6:.1f} ms (bar 20)   "
        f"worst whole redraw: {worst / 1000:.3f} us per lane-pixel (bar 0.25)   "
        f"anonymous memory {anonymous_bytes() / 2**20:.0f} MB"
    )
    view.shut_down()
    document.close()


def timed(work: Callable[[], None]) -> tuple[int, int]:
    """Wall and CPU time of one call, in ns."""
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    work()
    return time.perf_counter_ns() - wall, time.process_time_ns() - cpu


def anonymous_bytes() -> int:
    """Anonymous memory of this process; 0 where the system does not tell."""
    try:
        text = Path("/proc/self/smaps_rollup").read_text()
    except OSError:
        return 0
    return next(
        (int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Anonymous:")), 0
    )


if __name__ == "__main__":
    main()
