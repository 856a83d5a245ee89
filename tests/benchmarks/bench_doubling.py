"""What importing, each report, finding and export cost for a capture and for one twice as large, by what grows.

    python tests/benchmarks/bench_doubling.py [--scale 1.0] [--shapes NAME …] [--formats NAME …] [--parts NAME …]

Processor time and the highest memory of a fork, the best of two. Bars: twice as much costs at most 2.5 times as much,
less what next to nothing costs; and at most 300 MB and 60 bytes an event, pages of mapped files included. A row shows
the parts that cost most; whatever is beyond a bar is listed below. The exit status is 1 when something is.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

from tests.benchmarks.importing.made_files import MADE  # noqa: E402  # found through the path above
from tests.doubling import SHAPES, write_trace  # noqa: E402
from tests.doubling_costs import Cost, costs, import_cost, warm  # noqa: E402

BAR = 2.5
_LEAST_S = 0.5
"""Shorter differences are noise."""
SIZES = {
    "events": 100_000, "same": 20_000, "depth": 20_000, "threads": 2_000, "processes": 8_000, "names": 20_000,
    "strings": 20_000, "counters": 20_000, "devices": 500,
}  # fmt: skip
"""Of the smaller one."""
_FORMAT_EVENTS = 50_000
_NOTHING = 3
Costs = dict[str, Cost]
Write = Callable[[int, Path], Path]


def _measure(write: Write, count: int, parts: tuple[str, ...], times: int) -> Costs:
    with tempfile.TemporaryDirectory(prefix="warpline-doubling-") as name:
        folder = Path(name)
        source, capture = write(count, folder), folder / "capture.h5"
        found: Costs = {"import": import_cost(source, capture, times)}
        for part in costs(capture, parts, times) if capture.exists() else ():
            found |= part
        return found


def memory_bar(events: int) -> int:
    """The most bytes for a capture of so many events."""
    return 300_000_000 + 60 * events


def beyond(part: str, sizes: tuple[int, int, int], three: tuple[Cost, Cost, Cost]) -> list[str]:
    """Sentences about the bars that a part does not hold, of next to nothing, once and twice as much."""
    nothing, once, twice = three
    problem = next((cost.problem for cost in three if cost.problem), "")
    found = [f"{part}: {problem}"] if problem else []
    first, second = once.cpu_s - nothing.cpu_s, twice.cpu_s - nothing.cpu_s
    if second > _LEAST_S and second > BAR * max(first, _LEAST_S / BAR):
        found.append(f"{part}: {once.cpu_s:.2f} → {twice.cpu_s:.2f} s, {second / max(first, 0.01):.2f} times")
    most = memory_bar(sizes[2])
    if twice.peak_bytes > most:
        found.append(
            f"{part}: {twice.peak_bytes / 1e6:.0f} MB, at most {most / 1e6:.0f} MB for {sizes[2]:,} events"
        )
    return found


def _row(name: str, size: int, once: Costs, twice: Costs) -> str:
    def cell(part: str) -> str:
        return f"{once[part].cpu_s:.2f} → {twice[part].cpu_s:.2f} s" if part in once and part in twice else ""

    def worst(word: str) -> str:
        parts = [part for part in twice if part.startswith(word) and part in once]
        if not parts:
            return ""
        part = max(parts, key=lambda part: twice[part].cpu_s)
        return f"{part.partition(' ')[2]} {cell(part)}"

    fat = max(twice, key=lambda part: twice[part].peak_bytes)
    memory = f"{twice[fat].peak_bytes / 1e6:.0f} of {memory_bar(2 * size) / 1e6:.0f} MB ({fat})"
    cells = [name, f"{size:,} → {2 * size:,}", cell("import"), cell("info"), cell("check"), worst("finding "),
             worst("report "), worst("export "), memory]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def table(inputs: dict[str, tuple[Write, int]], parts: tuple[str, ...], times: int) -> list[str]:
    """Print a row for each input; returns what is beyond a bar."""
    head = (
        "grows",
        "from → to",
        "import",
        "info",
        "check",
        "dearest finding",
        "dearest report",
        "dearest export",
    )
    print("| " + " | ".join((*head, "highest memory")) + " |")
    print("|---|---" + "|---:" * 7 + "|")
    found = []
    for name, (write, size) in inputs.items():
        sizes = (_NOTHING, size, 2 * size)
        nothing, once, twice = (_measure(write, count, parts, times) for count in sizes)
        print(_row(name, size, once, twice), flush=True)
        for part in twice:
            three = (nothing.get(part, Cost()), once.get(part, Cost()), twice[part])
            found += [f"{name}, {line}" for line in beyond(part, sizes, three)]
    print()
    return found


def _shape(name: str) -> Write:
    return lambda count, folder: write_trace(name, count, folder / "trace.json")


def _format(name: str) -> Write:
    file, make = MADE[name]

    def write(count: int, folder: Path) -> Path:
        make(folder / file, max(count, 100))
        return folder / file

    return write


def main() -> int:
    """Prints the tables; 1 when something is beyond a bar."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the usual sizes")
    parser.add_argument("--shapes", nargs="*", choices=list(SHAPES), default=list(SHAPES))
    parser.add_argument("--formats", nargs="*", choices=list(MADE), default=list(MADE))
    parser.add_argument(
        "--parts",
        nargs="+",
        default=[""],
        help="parts of names such as: info check finding export 'report steps'",
    )
    parser.add_argument("--times", type=int, default=2, help="of how many attempts the best counts")
    options = parser.parse_args()
    warm()

    def scaled(size: int) -> int:
        return max(_NOTHING, int(size * options.scale))

    shapes = {name: (_shape(name), scaled(SIZES[name])) for name in options.shapes}
    formats = {name: (_format(name), scaled(_FORMAT_EVENTS)) for name in options.formats}
    found = table(shapes, tuple(options.parts), options.times) if shapes else []
    if formats:
        found += table(formats, ("info",), options.times)
    print("\n".join(f"beyond a bar: {line}" for line in found) or "everything holds its bar")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
