"""What storage benchmarks share: anonymous memory, cold files, tables, captures to measure on."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY)]

from tests.benchmarks.generate import generate  # noqa: E402  # the path is known only now


def anonymous_bytes() -> int:
    """Resident memory of this process that no file stands behind (Linux)."""
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return 0


class PeakMemory:
    """The highest anonymous memory while the block runs, looked at every few milliseconds."""

    def __enter__(self) -> Self:
        self.peak_bytes = anonymous_bytes()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._done.wait(0.005):
            self.peak_bytes = max(self.peak_bytes, anonymous_bytes())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()


def make_cold(path: Path) -> None:
    """Drops the file's pages from the system's cache, as far as the system allows."""
    os.sync()
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def best_of(times: int, work: Callable[[], object]) -> float:
    """Seconds of processor time of the fastest of several runs."""
    best = float("inf")
    for _ in range(times):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def capture_of(folder: Path, events: int, lanes: int = 60) -> Path:
    """A generated capture of this size in ``folder``, made when it is not there."""
    path = folder / f"{events}.h5" if lanes == 60 else folder / f"{events}x{lanes}.h5"
    if not path.exists():
        part = path.with_suffix(".making")
        generate(part, events, lanes)
        part.rename(path)
    return path


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Prints columns, right-aligned."""
    texts = [list(map(str, head)), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in texts) for column in range(len(head))]
    for row in texts:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
    print(flush=True)


def arguments(description: str, default: Sequence[int]) -> tuple[list[int], Path]:
    """Sizes and the folder of captures from the command line: ``--events N…``, ``--folder DIR``, ``--smoke``."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--events", type=int, nargs="+", default=list(default))
    parser.add_argument(
        "--folder", type=Path, default=Path(os.environ.get("WARPLINE_BENCH_DATA", "build/bench"))
    )
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    return ([20_000, 50_000] if options.smoke else options.events), options.folder
