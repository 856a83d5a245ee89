"""Draws strips of damaged columns with a compiled loop: `python strip_worker.py LIBRARY ROUNDS`.

Arrays lie on the heap exactly as long as they are, so that a sanitizer in the library sees every step beside them.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np


def damaged(rng: np.random.Generator, column: np.ndarray) -> np.ndarray:
    """A copy in which some values are others: those of neighbours, extremes, or anything."""
    result = np.array(column)
    n = len(result)
    if not n:
        return result
    info = np.iinfo(result.dtype)
    places = rng.integers(0, n, rng.integers(1, 2 + n // 4))
    others = (
        np.full(len(places), info.min, result.dtype),
        np.full(len(places), info.max, result.dtype),
        result[rng.integers(0, n, len(places))],
        np.frombuffer(rng.bytes(len(places) * result.itemsize), result.dtype),
    )
    result[places] = np.choose(rng.integers(0, len(others), len(places)), others)
    return result


def main(library: str, rounds: int) -> None:
    from tests.unit.storage.storage_tools import random_lane, write_lanes

    from warpline.storage.index import strip_native

    strip_native.LIBRARY = Path(library)
    lib = strip_native.library()
    assert lib is not None
    rng = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as folder:
        shapes = ("bursty", "uniform", "adjacent", "instants")
        lanes = [random_lane(rng, n, shape) for n, shape in zip((4000, 1500, 300, 1), shapes, strict=True)]
        capture = write_lanes(Path(folder) / "x.h5", lanes)
        columns = dict(strip_native._columns_of(capture.events, capture.lanes, capture.pyramid))
        mapped = ("start", "duration", "kind", "flags", "entry_start", "longest", "rest", "row")
        low, high = capture.span
        rectangles = 0
        for number in range(rounds):
            chosen = {name: damaged(rng, columns[name]) for name in mapped} if number % 5 else columns
            for name in ("skip_events", "skip_entries"):
                chosen = {**chosen, name: damaged(rng, columns[name])}
            loop = strip_native.StripLoop(lib, {**columns, **chosen}, len(capture.events))
            length = max(1, (high - low) >> int(rng.integers(0, 20)))
            start = low + int(rng.integers(-length, high - low))
            width = int(rng.integers(1, 400))
            view = strip_native.make_view(start, start + length, width, -(-length // width))
            numbers = rng.integers(0, len(lanes), 6)
            offset = rng.integers(-5, 5, len(lanes)) if number % 3 else np.full(len(lanes), -(2**62))
            runs = loop.choose(view, numbers, offset)
            rects, pixels, _touched = loop.draw(view, runs, offset)
            rectangles += len(rects[0])
            assert np.all((rects[1] >= 0) & (rects[1] < len(capture.events)))
            assert np.all((pixels[1] >= -1) & (pixels[1] < len(capture.events)))
    print("drawn", rectangles)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    main(sys.argv[1], int(sys.argv[2]))
