"""Starts the window again and again on a busy machine: ``python -m tests.soak.starts [--count 300] [--tree DIR …]``.

Each start is a process of its own: ``warpline view`` of a small capture, its first frames, some panels, a second
capture that is opened meanwhile, the end. Half of them switch between threads every 10 µs. ``--busy`` processes keep
the cores from it. Several ``--tree`` (checkouts with their compiled helpers) take turns, so that they meet the same
load. Prints how the starts of each tree ended; faults and the folders with core dumps are kept in ``--work``. The exit
status is 1 when a start ended badly.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.gui.sample import write_sample

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 240
_START = """
import faulthandler, sys
faulthandler.enable()
tree, capture, other, ids, interval = sys.argv[1:]
sys.path[:0] = [tree + "/app", tree + "/capture"]
sys.setswitchinterval(float(interval))
import warpline_app.window.run_window as start

def use():
    from PySide6.QtCore import QTimer
    from pathlib import Path
    import warpline_app
    assert warpline_app.__file__.startswith(tree), warpline_app.__file__
    from warpline_app.window.main_window import open_windows
    (window,) = open_windows()
    wanted = ids.split(",")
    timer = QTimer(window)
    state = {"ticks": 0, "other": False}

    def tick():
        state["ticks"] += 1
        page = window.tabs.timeline_page
        if page is None or window.workspace.is_opening:
            return
        if not state["other"]:
            state["other"] = True
            window.workspace.open_file(Path(other))
        elif wanted:
            window.panels.show_panel(wanted.pop(0))
        elif page.view.is_idle and window.panels.is_settled:
            timer.stop()
            window.grab()
            print("seen", state["ticks"], flush=True)
            window.close()

    timer.timeout.connect(tick)
    timer.start(5)

tell, start.tell_failures = start.tell_failures, lambda: (tell(), use())
from warpline.cli import main
sys.exit(main(["view", capture]))
"""


def start(tree: Path, captures: list[Path], number: int, work: Path) -> tuple[str, str]:
    """How one start ended, in a word, and what it said."""
    rng = random.Random(number)
    folder = Path(tempfile.mkdtemp(prefix=f"start-{number}-", dir=work))
    first, second = rng.sample(captures, 2)
    panels = rng.sample(panel_ids(), 4)
    interval = "1e-5" if number % 2 else "5e-3"
    environment = {
        **os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_CACHE_HOME": str(work / "cache"),
        "QT_QPA_PLATFORM": "offscreen",
    }  # fmt: skip
    words = [sys.executable, "-c", _START, str(tree), str(first), str(second), ",".join(panels), interval]
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        return "held up", str(error.stderr)
    if done.returncode == 0 and done.stdout.startswith("seen") and "Fatal" not in done.stderr:
        shutil.rmtree(folder)
        return "good", done.stderr
    (folder / "errors.txt").write_text(f"{words[4:]}\n{done.stdout}\n{done.stderr}")
    return f"status {done.returncode}", done.stderr


def panel_ids() -> list[str]:
    """Those of every panel there is."""
    from warpline_app.panels.frame.registry import all_panels

    return [spec.id for spec in all_panels()]


def main() -> int:
    """Prints how the starts ended."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=300, help="starts of each tree")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one")
    parser.add_argument("--tree", type=Path, nargs="+", default=[ROOT])
    parser.add_argument("--busy", type=int, default=2, help="processes that compute beside it")
    parser.add_argument("--work", type=Path, default=ROOT / "build/starts")
    options = parser.parse_args()
    work = options.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    captures = [write_sample(work / f"sample{number}.h5") for number in range(3)]
    counts: dict[Path, Counter[str]] = {tree: Counter() for tree in options.tree}
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.busy)]
    try:
        for number in range(options.first, options.first + options.count):
            for tree in options.tree:
                how, said = start(tree.absolute(), captures, number, work)
                counts[tree][how] += 1
                if how != "good":
                    print(f"{tree}, start {number}: {how}: {said.strip()[-300:]}", flush=True)
            if number % 25 == 24:
                print({str(tree): dict(count) for tree, count in counts.items()}, flush=True)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    for tree, count in counts.items():
        print(
            f"{tree}: {sum(count.values())} starts: {', '.join(f'{n} {how}' for how, n in sorted(count.items()))}"
        )
    return int(any(set(count) - {"good"} for count in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
