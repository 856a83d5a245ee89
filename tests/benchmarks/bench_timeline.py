"""The timeline under the hand, in tables: first frame, pan and zoom, memory, what the level of detail costs.

    python tests/benchmarks/bench_timeline.py [--events 1000000 10000000 50000000] [--lanes 500] [--folder DIR]

Bars (60 lanes × 2000 pixels): first frame ≤ 1 s, and that of the largest ≤ 1.5 × that of 10 M events, cold and warm;
99 % of the frames of a pan ≤ 16.7 ms; p95 of a zoom ≤ 20 ms; a whole redraw ≤ 0.25 us per lane and pixel; at most 150
MB of anonymous memory at the first frame; level of detail ≤ 25 % of the event columns and ≤ 60 ns/event to build.
Queries follow as `bench_query.py` takes them.

Frames are taken by the clock and by the processor time of the painting thread. On a machine that others use the clock
tells of them: then processor time is what can be compared, and its ratio to the yardstick, which fills the pixels of
one frame with numpy and shows them with Qt.

``--cgroup DIR`` names an empty control group of yours for the run in limited memory; its limit is set to 400 MB and
the page cache of the file counts. Without one, the peak of anonymous memory is watched instead: pages of the file can
always be dropped.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

import h5py  # noqa: E402  # the path above comes first
import numpy as np  # noqa: E402  # the path above comes first
from tests.benchmarks import bench_query  # noqa: E402  # the path above comes first
from tests.benchmarks.bench_startup import CHILD, YARDSTICK, child  # noqa: E402  # the path above comes first
from tests.benchmarks.measuring import best_of, capture_of, make_cold, table  # noqa: E402  # the path above comes first

from warpline.storage import open_capture  # noqa: E402  # the path above comes first
from warpline.storage.index.build_levels import build_levels  # noqa: E402  # the path above comes first

WORKER = Path(__file__).with_name("timeline_worker.py")
SIZES = ("2000x1200", "3840x2160")
LIMIT_BYTES = 400 << 20
BUILT_EVENTS = 5_000_000
Found = dict[str, Any]


def first_frames(paths: list[Path], runs: int) -> None:
    """Process start to the first painted frame of the whole program, the file's pages warm and dropped."""
    child(CHILD, str(paths[0]), cold=False)
    bare = statistics.median(float(child(YARDSTICK, cold=False).split()[0]) for _ in range(runs))
    rows = []
    for state in ("warm", "cold"):
        for path in paths:
            answers = []
            for _ in range(runs):
                if state == "cold":
                    make_cold(path)
                answers.append(json.loads(child(CHILD, str(path), cold=False)))
            middle = {key: statistics.median(answer[key] for answer in answers) for key in answers[0]}
            rows.append(
                [
                    path.stem,
                    state,
                    f"{middle['frame']:.2f} s",
                    f"{middle['cpu']:.2f} s",
                    f"{middle['frame'] / bare:.2f}",
                    f"{middle['anonymous_mb']:.0f} MB",
                    f"{middle['resident_mb']:.0f} MB",
                ]
            )
    print(f"First frame (yardstick: numpy, h5py and an empty widget, {bare:.2f} s)")
    table(["capture", "file", "first frame", "processor", "× yard", "anonymous", "resident"], rows)


