"""What importing, findings, reports and exports cost for a capture and for one twice as large, by what grows.

    python tests/benchmarks/bench_doubling.py [--count N] [--shapes NAME …] [--commands NAME …]

CPU seconds of this process. Bar: twice as much costs at most 2.5 times as much, less what an empty capture costs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

from tests.doubling import COMMANDS, SHAPES, command, run, write_trace  # noqa: E402  # found through the path above

BAR = 2.5
_LEAST_S = 0.5
"""Shorter differences are noise."""


def _measure(folder: Path, shape: str, count: int, names: list[str]) -> dict[str, float]:
    trace, capture = write_trace(shape, count, folder / "trace.json"), folder / f"{shape}-{count}.h5"
    spent: dict[str, float] = {}
    begun = time.process_time()
    run("import", "-o", str(capture), str(trace))
    spent["import"] = time.process_time() - begun
    for name in names:
        for path in folder.glob("out.*"):
            path.unlink()
        begun = time.process_time()
        try:
            run(*command(name, capture))
        except RuntimeError as error:
            print(f"  {error}")
        spent[name] = time.process_time() - begun
    return spent


def main() -> int:
    """Prints the table; 1 when something is beyond the bar."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--shapes", nargs="+", choices=list(SHAPES), default=list(SHAPES))
    parser.add_argument("--commands", nargs="+", choices=list(COMMANDS), default=list(COMMANDS))
    options = parser.parse_args()
    columns = ["import", *options.commands]
    print(f"| {options.count:,} and twice as many | " + " | ".join(columns) + " |")
    print("|---" + "|---:" * len(columns) + "|")
    is_held = True
    for shape in options.shapes:
        with tempfile.TemporaryDirectory(prefix="warpline-doubling-") as name:
            folder = Path(name)
            # The first of a kind imports modules; an empty capture costs what every capture costs.
            _measure(folder, shape, 2, options.commands)
            empty, small, large = (
                _measure(folder, shape, count, options.commands)
                for count in (3, options.count, 2 * options.count)
            )
        cells = []
        for column in columns:
            once, twice = small[column] - empty[column], large[column] - empty[column]
            is_beyond = twice > _LEAST_S and twice > BAR * max(once, _LEAST_S / BAR)
            is_held &= not is_beyond
            cells.append(f"{small[column]:.2f} → {large[column]:.2f} s{' **!**' if is_beyond else ''}")
        print(f"| {shape} | " + " | ".join(cells) + " |", flush=True)
    return 0 if is_held else 1


if __name__ == "__main__":
    sys.exit(main())
