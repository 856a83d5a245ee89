"""Everything that takes hours, one after the other, and a page of results: ``python -m tests.night --scale 0.01``.

Hostile inputs, kills, the real programs, twice as much of everything, the sanitizers and the long use of recorder and
window. One that ends badly keeps none of the others from running. The page is ``build/night/results.md``, the whole
output of each part lies beside it; the exit status is 1 when one ended badly.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

SECONDS, COUNT, HOURS = 3600, 1000, 2.0
"""Of hostile inputs in each way, of kills, and of use, in a whole night."""
_TAIL = 40
"""Lines of each part that the page shows."""


@dataclass(frozen=True)
class Part:
    """A command, and how it ended."""

    name: str
    command: tuple[str, ...]
    status: int = 0
    seconds: float = 0.0
    output: str = ""


def parts(scale: float, data: Path | None) -> list[Part]:
    """The commands, with numbers for a share of a night."""
    python = (sys.executable, "-m")
    traces = ("--data", str(data)) if data is not None else ()
    some = () if scale >= 1 else ("-k", "python")
    fidelity = (
        "tests/fidelity",
        "-o",
        "python_files=fidelity_*.py",
        "--timeout=0",
        "-q",
        "-p",
        "no:cacheprovider",
    )
    return [
        Part("kills", (*python, "tests.kills.run", "--count", str(max(1, round(COUNT * scale))))),
        Part(
            "fuzz", (*python, "tests.fuzz.whole", "--seconds", str(max(1, round(SECONDS * scale))), *traces)
        ),
        Part("fidelity", (*python, "pytest", *fidelity, *some)),
        Part(
            "doubling",
            (sys.executable, "tests/benchmarks/bench_doubling.py", "--scale", str(min(1.0, scale))),
        ),
        Part("sanitizers", ("scripts/sanitize.sh", *(() if scale >= 1 else ("-k", "itt")))),
        Part("soak", (*python, "tests.soak.run", str(HOURS * scale))),
    ]


def run(part: Part, log: Path) -> Part:
    """Run a part; its output goes to ``log``."""
    begun = time.monotonic()
    with log.open("wb") as to:
        status = subprocess.run(part.command, stdout=to, stderr=subprocess.STDOUT, check=False).returncode
    output = log.read_text(errors="replace")
    return Part(part.name, part.command, status, time.monotonic() - begun, output)


def page(done: list[Part], load: tuple[float, float]) -> str:
    """Markdown: a table of all parts, then the end of each one's output."""
    machine = f"{platform.platform()}, {os.cpu_count()} CPU cores, Python {platform.python_version()}."
    lines = [
        "# A night",
        "",
        f"{machine} Load average {load[0]:.1f} at the beginning, {load[1]:.1f} at the end.",
        "",
        "| part | result | time |",
        "|---|---|---:|",
    ]
    for part in done:
        result = f"**status {part.status}**" if part.status else "well"
        lines.append(f"| {part.name} | {result} | {part.seconds / 60:.1f} min |")
    for part in done:
        tail = part.output.rstrip().splitlines()[-_TAIL:]
        lines += ["", f"## {part.name}", "", "```", *tail, "```"]
    return "\n".join(lines) + "\n"


def main() -> int:
    """All parts, and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of a night")
    parser.add_argument("--only", nargs="+", help="names of parts")
    parser.add_argument("--data", type=Path, help="a folder with traces of other profilers")
    parser.add_argument("--out", type=Path, default=Path("build/night"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    done: list[Part] = []
    begun = os.getloadavg()[0]
    for part in parts(args.scale, args.data):
        if args.only is not None and part.name not in args.only:
            continue
        print(f"== {part.name}: {' '.join(part.command)}", flush=True)
        done.append(run(part, args.out / f"{part.name}.txt"))
        # After each part, so that a night that is cut short has a page.
        (args.out / "results.md").write_text(page(done, (begun, os.getloadavg()[0])))
    print(page(done, (begun, os.getloadavg()[0])))
    return int(any(part.status for part in done))


if __name__ == "__main__":
    sys.exit(main())
