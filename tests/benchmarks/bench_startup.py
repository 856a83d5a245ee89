"""Process start to first painted frame, at several sizes of captures, cold and warm.

    python tests/benchmarks/bench_startup.py [--events 10000000 50000000] [--runs 5] [--cold] [--first] [--smoke]

The child is the product: `warpline view FILE`, with a stopwatch on the canvas. It prints when the empty window and
when the first frame of the capture were painted, as seconds since its own process was asked for, and its memory at that
moment. The yardstick is a Python that imports numpy and h5py and shows an empty Qt widget. The CPU time of all threads
up to that frame stands beside the clock: on a machine that others use it is what can be compared. `--cold` drops the
page cache before each run (root only). `--first` compiles the byte code of every package again, as at the first start
after an installation by uv; that of the standard library comes with Python.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks.generate import generate

CHILD = """
import json, os, sys, time
started = float(sys.argv[1])
import warpline_app.window.run_window as start
times = {}

def memory():
    fields = {}
    for line in open("/proc/self/smaps_rollup"):
        key, _, rest = line.partition(":")
        if rest.strip().endswith("kB"):
            fields[key] = int(rest.split()[0]) / 1024
    return {"anonymous_mb": fields.get("Anonymous", 0.0), "resident_mb": fields.get("Rss", 0.0)}

def follow(page):
    def drawn():
        if "frame" in times:
            return
        times["frame"] = time.monotonic() - started
        times["cpu"] = time.process_time()
        times.update(memory())
        print(json.dumps(times), flush=True)
        os._exit(0)
    page.view.canvas.frame_drawn.connect(drawn)

def watch():
    spared()  # as run_window does, before anything of Qt
    import warpline_app.window.main_window as window_module
    from PySide6.QtCore import QEvent, QObject, QTimer

    class Watch(QObject):
        def eventFilter(self, watched, event):
            if event.type() == QEvent.Type.UpdateRequest and "window" not in times:
                QTimer.singleShot(0, lambda: times.setdefault("window", time.monotonic() - started))
            return False

    shown = window_module.MainWindow.show
    def show(window):
        window.watch = Watch(window)
        window.installEventFilter(window.watch)
        window.windowHandle()
        window.tabs.page_opened.connect(follow)
        shown(window)
    window_module.MainWindow.show = show

spared, start.spare_sources = start.spare_sources, watch
from warpline.cli import main
sys.exit(main(["view", sys.argv[2]]))
"""

YARDSTICK = """
import sys, time
started = float(sys.argv[1])
import numpy, h5py
from PySide6.QtWidgets import QApplication, QLabel
application = QApplication([])
label = QLabel("x")
label.resize(1480, 900)
label.show()
application.processEvents()
print(time.monotonic() - started, time.process_time())
"""


def drop_caches() -> None:
    """Forget every file the kernel has in memory."""
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3\n")


def forget_compiled(prefix: Path) -> None:
    """Removes the byte code below a ``PYTHONPYCACHEPREFIX``, but not that of the standard library."""
    library = Path(sysconfig.get_path("stdlib"))
    kept = prefix / library.relative_to(library.anchor)
    for folder, _, names in os.walk(prefix):
        if not Path(folder).is_relative_to(kept) or "site-packages" in folder:
            for name in names:
                Path(folder, name).unlink()


def child(code: str, *arguments: str, cold: bool, prefix: Path | None = None) -> str:
    """Runs a snippet with the time it was asked for as its first argument; ``prefix``: nothing is compiled yet."""
    environment = {}
    if prefix is not None:
        forget_compiled(prefix)
        environment = {"PYTHONPYCACHEPREFIX": str(prefix), "XDG_CACHE_HOME": str(prefix / "cache")}
    if cold:
        drop_caches()
    environment = {**os.environ, "QT_LOGGING_RULES": "*=false", **environment}
    environment.setdefault("QT_QPA_PLATFORM", "offscreen")
    environment["XDG_CONFIG_HOME"] = tempfile.gettempdir()
    # Users have compiled modules; without them a start is mostly compiling.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    result = subprocess.run(
        [sys.executable, "-c", code, repr(time.monotonic()), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=120,
        env=environment,
        check=True,
    )
    return result.stdout


def main() -> None:
    """Prints one line per size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--file", type=Path, nargs="*", default=[], help="captures that are there already")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    sizes, runs = ([20_000], 1) if args.smoke else (args.events, args.runs)
    with tempfile.TemporaryDirectory() as folder:
        files = [(f"{size:,}", generate(Path(folder) / f"{size}.h5", size)) for size in sizes]
        files += [(path.name, path) for path in args.file]
        state = "cold" if args.cold else "warm"
        prefix = Path(folder) / "compiled" if args.first else None
        if prefix is not None:
            state += ", compiled first"
            prefix.mkdir()
        for code in (CHILD, YARDSTICK):  # fills the caches
            child(code, str(files[0][1]), cold=False, prefix=prefix)
        plain = [child(YARDSTICK, cold=args.cold, prefix=prefix).split() for _ in range(runs)]
        yardstick, yardstick_cpu = (statistics.median(float(run[i]) for run in plain) for i in (0, 1))
        print(
            f"yardstick (numpy + h5py + an empty widget, {state}): {yardstick:.3f} s, CPU {yardstick_cpu:.3f} s"
        )
        print(
            f"{'events':>12} {'window s':>9} {'frame s':>8} {'ratio':>6} {'worst s':>8} {'CPU s':>6} {'ratio':>6} "
            f"{'anon MB':>8} {'RSS MB':>7}"
        )
        for name, path in files:
            answers = [
                json.loads(child(CHILD, str(path), cold=args.cold, prefix=prefix)) for _ in range(runs)
            ]
            middle = {
                key: statistics.median(answer.get(key, 0.0) for answer in answers) for key in answers[0]
            }
            worst = max(answer["frame"] for answer in answers)
            print(
                f"{name:>12} {middle.get('window', 0):>9.3f} {middle['frame']:>8.3f} "
                f"{middle['frame'] / yardstick:>6.2f} {worst:>8.3f} {middle['cpu']:>6.3f} "
                f"{middle['cpu'] / yardstick_cpu:>6.2f} {middle['anonymous_mb']:>8.1f} {middle['resident_mb']:>7.1f}"
            )


if __name__ == "__main__":
    main()