def in_motion(path: Path, size: str, lines: int, frames: int) -> Found:
    """What the worker measured in a fresh process."""
    command: list[str | Path] = [sys.executable, WORKER, path, "--size", size]
    command += ["--lines", str(lines), "--frames", str(frames)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: Found = json.loads(done.stdout.splitlines()[-1])
    return found


def motion_rows(path: Path, found: Found) -> list[list[object]]:
    """One row by the clock and one by processor time."""
    rows: list[list[object]] = []
    for index, kind in enumerate(("wall", "cpu")):
        pan, zoom, yard = found["pan"][kind], found["zoom"][kind], found["yard_ms"][index]
        rows.append(
            [
                path.stem if not index else "",
                f"{found['lines']} × {found['width']}" if not index else "",
                "clock" if not index else "processor",
                *(f"{pan[key]:.1f}" for key in ("p50", "p95", "p99")),
                f"{pan['inside']:.1%}",
                *(f"{zoom[key]:.1f}" for key in ("p50", "p95", "p99")),
                f"{found['redraw_us'][index]:.3f}",
                f"{yard:.1f}",
                f"{pan['p50'] / yard:.1f}",
                f"{zoom['p95'] / yard:.1f}",
                f"{found['memory_first'][0] >> 20} MB" if not index else "",
                f"{found['memory_end'][0] >> 20} MB" if not index else "",
                f"{found['memory_end'][1] >> 20} MB" if not index else "",
            ]
        )
    return rows


def motion(cases: list[tuple[Path, str, int]], frames: int) -> None:
    """Pan, zoom and whole redraws."""
    rows = []
    for path, size, lines in cases:
        rows += motion_rows(path, in_motion(path, size, lines, frames))
    print(f"Frames, in ms ({frames} for each of five zooms to pan at, and for zooming in and out)")
    table(
        ["capture", "lines × px", "by", "pan p50", "p95", "p99", "≤16.7", "zoom p50", "p95", "p99",
         "redraw us/px", "yard", "pan/yard", "zoom/yard", "anon first", "anon end", "resident"],
        rows,
    )  # fmt: skip


def detail(paths: list[Path]) -> None:
    """Size of the level of detail, and the processor time of making it from the columns of some lanes."""
    rows = []
    for path in paths:
        with h5py.File(path) as file:
            columns = sum(file["events"][name].id.get_storage_size() for name in file["events"])
            levels = sum(
                file["lod"][name].id.get_storage_size() for name in ("start", "longest", "rest", "row")
            )
            skip = sum(file["lod"][name].id.get_storage_size() for name in ("skip_events", "skip_entries"))
        with open_capture(path) as capture:
            events, n, spent = capture.events, 0, 0.0
            for first, count in zip(capture.lanes.first.tolist(), capture.lanes.count.tolist(), strict=True):
                if n >= BUILT_EVENTS:
                    break
                part = slice(first, first + count)
                lane = [
                    column[part].copy()
                    for column in (events.start, events.duration, events.flags, events.kind)
                ]
                spent += best_of(1, partial(lambda made: list(build_levels(*made)), lane))
                n += count
            total = len(events)
        yard = best_of(1, partial(sort_random, n))
        rows.append(
            [
                path.stem,
                f"{total:,}",
                f"{path.stat().st_size / total:.1f} B",
                f"{levels / columns:.1%}",
                f"{skip / columns:.2%}",
                f"{spent / n * 1e9:.0f} ns",
                f"{spent / yard:.2f}",
            ]
        )
    print(
        "Level of detail (built again from at most 5 M events; yardstick: numpy draws and sorts as many numbers)"
    )
    table(["capture", "events", "file/event", "levels/columns", "skip index", "build/event", "× yard"], rows)


def sort_random(n: int) -> None:
    """The yardstick of building."""
    np.sort(np.random.default_rng(0).integers(0, 1 << 60, n))


def limited(path: Path, cgroup: Path | None, frames: int) -> None:
    """Pan and zoom with little memory, and how much of it was used."""
    command = [str(part) for part in (sys.executable, WORKER, path, "--frames", frames)]
    how = "peak of anonymous memory, watched"
    if cgroup is not None:
        limit = cgroup / "memory.max"
        limit = limit if limit.exists() else cgroup / "memory.limit_in_bytes"
        limit.write_text(str(LIMIT_BYTES))
        join = f'echo $$ > "{cgroup}/cgroup.procs" && exec "$@"'
        command = ["sh", "-c", join, "sh", *command]
        how = "in a control group"
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak = {"RssAnon": 0, "VmRSS": 0}

    def watch() -> None:
        while worker.poll() is None:
            try:
                status = Path(f"/proc/{worker.pid}/status").read_text(encoding="ascii")
            except OSError:
                return
            for line in status.splitlines():
                key, _, value = line.partition(":")
                if key in peak:
                    peak[key] = max(peak[key], int(value.split()[0]) << 10)
            time.sleep(0.01)

    watcher = threading.Thread(target=watch)
    watcher.start()
    out, _ = worker.communicate()
    watcher.join()
    if worker.returncode:
        print(f"In {LIMIT_BYTES >> 20} MB ({how}): {path.stem} ended with status {worker.returncode}")
        return
    found = json.loads(out.splitlines()[-1])
    print(
        f"In {LIMIT_BYTES >> 20} MB ({how}): {path.stem}, {found['events']:,} events: "
        f"pan p50 {found['pan']['wall']['p50']:.1f} ms, zoom p50 {found['zoom']['wall']['p50']:.1f} ms; "
        f"peak anonymous {peak['RssAnon'] >> 20} MB, resident {peak['VmRSS'] >> 20} MB\n"
    )


def run(
    events: list[int], lanes: list[int], folder: Path, runs: int, frames: int, cgroup: Path | None
) -> None:
    """All tables."""
    paths = [capture_of(folder, count) for count in events]
    wide = [capture_of(folder, min(events[-1], 10_000_000), count) for count in lanes]
    first_frames(paths, runs)
    cases = [(path, SIZES[0], 60) for path in paths]
    cases += [(path, SIZES[1], 0) for path in (paths[-1], *wide)]
    cases += [(path, SIZES[0], 0) for path in wide]
    motion(cases, frames)
    detail(paths)
    limited(paths[min(len(paths) - 1, 2)], cgroup, frames)


def test_timeline(bench_smoke: bool, tmp_path: Path) -> None:
    """Prints the tables."""
    if bench_smoke:
        run([20_000], [], tmp_path, 1, 3, None)
    else:
        run([1_000_000, 5_000_000], [300], tmp_path, 3, 60, None)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, nargs="+", default=[1_000_000, 10_000_000, 50_000_000])
    parser.add_argument("--lanes", type=int, nargs="*", default=[500], help="more captures, of 10 M events")
    parser.add_argument(
        "--folder", type=Path, default=Path(os.environ.get("WARPLINE_BENCH_DATA", "build/bench"))
    )
    parser.add_argument(
        "--query", type=int, nargs="*", default=[5_000_000, 50_000_000], help="sizes for queries"
    )
    parser.add_argument("--runs", type=int, default=5, help="starts of the program for each first frame")
    parser.add_argument("--frames", type=int, default=120)
    parser.add_argument("--cgroup", type=Path, help="an empty control group that may be limited")
    parser.add_argument("--smoke", action="store_true", help="a tiny run that only shows that it works")
    options = parser.parse_args()
    if options.smoke:
        options.events, options.lanes, options.runs, options.frames = [20_000], [], 1, 3
        options.query = [20_000]
    options.folder.mkdir(parents=True, exist_ok=True)
    run(options.events, options.lanes, options.folder, options.runs, options.frames, options.cgroup)
    if options.query:
        print("Queries of all lanes on 2000 pixels, at every zoom")
        bench_query.run(options.query, options.folder)


if __name__ == "__main__":
    main()
