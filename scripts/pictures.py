"""Draws the pictures of docs/images from a capture: five zooms into it, light and dark, and the whole window.

    .venv/bin/python scripts/pictures.py TRACE [--at 716.7ms] [--out docs/images]

TRACE is a capture or a trace of another profiler. The zooms halve the logarithm of the length shown, around ``--at``.
Those in the repository show `google_owlv2-large-patch14-ensemble`, a PyTorch trace of an H100 published with
TraceLens (MIT licence, AMD).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from warpline.model.times import parse_time
from warpline.storage import open_capture

ZOOMS = 5
SHORTEST_NS = 300_000


def zooms(span: tuple[int, int], at_ns: int) -> list[tuple[int, int]]:
    """``ZOOMS`` views around a moment, from the whole span to `SHORTEST_NS`, each shorter by the same factor."""
    whole = span[1] - span[0]
    factor = (SHORTEST_NS / whole) ** (1 / (ZOOMS - 1))
    views = []
    for step in range(ZOOMS):
        length = int(whole * factor**step)
        start = min(max(span[0], at_ns - length // 2), span[1] - length)
        views.append((start, start + length))
    return views


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trace", type=Path)
    parser.add_argument("--at", type=parse_time, default=None)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "images")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    capture = options.out / "pictures.h5"
    warpline = [sys.executable, "-P", "-m", "warpline"]
    subprocess.run([*warpline, "import", options.trace, "-o", capture], check=True)
    with open_capture(capture) as opened:
        span = opened.span
    at_ns = span[0] + options.at if options.at is not None else sum(span) // 2
    for theme in ("dark", "light"):
        draw = [*warpline, "render", capture, "--theme", theme]
        for number, (start, stop) in enumerate(zooms(span, at_ns), 1):
            part = ["--range", f"{start - span[0]}ns:{stop - span[0]}ns", "--size", "1400x700"]
            subprocess.run([*draw, *part, "-o", options.out / f"zoom-{number}-{theme}.png"], check=True)
        whole = ["--window", "--size", "1500x900", "--scale", "2"]
        subprocess.run([*draw, *whole, "-o", options.out / f"window-{theme}.png"], check=True)
    capture.unlink()


if __name__ == "__main__":
    main()
